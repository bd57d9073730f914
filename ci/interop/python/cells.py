"""Cells and rows as kinds.json writes them, to and from Arrow and Python."""

import base64
import datetime
import decimal
import math

import pyarrow
from pypaimon.schema.data_types import ArrayType, MapType, RowType

EPOCH = datetime.date(1970, 1, 1)
NANOS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def arrow_table(schema, fields, rows):
    columns = [
        pyarrow.array([storable(field.type, row.get(field.name)) for row in rows], type=schema.field(field.name).type)
        for field in fields
    ]
    return pyarrow.table(columns, schema=schema)


def root(data_type):
    return data_type.type.split("(")[0].split(" ")[0]


def storable(data_type, cell):
    """What pyarrow takes for a cell. Times go in as counts of their unit, so that no precision is lost."""
    if cell is None:
        return None
    if isinstance(data_type, ArrayType):
        return [storable(data_type.element, element) for element in cell]
    if isinstance(data_type, MapType):
        return [(storable(data_type.key, key), storable(data_type.value, value)) for key, value in cell]
    if isinstance(data_type, RowType):
        return {field.name: storable(field.type, cell.get(field.name)) for field in data_type.fields}
    name = root(data_type)
    if name in ("FLOAT", "DOUBLE"):
        return float(cell)
    if name == "DECIMAL":
        return decimal.Decimal(cell)
    if name in ("BINARY", "VARBINARY", "BYTES"):
        return base64.b64decode(cell)
    if name == "DATE":
        return datetime.date.fromisoformat(cell)
    if name == "TIME":
        return datetime.time.fromisoformat(cell)
    if name in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return timestamp_scalar(data_type, cell)
    return cell


def precision(data_type):
    text = data_type.type
    return int(text[text.index("(") + 1 : text.index(")")]) if "(" in text else 6


def unit(data_type):
    digits = precision(data_type)
    return "s" if digits == 0 else "ms" if digits <= 3 else "us" if digits <= 6 else "ns"


def nanos(text):
    """Nanoseconds since 1970-01-01T00:00 of an ISO timestamp with up to nine digits of a second."""
    whole, _, fraction = text.partition(".")
    moment = datetime.datetime.fromisoformat(whole)
    days = (moment.date() - EPOCH).days
    seconds = days * 86_400 + moment.hour * 3_600 + moment.minute * 60 + moment.second
    return seconds * 1_000_000_000 + int(fraction.ljust(9, "0") or 0)


def timestamp_scalar(data_type, text):
    return nanos(text) // NANOS[unit(data_type)]


def literal(data_type, cell):
    """A cell as pypaimon's predicates take it."""
    name = root(data_type)
    if name in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        moment = datetime.datetime.fromisoformat(cell)
        local = name == "TIMESTAMP_LTZ" or "LOCAL TIME ZONE" in data_type.type
        return moment.replace(tzinfo=datetime.timezone.utc) if local else moment
    return storable(data_type, cell)


def json_rows(table, fields):
    by_name = {field.name: field.type for field in fields}
    columns = []
    for name, column in zip(table.schema.names, table.columns):
        columns.append([json_cell(by_name[name], cell) for cell in as_python(column)])
    return [dict(zip(table.schema.names, cells)) for cells in zip(*columns)] if columns else []


def as_python(column):
    """The column's cells. Python's datetime has no nanoseconds, so timestamps stay counts with their unit."""
    return [plain(cell) for chunk in column.chunks for cell in chunk]


def plain(scalar):
    """A scalar as Python, timestamps as nanoseconds."""
    if not scalar.is_valid:
        return None
    kind = scalar.type
    if pyarrow.types.is_timestamp(kind):
        return scalar.value * NANOS[kind.unit]
    if pyarrow.types.is_map(kind):
        return [(plain(entry["key"]), plain(entry["value"])) for entry in scalar.values]
    if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind):
        return [plain(element) for element in scalar.values]
    if pyarrow.types.is_struct(kind):
        return {name: plain(scalar[name]) for name in scalar}
    return scalar.as_py()


def json_cell(data_type, cell):
    if cell is None:
        return None
    if isinstance(data_type, ArrayType):
        return [json_cell(data_type.element, element) for element in cell]
    if isinstance(data_type, MapType):
        return [[json_cell(data_type.key, key), json_cell(data_type.value, value)] for key, value in cell]
    if isinstance(data_type, RowType):
        return {field.name: json_cell(field.type, cell[field.name]) for field in data_type.fields}
    name = root(data_type)
    if name in ("FLOAT", "DOUBLE"):
        return cell if math.isfinite(cell) else str(cell)
    if name == "DECIMAL":
        return format(cell, "f")
    if name in ("BINARY", "VARBINARY", "BYTES"):
        return base64.b64encode(cell).decode()
    if name == "DATE":
        return cell.isoformat()
    if name == "TIME":
        return with_fraction(cell.strftime("%H:%M:%S"), cell.microsecond * 1_000)
    if name in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        seconds, fraction = divmod(cell, 1_000_000_000)
        days, within = divmod(seconds, 86_400)
        clock = f"{within // 3_600:02}:{within // 60 % 60:02}:{within % 60:02}"
        return f"{(EPOCH + datetime.timedelta(days)).isoformat()}T{with_fraction(clock, fraction)}"
    return cell


def with_fraction(clock, fraction_nanos):
    return clock if fraction_nanos == 0 else f"{clock}.{fraction_nanos:09}".rstrip("0")
