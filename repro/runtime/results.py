"""What the program measured: its metrics file, its rows an example, numbers in its output."""

import csv
import json
import os
import re

from .files import read_json, read_lines, write_json, write_whole
from .hexfloat import hexfloat
from .schema import SCHEMA

FIELDS = ("id", "prediction", "label", "correct", "loss")
OTHER_NAMES = {
    "pred": "prediction",
    "predicted": "prediction",
    "target": "label",
    "truth": "label",
    "index": "id",
}
TRUE = {"1", "1.0", "true", "yes"}
FALSE = {"0", "0.0", "false", "no"}


def read_results(spec, attempt):
    """Write `metrics.json` and `eval.jsonl` of the attempt from what the program left; problems as text."""
    problems = []
    values, sources = {}, []
    for read in (_metrics_file, _log_numbers):
        try:
            found, source = read(spec, attempt)
        except (OSError, ValueError, re.error) as problem:
            problems.append(str(problem))
            continue
        values.update(found)
        sources += [source] if found else []
    if values:
        document = {"schema": SCHEMA, "values": values, "source": ", ".join(sources)}
        write_json(attempt.path("metrics.json"), document)
    try:
        _rows(spec, attempt)
    except (OSError, ValueError, csv.Error) as problem:
        problems.append(str(problem))
    return problems


def numbers_in(document, prefix=""):
    """Every number of a nested table by dotted name; a table of parameters is no metric."""
    found = {}
    for key, value in document.items():
        name = prefix + str(key)
        if isinstance(value, bool):
            found[name] = hexfloat(value)
        elif isinstance(value, (int, float)):
            found[name] = _hex(value)
        elif isinstance(value, dict) and key not in ("params", "config", "args"):
            found.update(numbers_in(value, name + "."))
    return found


def _hex(value):
    try:
        return hexfloat(value)
    except OverflowError:
        return "inf" if value > 0 else "-inf"


def _metrics_file(spec, attempt):
    name = spec.get("metrics") or ""
    path = os.path.join(attempt.out, name)
    if not name or not os.path.isfile(path):
        return {}, ""
    try:
        document = read_json(path)
    except ValueError as problem:
        raise ValueError("%s is no JSON: %s" % (name, problem)) from None
    if not isinstance(document, dict):
        raise ValueError("%s holds no table of metrics" % name)
    return numbers_in(document), "out/" + name


def _log_numbers(spec, attempt):
    """The last match of each pattern in the program's output; its first group is the number."""
    patterns = {name: re.compile(text) for name, text in (spec.get("log") or {}).items()}
    found = {}
    if patterns:
        with open(attempt.path("log.txt"), encoding="utf-8", errors="replace") as f:
            for line in f:
                for name, pattern in patterns.items():
                    for match in pattern.finditer(line):
                        found[name] = _number(match.group(1), name)
    return found, "log.txt"


def _number(text, name):
    try:
        return hexfloat(float(text))
    except ValueError:
        raise ValueError("the pattern for %s matched `%s`, which is no number" % (name, text)) from None


def _rows(spec, attempt):
    path = os.path.join(attempt.out, spec.get("rows") or "")
    if not spec.get("rows") or not os.path.isfile(path):
        return
    lines = [json.dumps(row, ensure_ascii=False) for row in map(_row, enumerate(_raw_rows(path)))]
    write_whole(attempt.path("eval.jsonl"), "".join(line + "\n" for line in lines).encode("utf-8"))


def _raw_rows(path):
    suffix = os.path.splitext(path)[1].lower()
    if suffix in (".jsonl", ".ndjson"):
        return list(read_lines(path))
    if suffix == ".json":
        document = read_json(path)
        return document if isinstance(document, list) else document.get("rows", [])
    with open(path, encoding="utf-8-sig", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t" if suffix == ".tsv" else ","))


def _row(numbered):
    number, raw = numbered
    named = {OTHER_NAMES.get(str(k).lower(), str(k).lower()): v for k, v in raw.items() if k is not None}
    row = {key: named[key] for key in FIELDS if named.get(key) not in (None, "")}
    row.setdefault("id", number)
    row["id"] = str(row["id"])
    if "loss" in row:
        row["loss"] = hexfloat(float(row["loss"]))
    if "correct" in row:
        row["correct"] = _truth(row["correct"])
    for key in ("prediction", "label"):
        if key in row and not isinstance(row[key], (list, dict)):
            row[key] = str(row[key])
    return {key: value for key, value in row.items() if value is not None}


def _truth(value):
    word = str(value).strip().lower()
    return True if word in TRUE else False if word in FALSE else None
