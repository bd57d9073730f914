"""Prepares the kinds for the drivers: those whose names match, with repeated rows spelled out.

`kinds.py KINDS.json GLOB PREPARED.json` writes the prepared file and prints the names, one a line.

A change or row with `times: N` (and `from: F`, by default 0) stands for N of them, n = F … F+N−1: a cell "$n" is the
number n, and within longer texts `$n` is n and `$m` is n modulo 7, so that some values are distinct and some are not.
"""

import fnmatch
import json
import sys


def spelled_out(entries):
    for entry in entries:
        if "times" not in entry:
            yield entry
            continue
        first = entry.get("from", 0)
        rest = {name: value for name, value in entry.items() if name not in ("times", "from")}
        for number in range(first, first + entry["times"]):
            yield replaced(rest, number)


def replaced(value, number):
    if isinstance(value, dict):
        return {name: replaced(cell, number) for name, cell in value.items()}
    if value == "$n":
        return number
    if isinstance(value, str):
        return value.replace("$n", str(number)).replace("$m", str(number % 7))
    return value


def prepare(kind):
    for step in kind["steps"]:
        for what in ("write", "overwrite"):
            if what in step:
                step[what] = list(spelled_out(step[what]))
    for read in kind["reads"]:
        read["rows"] = list(spelled_out(read["rows"]))
    return kind


def main(arguments):
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    file, glob, prepared = arguments
    with open(file, encoding="utf-8") as opened:
        kinds = [prepare(kind) for kind in json.load(opened)["kinds"] if fnmatch.fnmatch(kind["name"], glob)]
    if not kinds:
        print(f"expected a glob that matches kinds of {file}, found {glob}", file=sys.stderr)
        return 2
    with open(prepared, "w", encoding="utf-8") as opened:
        json.dump({"kinds": kinds}, opened, ensure_ascii=False)
    for kind in kinds:
        print(kind["name"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
