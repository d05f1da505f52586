"""Files that lie here with other bytes than the commit holds, since git converts them on the way."""

import os
from collections.abc import Iterable, Mapping

from repro.model.snapshot import Warned
from repro.snapshot.names import listed, shown
from repro.snapshot.repository import Repository

_ASKED = ("filter", "ident", "working-tree-encoding", "export-ignore")
_CONVERTED = {
    "filter": "a filter",
    "ident": "$Id$ is filled in",
    "working-tree-encoding": "another encoding",
}


def warnings(repository: Repository, packed: Mapping[str, object]) -> list[Warned]:
    """What `.gitattributes` and `core.autocrlf` make differ here; what is packed are the commit's bytes."""
    if not _is_any(repository, packed):
        return []
    paths = sorted(packed)
    found = {"line ends": _line_ends(repository, packed)} | _attributes(repository, paths)
    exported = found.pop("export-ignore", [])
    reasons = [f"{why}: {', '.join(listed(names, 5))}" for why, names in found.items() if names]
    said = []
    if reasons:
        text = f"git converts files on checkout; the commit's own bytes are packed; {'; '.join(reasons)}"
        first = next(names[0] for names in found.values() if names)
        said.append(Warned(code="git-converts", where=shown(first), text=text))
    if exported:
        text = f"packed although `export-ignore` keeps it out of archives: {', '.join(listed(exported, 5))}"
        said.append(Warned(code="export-ignore", where=shown(exported[0]), text=text))
    return said


def _is_any(repository: Repository, packed: Iterable[str]) -> bool:
    named = any(p == ".gitattributes" or p.endswith("/.gitattributes") for p in packed)
    converts = dict(repository.config).get("core.autocrlf", "false") != "false"
    return named or converts or repository.path("info/attributes").is_file()


def _line_ends(repository: Repository, packed: Mapping[str, object]) -> list[str]:
    found = []
    for row in repository.run("ls-files", "--eol", "-z").split(b"\0"):
        about, _, name = row.partition(b"\t")
        words = about.split()
        path = os.fsdecode(name)
        kinds = {w[2:] for w in words[:2]} - {b"none", b""}
        if path in packed and len(kinds) == 2 and b"-text" not in kinds:
            found.append(path)
    return found


def _attributes(repository: Repository, paths: list[str]) -> dict[str, list[str]]:
    folders = {p.rpartition("/")[0] for p in paths} - {""}
    asked = b"".join(os.fsencode(p) + b"\0" for p in [*paths, *sorted(folders)])
    words = repository.run("check-attr", "-z", "--stdin", *_ASKED, stdin=asked).split(b"\0")
    found: dict[str, list[str]] = {}
    for path, name, value in zip(words[::3], words[1::3], words[2::3], strict=False):
        if value not in (b"unspecified", b"unset", b"lfs", b"annex", b""):
            key = name.decode()
            found.setdefault(_CONVERTED.get(key, key), []).append(os.fsdecode(path))
    return found
