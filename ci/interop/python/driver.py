"""Writes and reads the table kinds of kinds.json with pypaimon.

`write KINDS.json KIND[,KIND…] WAREHOUSE` and `read WAREHOUSE KINDS.json KIND[,KIND…]`. Prints one JSON object: what
became of each kind. A kind that fails says so and does not stop the others.
"""

import json
import sys
import traceback
import warnings

import cells
import types_of_kinds
from pypaimon import CatalogFactory, Schema
from pypaimon.schema.data_types import DataField, PyarrowFieldParser, AtomicInteger, reassign_field_id
from pypaimon.schema.schema_change import Move, SchemaChange

DATABASE = "interop"
USAGE = "expected: write KINDS.json KIND[,KIND…] WAREHOUSE, or read WAREHOUSE KINDS.json KIND[,KIND…]"


class Unsupported(Exception):
    """A step that pypaimon does not offer."""


def table_name(kind):
    """One database for all kinds; names of directories keep to letters and underscores."""
    return f"{DATABASE}.{kind['name'].replace('-', '_')}"


def paimon_schema(schema):
    highest = AtomicInteger(-1)
    fields = []
    for column in schema["columns"]:
        data_type = types_of_kinds.parse(column["type"], column.get("nullable", True))
        field_id = highest.increment_and_get()
        fields.append(DataField(field_id, column["name"], reassign_field_id(data_type, highest)))
    return Schema(fields, schema["partition_keys"], schema["primary_key"], dict(schema["options"]))


class Writer:
    """Creates one table and takes its steps."""

    def __init__(self, catalog, kind):
        self.catalog = catalog
        self.kind = kind
        self.name = table_name(kind)
        self.written = 0

    def write(self):
        self.catalog.create_database(DATABASE, True)
        self.catalog.create_table(self.name, paimon_schema(self.kind["schema"]), False)
        for step in self.kind["steps"]:
            self.take(step)
        return self.written

    def table(self, branch=None):
        table = self.catalog.get_table(self.name)
        return table.copy({"branch": branch}) if branch else table

    def take(self, step):
        what, argument = next(iter(step.items()))
        if what == "write":
            table = self.table(step.get("on_branch"))
            self.commit(table, table.new_batch_write_builder(), argument)
        elif what == "overwrite":
            table = self.table()
            if step["partition"] is None:
                table = table.copy({"dynamic-partition-overwrite": "true"})
            builder = table.new_batch_write_builder().overwrite(step["partition"] or {})
            self.commit(table, builder, argument)
        elif what == "alter":
            self.catalog.alter_table(self.name, [schema_change(change) for change in argument], False)
        elif what == "tag":
            self.table().create_tag(argument)
        elif what == "branch":
            self.table().branch_manager().create_branch(argument, step.get("from_tag"))
        elif what == "rollback":
            self.table().rollback_to(argument)
        elif what == "truncate":
            self.table().new_batch_write_builder().new_commit().truncate_table()
        elif what == "drop_partition":
            self.table().new_batch_write_builder().new_commit().truncate_partitions([argument])
        else:
            raise Unsupported(f"pypaimon has no `{what}`")

    def commit(self, table, builder, changes):
        for change in changes:
            # It takes no row kinds; an update is an insert of the key.
            if change["kind"] not in ("+I", "+U"):
                raise Unsupported("pypaimon writes no deletes")
        arrow = PyarrowFieldParser.from_paimon_schema(table.fields)
        rows = [change["row"] for change in changes]
        write, commit = builder.new_write(), builder.new_commit()
        try:
            write.write_arrow(cells.arrow_table(arrow, table.fields, rows))
            commit.commit(write.prepare_commit())
        finally:
            write.close()
            commit.close()
        self.written += len(changes)


def schema_change(change):
    what, argument = next(iter(change.items()))
    if what == "add":
        first = argument.get("position") == "first"
        move = Move.first(argument["name"]) if first else None
        return SchemaChange.add_column(argument["name"], types_of_kinds.parse(argument["type"]), None, move)
    if what == "drop":
        return SchemaChange.drop_column(argument)
    if what == "rename":
        return SchemaChange.rename_column(argument["from"], argument["to"])
    if what == "set_type":
        return SchemaChange.update_column_type(argument["column"], types_of_kinds.parse(argument["type"]), True)
    if what == "move":
        if "after" in argument:
            return SchemaChange.update_column_position(Move.after(argument["column"], argument["after"]))
        return SchemaChange.update_column_position(Move.first(argument["column"]))
    raise Unsupported(f"the schema change `{what}`")


def at(catalog, kind, place):
    table = catalog.get_table(table_name(kind))
    what, _, name = place.partition(":")
    if what == "snapshot":
        return table.copy({"scan.snapshot-id": name})
    if what == "tag":
        return table.copy({"scan.tag-name": name})
    if what == "changelog":
        raise Unsupported("pypaimon reads changelogs as streams only")
    if what == "branch":
        return catalog.get_table(f"{table_name(kind)}$branch_{name}")
    return table


def read_rows(table, conditions):
    builder = table.new_read_builder()
    if conditions:
        predicates = builder.new_predicate_builder()
        by_name = {field.name: field.type for field in table.fields}
        equal = [
            predicates.is_null(name) if cell is None else predicates.equal(name, cells.literal(by_name[name], cell))
            for name, cell in conditions.items()
        ]
        builder = builder.with_filter(predicates.and_predicates(equal))
    splits = builder.new_scan().plan().splits()
    return cells.json_rows(builder.new_read().to_arrow(splits), table.fields)


def described(failure):
    traceback.print_exc()
    key = "unsupported" if isinstance(failure, (Unsupported, NotImplementedError)) else "error"
    text = str(failure).strip().splitlines()
    return {key: f"{type(failure).__name__}: {text[0] if text else ''}"}


def answer_read(catalog, kind):
    answers = []
    for read in kind["reads"]:
        try:
            answers.append({"rows": read_rows(at(catalog, kind, read["at"]), read.get("where"))})
        except Exception as failure:  # whatever it is, it is the answer to this read
            answers.append(described(failure))
    return {"reads": answers}


def answer_write(catalog, kind):
    try:
        return {"written": Writer(catalog, kind).write()}
    except Exception as failure:  # whatever it is, it is the answer for this kind
        return described(failure)


def main(arguments):
    if len(arguments) != 4 or arguments[0] not in ("write", "read"):
        print(USAGE, file=sys.stderr)
        return 2
    writing = arguments[0] == "write"
    file, names, warehouse = arguments[1:] if writing else (arguments[2], arguments[3], arguments[1])
    with open(file, encoding="utf-8") as opened:
        kinds = {kind["name"]: kind for kind in json.load(opened)["kinds"]}
    catalog = CatalogFactory.create({"warehouse": warehouse})
    answers = {}
    for name in names.split(","):
        if name not in kinds:
            answers[name] = {"error": f"expected a kind of {file}, found {name}"}
        else:
            answers[name] = (answer_write if writing else answer_read)(catalog, kinds[name])
    json.dump(answers, sys.stdout, indent=1, ensure_ascii=False)
    print()
    return 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(sys.argv[1:]))
