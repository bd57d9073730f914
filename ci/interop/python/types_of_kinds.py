"""Column types as kinds.json spells them: Paimon's plain types, and ARRAY<T>, MAP<K, V>, ROW<`name` T, …> of them."""

from pypaimon.schema.data_types import ArrayType, DataField, DataTypeParser, MapType, RowType

NOT_NULL = " NOT NULL"


def parse(text, nullable=True):
    """The type; ids of nested fields are the caller's business."""
    spelled = text.strip()
    if spelled.endswith(NOT_NULL):
        return parse(spelled[: -len(NOT_NULL)], False)
    if not spelled.endswith(">"):
        return DataTypeParser.parse_atomic_type_sql_string(spelled if nullable else spelled + NOT_NULL)
    name, _, inside = spelled[:-1].partition("<")
    parts = split(inside)
    if name == "ARRAY":
        return ArrayType(nullable, parse(parts[0]))
    if name == "MAP":
        return MapType(nullable, parse(parts[0]), parse(parts[1]))
    if name == "ROW":
        fields = []
        for part in parts:
            field_name, _, field_type = part.partition(" ")
            fields.append(DataField(len(fields), field_name.strip("`"), parse(field_type)))
        return RowType(nullable, fields)
    raise ValueError(f"expected ARRAY, MAP or ROW before `<`, found {text}")


def split(text):
    """The parts between commas that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    parts.append(text[start:].strip())
    return parts
