"""Facts of Python that this Python does not parse, such as Python 2: read line by line."""

import re

from repro.model.check import SourceFact
from repro.scan.source.archflags import flag_targets
from repro.scan.source.buildscripts import add_targets, shown
from repro.scan.source.pythonnames import marks

_LONG = re.compile(r"(?s)(\"\"\"|''').*?(?:\1|\Z)")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\s+(.+)|import\s+(.+))")


def old_python_facts(name: str, text: str) -> list[SourceFact]:
    """Facts of one file; a marked name counts where a line imports it or its module."""
    found: list[SourceFact] = []
    seen: dict[str, SourceFact] = {}
    # Long texts become empty lines, so that numbers stay.
    lines = _LONG.sub(lambda m: "\n" * m[0].count("\n"), text).split("\n")
    known = _patterns([line for line in lines if _IMPORT.match(line)])
    for number, line in enumerate((_COMMENT.sub("", each) for each in lines), 1):
        where = f"{name}:{number}"
        if targets := flag_targets(line):
            add_targets(seen, "nvcc", where, line, targets)
        if not _IMPORT.match(line):
            kinds = dict.fromkeys(kind for pattern, kind in known if pattern.search(line))
            found += [SourceFact(kind=kind, where=where, text=shown(line)) for kind in kinds]
        elif name.rpartition("/")[2] == "setup.py" and re.match(r"\s*(?:from|import)\s+torch\b", line):
            found.append(SourceFact(kind="build-needs-torch", where=where, text=shown(line)))
    return [*found, *seen.values()]


def _patterns(imports: list[str]) -> list[tuple[re.Pattern[str], str]]:
    """How the marked names look in a file with these imports."""
    found = []
    for full, kind in marks().items():
        module, _, last = full.rpartition(".")
        parent = module.rpartition(".")[2]
        if last and any(re.search(rf"\bimport\b.*\b{last}\b", line) and parent in line for line in imports):
            found.append((re.compile(rf"(?<![\w.]){last}\b"), kind))
        elif last and any(re.search(rf"\b{parent}\b", line) for line in imports):
            found.append((re.compile(rf"\b{parent}\.{last}\b"), kind))
    return found
