import java.io.File;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.fs.Path;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * Writes and reads the table kinds of kinds.json with Java Paimon.
 *
 * <p>{@code write KINDS.json KIND[,KIND…] WAREHOUSE} and {@code read WAREHOUSE KINDS.json KIND[,KIND…]}. Prints one
 * JSON object: what became of each kind. A kind that fails says so and does not stop the others.
 */
public final class Driver {
    static final ObjectMapper MAPPER = new ObjectMapper();

    private Driver() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 4 || !(arguments[0].equals("write") || arguments[0].equals("read"))) {
            System.err.println("expected: write KINDS.json KIND[,KIND…] WAREHOUSE, "
                    + "or read WAREHOUSE KINDS.json KIND[,KIND…]");
            System.exit(2);
        }
        boolean writing = arguments[0].equals("write");
        Map<String, JsonNode> kinds = kinds(arguments[writing ? 1 : 2]);
        Path warehouse = new Path(new File(arguments[writing ? 3 : 1]).toURI());
        ObjectNode answers = MAPPER.createObjectNode();
        try (Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(warehouse))) {
            for (String name : arguments[writing ? 2 : 3].split(",")) {
                answers.set(name, answer(catalog, writing, name, kinds.get(name)));
            }
        }
        System.out.println(MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(answers));
        // Paimon's pools would keep the machine alive.
        System.exit(0);
    }

    private static ObjectNode answer(Catalog catalog, boolean writing, String name, JsonNode kind) {
        ObjectNode answer = MAPPER.createObjectNode();
        if (kind == null) {
            return answer.put("error", "expected a kind of kinds.json, found " + name);
        }
        // One database for all kinds; names of directories keep to letters and underscores.
        Identifier identifier = Identifier.create("interop", name.replace('-', '_'));
        try {
            if (writing) {
                answer.put("written", new TableWriter(catalog, identifier, kind).write());
            } else {
                answer.set("reads", new TableReader(catalog, identifier).read(kind.get("reads")));
            }
            return answer;
        } catch (Exception | LinkageError failure) {
            return describe(failure);
        }
    }

    static ObjectNode describe(Throwable failure) {
        StringWriter trace = new StringWriter();
        failure.printStackTrace(new PrintWriter(trace));
        System.err.println(trace);
        Throwable cause = failure;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        String text = cause.getClass().getSimpleName() + ": " + cause.getMessage();
        String key = cause instanceof UnsupportedOperationException ? "unsupported" : "error";
        return MAPPER.createObjectNode().put(key, text.lines().findFirst().orElse(text));
    }

    private static Map<String, JsonNode> kinds(String file) throws Exception {
        Map<String, JsonNode> kinds = new LinkedHashMap<>();
        for (JsonNode kind : MAPPER.readTree(new File(file)).get("kinds")) {
            kinds.put(kind.get("name").textValue(), kind);
        }
        return kinds;
    }

    /** The text fields of an object. */
    static Map<String, String> texts(JsonNode object) {
        Map<String, String> texts = new LinkedHashMap<>();
        if (object != null) {
            for (Iterator<String> names = object.fieldNames(); names.hasNext(); ) {
                String name = names.next();
                texts.put(name, object.get(name).isNull() ? null : object.get(name).asText());
            }
        }
        return texts;
    }
}
