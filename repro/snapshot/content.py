"""What the chosen entries hold: read from git, with real files in the place of pointers and named links."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from repro.errors import ReproError
from repro.model.snapshot import Warned
from repro.snapshot import archive, lfs, links
from repro.snapshot.names import shown, size, under
from repro.snapshot.repository import Entry, Repository
from repro.snapshot.submodules import Part

Data = bytes | Path
# From here on a file in a commit is more likely data or weights than code.
LARGE = 50_000_000


@dataclass
class Content:
    """Files and links that are packed, with what each holds, by path."""

    entries: list[Entry] = field(default_factory=list)
    data: dict[str, Data] = field(default_factory=dict)
    warnings: list[Warned] = field(default_factory=list)


def whole(data: Data) -> bytes:
    """The bytes of a content, wherever it lies."""
    return data if isinstance(data, bytes) else data.read_bytes()


def gather(
    repository: Repository,
    entries: Sequence[Entry],
    parts: Sequence[Part],
    named: Sequence[str],
    scratch: Path,
) -> Content:
    """Everything that is packed: of the repository, and of its submodules.

    Raises:
        snapshot-link-outside, snapshot-include, snapshot-object-missing.
    """
    found = Content()
    _add(found, repository, entries, "", named, scratch)
    for part in parts:
        _add(found, part.repository, part.entries, part.path + "/", named, scratch)
    texts = {e.path: os.fsdecode(whole(found.data[e.path])) for e in found.entries if e.is_link}
    found.warnings += links.judge(texts, found.data)
    return found


def _add(
    found: Content,
    repository: Repository,
    entries: Sequence[Entry],
    prefix: str,
    named: Sequence[str],
    scratch: Path,
) -> None:
    files = [e for e in entries if not e.is_submodule]
    by_oid = dict(repository.blobs([e.oid for e in files], scratch))
    store = None
    for entry in files:
        data = by_oid[entry.oid]
        path = prefix + entry.path
        if entry.is_link and path in named:
            entry, data = _copied_link(found, repository, entry, data)
        elif isinstance(data, bytes) and not entry.is_link and (pointer := lfs.pointer(data)):
            store = store or repository.path("lfs")
            entry, data = _real_file(found, repository.top, store, entry, data, pointer)
        found.entries.append(replace(entry, path=path))
        found.data[path] = data


def _real_file(
    found: Content, top: Path, store: Path, entry: Entry, data: Data, pointer: lfs.Pointer
) -> tuple[Entry, Data]:
    real = lfs.stored(pointer, store, top / entry.path)
    if real:
        return replace(entry, oid=archive.blob_id(real, entry.oid)), real
    text = f"{pointer.text(entry.path)}; run: {pointer.command(entry.path)}"
    found.warnings.append(Warned(code="lfs-pointer", where=shown(entry.path), text=text))
    return entry, data


def _copied_link(found: Content, repository: Repository, entry: Entry, data: Data) -> tuple[Entry, Data]:
    path = repository.top / entry.path
    if not path.is_file():
        raise ReproError(
            "snapshot-include",
            f"the link `{shown(entry.path)}` was to be packed as a copy, but it points to no file",
            found=f"{shown(entry.path)} -> {shown(os.fsdecode(whole(data)))}",
            needs="a link to a file",
            done="nothing was packed",
            tries=f"ls -lL {shown(entry.path)}",
        )
    copy = path.read_bytes()
    text = f"{shown(entry.path)} is a link; --include asks for a copy of the file that it names"
    found.warnings.append(Warned(code="link-copied", where=shown(entry.path), text=text))
    return replace(entry, mode="100644", oid=archive.blob_id(copy, entry.oid)), copy


def large(contents: Mapping[str, Data]) -> list[Warned]:
    """A warning that names the large files among what is packed, with their sizes."""
    sizes = {p: len(d) if isinstance(d, bytes) else d.stat().st_size for p, d in contents.items()}
    found = sorted((p for p, num in sizes.items() if num >= LARGE), key=lambda p: -sizes[p])
    if not found:
        return []
    names = ", ".join(f"{shown(p)} ({size(sizes[p])})" for p in found[:5])
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return [
        Warned(
            code="large-file",
            where=shown(found[0]),
            text=f"large files are packed with the code: {names}{more}",
        )
    ]


def tree_id(content: Content, parts: Sequence[Part], folder: str) -> str:
    """Git's id of what is packed: of the project's folder alone, unless more than that is packed."""
    tops = [p for p in parts if not any(p is not q and under(p.path, q.path) for q in parts)]
    own = [e for e in content.entries if not any(under(e.path, p.path) for p in tops)]
    own += [Entry("160000", p.record.commit, p.path) for p in tops]
    if folder and all(under(e.path, folder) for e in own):
        own = [replace(e, path=e.path.removeprefix(folder + "/")) for e in own]
    return archive.tree_id(own)
