"""Compares what readers found in what writers wrote with the rows that kinds.json expects, and prints the matrix.

`matrix.py KINDS.json KNOWN.json ANSWERS KIND… `: ANSWERS is a directory with `write-W.json` of each writer and
`read-R-W.json` of each reader of its tables, as the drivers printed them. With `--save DIRECTORY WAREHOUSES` the
tables of other writers that our reader reads as expected are copied beside the rows expected of them.

Ends with 1 if a cell that involves ours is neither as expected nor explained by KNOWN.json, or explained in vain.
"""

import fnmatch
import json
import pathlib
import shutil
import sys

OURS = "ours"
# Java Paimon is the measure of all, so all its tables are saved; of others a few, to keep what is saved small.
SAVED_WHOLLY = "java-*"
SAVED_OF_ALL = {
    "append-fixed-bucket",
    "append-partitioned",
    "key",
    "key-types",
    "nested-key",
    "schema-evolution-key",
    "types",
}
TOO_BIG_TO_SAVE = "many-"


def canonical(cell):
    """Text that is equal for equal rows: object fields in order, maps by key, and 1.0 the same as 1."""
    if isinstance(cell, float) and cell.is_integer():
        return canonical(int(cell))
    if isinstance(cell, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{canonical(cell[name])}" for name in sorted(cell)) + "}"
    if isinstance(cell, list):
        texts = [canonical(element) for element in cell]
        # Arrays of pairs are maps, whose entries have no order.
        if cell and all(isinstance(element, list) and len(element) == 2 for element in cell):
            texts.sort()
        return "[" + ",".join(texts) + "]"
    return json.dumps(cell, ensure_ascii=False)


def difference(expected, found):
    """`None` if both hold the same rows as often; else what is the first difference, in a few words."""
    left = sorted(canonical(row) for row in expected)
    right = sorted(canonical(row) for row in found)
    if left == right:
        return None
    missing = list(left)
    surplus = []
    for row in right:
        if row in missing:
            missing.remove(row)
        else:
            surplus.append(row)
    if missing and surplus and len(missing) == len(surplus):
        columns = sorted(differing_columns(json.loads(missing[0]), json.loads(surplus[0])))
        return f"{len(missing)} rows differ, in {', '.join(columns)}"
    return f"{len(missing)} rows missing, {len(surplus)} rows too many"


def differing_columns(expected, found):
    names = set(expected) | set(found)
    return {name for name in names if name not in expected or name not in found or expected[name] != found[name]}


class Cell:
    """What one reader made of one kind of one writer."""

    def __init__(self, kind, written, read):
        self.rows = 0
        self.failures = []
        self.refusals = []
        if "written" not in written:
            if "unsupported" in written:
                self.refusals.append("writer: " + written["unsupported"])
            else:
                self.failures.append("writer: " + written.get("error", "no answer"))
            return
        if read is None or "reads" not in read:
            self.failures.append((read or {}).get("error", "no answer"))
            return
        if len(read["reads"]) != len(kind["reads"]):
            self.failures.append(f"expected {len(kind['reads'])} answers, found {len(read['reads'])}")
        for wanted, answer in zip(kind["reads"], read["reads"]):
            self.compare(wanted, answer)

    def compare(self, wanted, answer):
        if "unsupported" in answer:
            self.refusals.append(answer["unsupported"])
        elif "rows" not in answer:
            self.failures.append(answer.get("error", "no answer"))
        else:
            found = difference(wanted["rows"], answer["rows"])
            if found is None:
                self.rows += len(wanted["rows"])
            else:
                place = wanted["at"] + (" where" if "where" in wanted else "")
                self.failures.append(f"at {place}: {found}")

    def as_expected(self):
        return not self.failures and not self.refusals


def explanation(known, writer, reader, kind):
    for entry in known:
        named = (("writer", writer), ("reader", reader), ("kind", kind))
        if all(fnmatch.fnmatch(value, entry.get(key, "*")) for key, value in named):
            return entry
    return None


def load(path):
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8").strip()
    try:
        return json.loads(text) if text else {}
    except json.JSONDecodeError as error:
        raise SystemExit(f"{path}: expected JSON of a driver, found {error}") from error


