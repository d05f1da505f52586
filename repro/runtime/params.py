"""Parameters of this run: the packed values, changed by `--set`."""

import json
import os

from .files import read_json, write_json
from .options import UsageError


def parse_value(text):
    """The JSON value that `text` spells, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def tagged(value):
    """The value with NaN and infinity, which JSON cannot hold, as {"$float": text}, like the host's."""
    if isinstance(value, dict):
        return {key: tagged(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [tagged(inner) for inner in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"$float": str(value)}
    return value


def leaves(values, prefix=""):
    """Dotted names of all values that are not tables, in order."""
    names = []
    for key, value in values.items():
        if isinstance(value, dict) and value:
            names += leaves(value, prefix + key + ".")
        else:
            names.append(prefix + key)
    return names


def _table_of(values, dotted):
    """The table that holds `dotted`, and the last key; keys that themselves have dots are tried first."""
    if dotted in values:
        return values, dotted
    head, mark, rest = dotted.partition(".")
    while mark:
        if isinstance(values.get(head), dict):
            found = _table_of(values[head], rest)
            if found:
                return found
        more, mark, rest = rest.partition(".")
        head = head + "." + more
    return None


def override(values, overrides):
    """Change `values` in place; a key that is not there is refused, with the keys that are."""
    for dotted, text in overrides:
        found = _table_of(values, dotted)
        if not found:
            known = ", ".join(leaves(values)) or "none"
            raise UsageError("--set %s: no such parameter; there are: %s" % (dotted, known))
        table, key = found
        table[key] = parse_value(text)


class Params:
    """The parameter file that the program gets, and the values in it."""

    def __init__(self, folder, spec):
        document = read_json(os.path.join(folder, "params.json"), {}) or {}
        name = spec.get("params_file") or ""
        self.file = os.path.join(folder, "params", name) if name else ""
        self.values = document.get("values", {})
        self.document = document
        self.packed = {k: str(v) for k, v in document.get("overrides", {}).items()}
        self.changed = {}

    def change(self, overrides):
        """Check `--set` before anything is written."""
        if not overrides:
            return
        if not self.file:
            raise UsageError("--set %s: this bundle has no parameter file" % overrides[0][0])
        if not self.file.endswith(".json"):
            raise UsageError(
                "--set changes JSON parameter files only, and this one is `%s`: run the bundle with"
                " `repro run --set`, or edit a copy and pack it" % os.path.basename(self.file)
            )
        content = read_json(self.file)
        if not isinstance(content, dict):
            raise UsageError("--set: `%s` holds no table of parameters" % os.path.basename(self.file))
        override(content, overrides)
        self.values = content
        self.changed = dict(overrides)

    def all_overrides(self):
        """What was changed when the bundle was made, and for this run."""
        return dict(self.packed, **self.changed)

    def lay(self, attempt):
        """Path of the file that {params} means; a changed one is written into the attempt."""
        if self.document or self.values:
            document = dict(self.document, schema=1, values=tagged(self.values))
            document["overrides"] = self.all_overrides()
            write_json(attempt.path("params.json"), document)
        if not self.changed:
            return self.file
        os.makedirs(attempt.path("params"), exist_ok=True)
        path = attempt.path("params", os.path.basename(self.file))
        write_json(path, self.values)
        return path


LARGEST = 1 << 20


def keep(path, attempt):
    """Copy the values of a JSON file into the record of a command that has no bundle."""
    try:
        with open(path, encoding="utf-8") as f:
            values = json.load(f)
    except (OSError, ValueError) as problem:
        raise UsageError("--params %s cannot be read as JSON: %s" % (path, problem)) from None
    if not isinstance(values, dict):
        raise UsageError("--params %s holds no table of parameters" % path)
    _write(attempt, path, values)


def keep_from_command(words, cwd, attempt):
    """Copy the values of the first JSON file with a table of parameters that a word of the command names."""
    for word in words[1:]:
        for name in (word, word.partition("=")[2]):
            values = _table_in(os.path.join(cwd, name)) if name.endswith(".json") else None
            if values is not None:
                _write(attempt, name, values, taken_from="command")
                return


def _table_in(path):
    try:
        if os.path.getsize(path) > LARGEST:
            return None
        with open(path, encoding="utf-8") as f:
            values = json.load(f)
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) else None


def _write(attempt, path, values, **more):
    document = {"schema": 1, "file": os.path.basename(path), "values": tagged(values), "overrides": {}}
    write_json(attempt.path("params.json"), dict(document, **more))
