"""The files of a bundle's image as a list: what is equal however the image was built.

Type, mode, size, content and link of everything below /opt/env and /opt/repro. Left out are compiled bytecode
and times, which differ from build to build, and what the base image brings.
"""

import hashlib
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from repro.engine.contract import ImageEngine
from repro.files import sha256_bytes
from repro.tarball import Member

TOPS = ("opt/env", "opt/repro")
_PIECE = 1 << 20


@dataclass(frozen=True, order=True)
class Line:
    """One file, folder or link, as `what` says; `detail` is a digest, or where a link points."""

    path: str
    what: str
    mode: int
    size: int = 0
    detail: str = ""

    def text(self) -> str:
        """As it goes into the digest."""
        return f"{self.what} {self.mode:o} {self.size} {self.detail} {self.path}\n"


def line_of(member: Member, sha256: str) -> Line:
    """The line of a member as it is written into a layer."""
    if member.link:
        return Line(member.name, "link", 0o777, 0, member.link)
    if member.is_folder:
        return Line(member.name, "folder", member.mode)
    return Line(member.name, "file", member.mode, member.content().size, sha256)


def counts(path: str) -> bool:
    """Whether a path is part of the tree."""
    top = any(path == top or path.startswith(f"{top}/") for top in TOPS)
    return top and "__pycache__" not in path.split("/")


def tree_digest(lines: Iterable[Line]) -> str:
    """`sha256:HEX` over all lines in the order of their paths; the last line of a path counts."""
    by_path = {line.path: line for line in lines if counts(line.path)}
    text = "".join(by_path[path].text() for path in sorted(by_path))
    return f"sha256:{sha256_bytes(text.encode('utf-8', 'surrogateescape'))}"


def tree_of(reference: str, engine: ImageEngine) -> str:
    """The digest of the files of an image in the engine; nothing in it is started."""
    with engine.export(reference) as root:
        return tree_digest(tree_lines(root))


def tree_lines(root: IO[bytes]) -> Iterator[Line]:
    """The lines of a whole root file system, from a tar that is read once."""
    sums: dict[str, Line] = {}
    with tarfile.open(fileobj=root, mode="r|") as tar:
        for entry in tar:
            path = entry.name.removeprefix("./").strip("/")
            if not counts(path):
                continue
            if entry.islnk():  # one more name of a file that came before
                known = sums.get(entry.linkname.removeprefix("./").strip("/"))
                line = Line(path, *_rest(known)) if known else Line(path, "hard link", entry.mode & 0o7777)
            else:
                line = _line(path, entry, tar)
            sums[path] = line
            yield line


def _rest(line: Line) -> tuple[str, int, int, str]:
    return line.what, line.mode, line.size, line.detail


def _line(path: str, entry: tarfile.TarInfo, tar: tarfile.TarFile) -> Line:
    mode = entry.mode & 0o7777  # Python's tar of the container has the file's kind in it
    if entry.uid or entry.gid:
        return Line(path, f"owned by {entry.uid}:{entry.gid}", mode)
    if entry.issym():
        return Line(path, "link", 0o777, 0, entry.linkname)
    if entry.isdir():
        return Line(path, "folder", mode)
    data = tar.extractfile(entry) if entry.isreg() else None
    if data is None:
        return Line(path, "neither file, folder nor link", mode)
    found = hashlib.sha256()
    while piece := data.read(_PIECE):
        found.update(piece)
    return Line(path, "file", mode, entry.size, found.hexdigest())


def differences(found: Iterable[Line], expected: Iterable[Line]) -> list[str]:
    """One sentence for each path that differs, in order."""
    a = {line.path: line for line in found if counts(line.path)}
    b = {line.path: line for line in expected if counts(line.path)}
    return [_said(path, a, b) for path in sorted(a.keys() | b.keys()) if a.get(path) != b.get(path)]


def _said(path: str, found: Mapping[str, Line], expected: Mapping[str, Line]) -> str:
    if path not in expected:
        return f"/{path}: not in the bundle"
    if path not in found:
        return f"/{path}: missing"
    a, b = found[path], expected[path]
    rows = (
        ("", a.what, b.what),
        ("mode ", f"{a.mode:o}", f"{b.mode:o}"),
        ("size ", str(a.size), str(b.size)),
    )
    parts = [f"{name}{x} instead of {y}" for name, x, y in rows if x != y]
    return f"/{path}: {', '.join(parts) or 'other content'}"