class Matrix:
    """All cells of the kinds that were asked for."""

    def __init__(self, kinds, known, answers):
        self.kinds = kinds
        self.known = known
        self.writers = sorted((path.stem[len("write-"):] for path in answers.glob("write-*.json")), key=ours_first)
        self.cells = {}
        for writer in self.writers:
            written = load(answers / f"write-{writer}.json")
            for reader in self.writers:
                read = load(answers / f"read-{reader}-{writer}.json")
                for kind in kinds:
                    name = kind["name"]
                    nothing = {"error": "the driver ended without an answer"}
                    self.cells[writer, reader, name] = Cell(kind, written.get(name, nothing), read.get(name))

    def judge(self):
        """The marks of the cells, the footnotes, where ours is wrong by kind and details, and idle explanations."""
        marks, notes, wrong, used = {}, [], {}, []
        for (writer, reader, name), cell in self.cells.items():
            entry = explanation(self.known, writer, reader, name)
            if cell.as_expected():
                marks[writer, reader, name] = str(cell.rows)
                continue
            if entry is not None:
                used.append(entry)
                text = entry["reason"]
            else:
                text = (cell.failures + cell.refusals)[0]
            # What another implementation says that it cannot do is no failure, and what is known neither.
            fails = entry is None and (bool(cell.failures) or concerned(cell, writer, reader) == OURS)
            if text not in notes:
                notes.append(text)
            rows = str(cell.rows) if cell.rows else "FAIL" if fails else "-"
            marks[writer, reader, name] = f"{rows}[{notes.index(text) + 1}]"
            if fails and OURS in (writer, reader):
                # A shortcoming of a writer is the same for all readers, and one of a reader often for all writers.
                details = "; ".join(dict.fromkeys(cell.failures + cell.refusals))
                wrong.setdefault((name, details), []).append(f"{writer} → {reader}")
        vain = [entry for entry in self.known if entry not in used and self.could_apply(entry)]
        return marks, notes, wrong, vain

    def could_apply(self, entry):
        """Whether a cell of this run is one that the entry explains."""
        return any(explanation([entry], *place) for place in self.cells)

    def print(self, marks, notes):
        width = max(len(kind["name"]) for kind in self.kinds)
        columns = [(writer, reader) for writer in self.writers for reader in self.writers]
        widths = {
            column: max([len(marks[(*column, kind["name"])]) for kind in self.kinds] + [len(column[1])])
            for column in columns
        }
        heads = []
        for writer in self.writers:
            across = sum(widths[writer, reader] + 1 for reader in self.writers) - 1
            heads.append(f"{writer} wrote"[:across].ljust(across))
        print(" " * width + "  " + "   ".join(heads))
        for label, text in [("read by", None)] + [(kind["name"], kind["name"]) for kind in self.kinds]:
            groups = []
            for writer in self.writers:
                cells = [marks[writer, reader, text] if text else reader for reader in self.writers]
                groups.append(" ".join(
                    cell.rjust(widths[writer, reader]) for cell, reader in zip(cells, self.writers)))
            print(f"{label.ljust(width)}  " + "   ".join(groups))
        print()
        for number, note in enumerate(notes, 1):
            print(f"[{number}] {note}")

    def save(self, directory, warehouses):
        """Copies the tables of others that ours reads as expected, each writer with the rows expected of them."""
        for writer in self.writers:
            names = [kind["name"] for kind in self.kinds if self.cells[writer, OURS, kind["name"]].as_expected()]
            names = [name for name in names if not name.startswith(TOO_BIG_TO_SAVE)]
            if not fnmatch.fnmatch(writer, SAVED_WHOLLY):
                names = [name for name in names if name in SAVED_OF_ALL]
            target = directory / writer
            if writer == OURS or not names:
                continue
            if target.exists():
                shutil.rmtree(target)
            for name in names:
                table = name.replace("-", "_")
                source = warehouses / writer / "interop.db" / table
                shutil.copytree(source, target / "interop.db" / table, ignore=shutil.ignore_patterns(".*"))
            reads = {kind["name"]: kind["reads"] for kind in self.kinds if kind["name"] in names}
            lines = [f"  {json.dumps(name)}: {json.dumps(read, ensure_ascii=False)}" for name, read in reads.items()]
            (target / "reads.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
            print(f"saved {len(names)} tables of {writer} in {target}")


def concerned(cell, writer, reader):
    """Whose the shortcoming is: the writer's if nothing was written, else the reader's."""
    return writer if cell.refusals and cell.refusals[0].startswith("writer: ") else reader


def ours_first(name):
    return (name != OURS, name)


def main(arguments):
    if len(arguments) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    kinds_file, known_file, answers, *rest = arguments
    save = None
    if rest[0] == "--save":
        save, rest = (pathlib.Path(rest[1]), pathlib.Path(rest[2])), rest[3:]
    kinds = [kind for kind in load(pathlib.Path(kinds_file))["kinds"] if kind["name"] in rest]
    matrix = Matrix(kinds, load(pathlib.Path(known_file))["known"], pathlib.Path(answers))
    if OURS not in matrix.writers or not kinds:
        print("expected answers of ours and at least one kind, found none", file=sys.stderr)
        return 2
    marks, notes, wrong, vain = matrix.judge()
    matrix.print(marks, notes)
    if save:
        matrix.save(*save)
    compared = sum(cell.rows for cell in matrix.cells.values())
    with_ours = [cell for place, cell in matrix.cells.items() if OURS in place[:2]]
    good = sum(cell.as_expected() for cell in with_ours)
    print(f"\n{compared} rows compared; {good} of {len(with_ours)} cells that involve ours are as expected.")
    for entry in vain:
        print(f"explained in vain: {json.dumps(entry)}")
    for (name, details), places in wrong.items():
        print(f"FAIL {name} ({', '.join(places)}): {details}")
    return 1 if wrong or vain else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
