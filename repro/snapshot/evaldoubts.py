"""What is odd about the content of an evaluation set, though it may be meant: web pages, headers, code."""

import re
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from repro.model.snapshot import Warned
from repro.snapshot import evalrules, secrets
from repro.snapshot.names import listed, shown

_TABLES = (".csv", ".tsv")
_ARCHIVES = (".zip", ".npz")
_CODE = (".py", ".sh", ".ipynb")
_WEB = (".html", ".htm", ".xhtml", ".svg", ".xml")
_SEARCHED = 1 << 20


def doubts(root: Path, path: str, files: Sequence[tuple[str, int]]) -> list[Warned]:
    """Warnings about the files of the set, which are given with their sizes in bytes.

    Raises:
        eval-empty: nothing but tables with a header alone, or archives without content.
    """
    data = [(p, num) for p, num in files if num]
    if data and all(_is_hollow(root / p, num) or _is_bare_header(root / p, num) for p, num in data):
        raise evalrules.empty(path, [f"{p} holds no example" for p in listed((p for p, _ in data), 5)])
    found = []
    if path == ".":
        text = "`eval.path` is the whole project; name the data alone"
        found.append(Warned(code="eval-holds-code", where="eval.path", text=text))
    for code, says, test in _RULES:
        hits = [p for p, num in files if test(root / p, num)]
        if hits:
            text = f"{says}: {', '.join(listed(hits, 5))}"
            found.append(Warned(code=code, where=shown(hits[0]), text=text))
    return found + _credentials(root, files)


def _is_page(path: Path, num_bytes: int) -> bool:
    if path.suffix.lower() in _WEB or num_bytes == 0:
        return False
    with path.open("rb") as f:
        start = f.read(512).lstrip().lower()
    return start.startswith((b"<!doctype html", b"<html"))


def _is_bare_header(path: Path, num_bytes: int) -> bool:
    """Whether a table is one line of names: several words, no number among them."""
    if path.suffix.lower() not in _TABLES or not 0 < num_bytes < _SEARCHED:
        return False
    line = path.read_bytes().strip()
    words = [] if b"\n" in line else line.split(b"\t" if path.suffix.lower() == ".tsv" else b",")
    return len(words) > 1 and all(re.fullmatch(rb"\s*[\"']?[A-Za-z_][\w .-]*[\"']?\s*", w) for w in words)


def _is_hollow(path: Path, _num_bytes: int) -> bool:
    if path.suffix.lower() not in _ARCHIVES or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return not any(m.file_size for m in archive.infolist())


def _is_code(path: Path, _num_bytes: int) -> bool:
    return path.suffix.lower() in _CODE


_RULES: tuple[tuple[str, str, Callable[[Path, int], bool]], ...] = (
    ("eval-web-page", "a web page, perhaps an error page, lies in the place of data", _is_page),
    ("eval-one-line", "a header without an example", _is_bare_header),
    ("eval-hollow-archive", "an archive without content", _is_hollow),
    ("eval-holds-code", "the evaluation set holds code, which is packed with the code as well", _is_code),
)


def _credentials(root: Path, files: Iterable[tuple[str, int]]) -> list[Warned]:
    small = (p for p, num in files if 0 < num <= _SEARCHED)
    hits = [hit for p in small for hit in secrets.in_content(p, (root / p).read_bytes())]
    if not hits:
        return []
    places = ", ".join(f"{h.where} ({h.kind})" for h in hits[:5])
    text = f"looks like a credential in the evaluation set, which is packed: {places}"
    return [Warned(code="eval-secret", where=hits[0].where, text=text)]
