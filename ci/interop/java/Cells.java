import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.RowType;

/** Cells and rows as kinds.json writes them, to and from Paimon's. */
final class Cells {
    private static final JsonNodeFactory JSON = new ObjectMapper().getNodeFactory();
    private static final DateTimeFormatter TIME = new DateTimeFormatterBuilder()
            .appendPattern("HH:mm:ss")
            .appendFraction(ChronoField.NANO_OF_SECOND, 0, 9, true)
            .toFormatter();

    private Cells() {}

    static GenericRow row(RowType type, JsonNode cells) {
        GenericRow row = new GenericRow(type.getFieldCount());
        int position = 0;
        for (DataField field : type.getFields()) {
            row.setField(position++, cell(field.type(), cells.get(field.name())));
        }
        return row;
    }

    /** One cell; a missing one is NULL. */
    static Object cell(DataType type, JsonNode cell) {
        if (cell == null || cell.isNull()) {
            return null;
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return cell.booleanValue();
            case TINYINT:
                return (byte) cell.intValue();
            case SMALLINT:
                return (short) cell.intValue();
            case INTEGER:
                return cell.intValue();
            case BIGINT:
                return cell.longValue();
            case FLOAT:
                return cell.isTextual() ? Float.parseFloat(javaNumber(cell)) : cell.floatValue();
            case DOUBLE:
                return cell.isTextual() ? Double.parseDouble(javaNumber(cell)) : cell.doubleValue();
            case DECIMAL:
                DecimalType decimal = (DecimalType) type;
                return Decimal.fromBigDecimal(
                        new BigDecimal(cell.textValue()), decimal.getPrecision(), decimal.getScale());
            case CHAR:
            case VARCHAR:
                return BinaryString.fromString(cell.textValue());
            case BINARY:
            case VARBINARY:
                return Base64.getDecoder().decode(cell.textValue());
            case DATE:
                return (int) LocalDate.parse(cell.textValue()).toEpochDay();
            case TIME_WITHOUT_TIME_ZONE:
                return (int) (LocalTime.parse(cell.textValue()).toNanoOfDay() / 1_000_000);
            case TIMESTAMP_WITHOUT_TIME_ZONE:
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return Timestamp.fromLocalDateTime(LocalDateTime.parse(cell.textValue()));
            case ARRAY:
                return array(((ArrayType) type).getElementType(), cell);
            case MAP:
                MapType map = (MapType) type;
                Map<Object, Object> entries = new LinkedHashMap<>();
                for (JsonNode pair : cell) {
                    entries.put(cell(map.getKeyType(), pair.get(0)), cell(map.getValueType(), pair.get(1)));
                }
                return new GenericMap(entries);
            case ROW:
                return row((RowType) type, cell);
            default:
                throw new IllegalArgumentException("expected a type of kinds.json, found " + type);
        }
    }

    private static GenericArray array(DataType elementType, JsonNode cells) {
        Object[] elements = new Object[cells.size()];
        for (int position = 0; position < elements.length; position++) {
            elements[position] = cell(elementType, cells.get(position));
        }
        return new GenericArray(elements);
    }

    private static String javaNumber(JsonNode cell) {
        return cell.textValue().replace("inf", "Infinity");
    }

    static ObjectNode json(RowType type, InternalRow row) {
        ObjectNode cells = JSON.objectNode();
        List<DataField> fields = type.getFields();
        for (int position = 0; position < fields.size(); position++) {
            DataType fieldType = fields.get(position).type();
            Object cell = InternalRow.createFieldGetter(fieldType, position).getFieldOrNull(row);
            cells.set(fields.get(position).name(), json(fieldType, cell));
        }
        return cells;
    }

    private static JsonNode json(DataType type, Object cell) {
        if (cell == null) {
            return JSON.nullNode();
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return JSON.booleanNode((Boolean) cell);
            case TINYINT:
            case SMALLINT:
            case INTEGER:
            case BIGINT:
                return JSON.numberNode(((Number) cell).longValue());
            case FLOAT:
                float single = (Float) cell;
                return Float.isFinite(single) ? JSON.numberNode(single) : JSON.textNode(protocolNumber(single));
            case DOUBLE:
                double number = (Double) cell;
                return Double.isFinite(number) ? JSON.numberNode(number) : JSON.textNode(protocolNumber(number));
            case DECIMAL:
                return JSON.textNode(((Decimal) cell).toBigDecimal().toPlainString());
            case CHAR:
            case VARCHAR:
                return JSON.textNode(cell.toString());
            case BINARY:
            case VARBINARY:
                return JSON.textNode(Base64.getEncoder().encodeToString((byte[]) cell));
            case DATE:
                return JSON.textNode(LocalDate.ofEpochDay((Integer) cell).toString());
            case TIME_WITHOUT_TIME_ZONE:
                return JSON.textNode(TIME.format(LocalTime.ofNanoOfDay((Integer) cell * 1_000_000L)));
            case TIMESTAMP_WITHOUT_TIME_ZONE:
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                LocalDateTime time = ((Timestamp) cell).toLocalDateTime();
                return JSON.textNode(time.toLocalDate() + "T" + TIME.format(time));
            case ARRAY:
                return json(((ArrayType) type).getElementType(), (InternalArray) cell);
            case MAP:
                return pairs((MapType) type, (InternalMap) cell);
            case ROW:
                return json((RowType) type, (InternalRow) cell);
            default:
                throw new IllegalArgumentException("expected a type of kinds.json, found " + type);
        }
    }

    private static ArrayNode json(DataType elementType, InternalArray array) {
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(elementType);
        ArrayNode elements = JSON.arrayNode();
        for (int position = 0; position < array.size(); position++) {
            elements.add(json(elementType, getter.getElementOrNull(array, position)));
        }
        return elements;
    }

    private static ArrayNode pairs(MapType type, InternalMap map) {
        ArrayNode keys = json(type.getKeyType(), map.keyArray());
        ArrayNode values = json(type.getValueType(), map.valueArray());
        ArrayNode pairs = JSON.arrayNode();
        for (int position = 0; position < keys.size(); position++) {
            pairs.add(JSON.arrayNode().add(keys.get(position)).add(values.get(position)));
        }
        return pairs;
    }

    private static String protocolNumber(double number) {
        return Double.toString(number).replace("Infinity", "inf");
    }
}
