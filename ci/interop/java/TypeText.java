import java.util.ArrayList;
import java.util.List;

import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.DataTypes;

/**
 * Reads column types as kinds.json spells them: Paimon's own spelling of plain types, and {@code ARRAY<T>},
 * {@code MAP<K, V>} and {@code ROW<`name` T, …>} around them, each optionally followed by {@code NOT NULL}.
 */
final class TypeText {
    private static final String NOT_NULL = " NOT NULL";

    private TypeText() {}

    static DataType parse(String text) {
        String spelled = text.trim();
        if (spelled.endsWith(NOT_NULL)) {
            return parse(spelled.substring(0, spelled.length() - NOT_NULL.length())).copy(false);
        }
        if (!spelled.endsWith(">")) {
            return DataTypeJsonParser.parseAtomicTypeSQLString(spelled);
        }
        int opening = spelled.indexOf('<');
        List<String> parts = split(spelled.substring(opening + 1, spelled.length() - 1));
        switch (spelled.substring(0, opening)) {
            case "ARRAY":
                return DataTypes.ARRAY(parse(parts.get(0)));
            case "MAP":
                return DataTypes.MAP(parse(parts.get(0)), parse(parts.get(1)));
            case "ROW":
                return row(parts);
            default:
                throw new IllegalArgumentException("expected ARRAY, MAP or ROW before `<`, found " + text);
        }
    }

    private static DataType row(List<String> parts) {
        List<DataField> fields = new ArrayList<>();
        for (String part : parts) {
            int space = part.indexOf(' ');
            String name = part.substring(0, space).replace("`", "");
            // The schema's builder gives the fields their final ids.
            fields.add(new DataField(fields.size(), name, parse(part.substring(space + 1))));
        }
        return DataTypes.ROW(fields.toArray(new DataField[0]));
    }

    /** The parts between commas that stand in no brackets. */
    private static List<String> split(String text) {
        List<String> parts = new ArrayList<>();
        int depth = 0;
        int start = 0;
        for (int position = 0; position < text.length(); position++) {
            char character = text.charAt(position);
            if (character == '<' || character == '(') {
                depth++;
            } else if (character == '>' || character == ')') {
                depth--;
            } else if (character == ',' && depth == 0) {
                parts.add(text.substring(start, position).trim());
                start = position + 1;
            }
        }
        parts.add(text.substring(start).trim());
        return parts;
    }
}
