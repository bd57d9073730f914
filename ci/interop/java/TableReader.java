import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.RowType;

/** Reads one table at the places that kinds.json names. */
final class TableReader {
    private final Catalog catalog;
    private final Identifier identifier;

    TableReader(Catalog catalog, Identifier identifier) {
        this.catalog = catalog;
        this.identifier = identifier;
    }

    /** One answer for each read; a read that fails does not stop the others. */
    ArrayNode read(JsonNode reads) {
        ArrayNode answers = Driver.MAPPER.createArrayNode();
        for (JsonNode read : reads) {
            try {
                String place = read.get("at").textValue();
                ArrayNode rows = place.startsWith("changelog:")
                        ? changelog(Long.parseLong(place.substring("changelog:".length())))
                        : rows(at(place), read.get("where"));
                ObjectNode answer = Driver.MAPPER.createObjectNode();
                answer.set("rows", rows);
                answers.add(answer);
            } catch (Exception | LinkageError failure) {
                answers.add(Driver.describe(failure));
            }
        }
        return answers;
    }

    private FileStoreTable at(String place) throws Exception {
        FileStoreTable table = (FileStoreTable) catalog.getTable(identifier);
        int colon = place.indexOf(':');
        String name = place.substring(colon + 1);
        switch (colon < 0 ? place : place.substring(0, colon)) {
            case "latest":
                return table;
            case "tag":
                return table.copy(Collections.singletonMap("scan.tag-name", name));
            case "snapshot":
                return table.copy(Collections.singletonMap("scan.snapshot-id", name));
            case "branch":
                return (FileStoreTable) catalog.getTable(
                        new Identifier(identifier.getDatabaseName(), identifier.getTableName(), name));
            default:
                throw new IllegalArgumentException("expected latest, tag:, snapshot: or branch:, found " + place);
        }
    }

    /** The changes that one snapshot's changelog holds, each with its kind as another column. */
    private ArrayNode changelog(long snapshot) throws Exception {
        Map<String, String> options = new HashMap<>();
        options.put("incremental-between", (snapshot - 1) + "," + snapshot);
        options.put("incremental-between-scan-mode", "changelog");
        Table audited = catalog.getTable(
                        Identifier.create(identifier.getDatabaseName(), identifier.getTableName() + "$audit_log"))
                .copy(options);
        return rows(audited, null);
    }

    /** All rows; with a condition, those that its pushed-down form and its filter leave. */
    private static ArrayNode rows(Table table, JsonNode where) throws Exception {
        RowType type = table.rowType();
        ReadBuilder builder = table.newReadBuilder();
        if (where != null) {
            builder.withFilter(equal(type, where));
        }
        ArrayNode rows = Driver.MAPPER.createArrayNode();
        try (IOManager io = IOManager.create(System.getProperty("java.io.tmpdir"));
                RecordReader<InternalRow> reader =
                        builder.newRead().withIOManager(io).executeFilter().createReader(builder.newScan().plan())) {
            reader.forEachRemaining(row -> rows.add(Cells.json(type, row)));
        }
        return rows;
    }

    private static List<Predicate> equal(RowType type, JsonNode where) {
        PredicateBuilder builder = new PredicateBuilder(type);
        List<Predicate> all = new ArrayList<>();
        for (Iterator<String> names = where.fieldNames(); names.hasNext(); ) {
            String name = names.next();
            int position = type.getFieldIndex(name);
            Object cell = Cells.cell(type.getTypeAt(position), where.get(name));
            all.add(cell == null ? builder.isNull(position) : builder.equal(position, cell));
        }
        return all;
    }
}
