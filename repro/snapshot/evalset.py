"""Packs the evaluation set from the working tree: every file at its path, with its size and digest."""

import heapq
import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from repro.files import raise_if_full, write_whole
from repro.model.canonical import pretty
from repro.model.project import Project
from repro.model.snapshot import EvalSet, FileEntry, Warned
from repro.snapshot import evalrules
from repro.snapshot.evalcopy import copy, link
from repro.snapshot.evaldoubts import doubts
from repro.snapshot.leftovers import is_cache
from repro.snapshot.names import shown

_MOST_COUNTED = 1_000_000


@dataclass
class Found:
    """What a walk over the set saw. Paths relative to the project; lists are bounded by `eval.max_files`."""

    files: list[tuple[str, int]] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    special: list[str] = field(default_factory=list)
    num_files: int = 0
    num_bytes: int = 0
    largest: list[tuple[int, str]] = field(default_factory=list)


def take_eval(project: Project, into: Path) -> EvalSet:
    """The evaluation set; `into` gets `eval.json`, and `eval/` with each file at its project-relative path.

    It is read from the working tree, since git may be told to ignore it. Links inside the set stay links,
    links to other files of the repository become copies.

    Args:
        project: names the set in its settings.
        into: folder that exists.

    Raises:
        eval-missing, eval-empty, eval-too-many-files, eval-too-large, eval-lfs-pointer, eval-link,
        eval-special-file, eval-name, eval-unreadable, snapshot-secret.
    """
    path = project.settings.eval.path
    if not path:
        text = "the project names no evaluation set: only what the program prints or writes can be compared"
        found = EvalSet(path="", warnings=[Warned(code="eval-none", where="eval.path", text=text)])
    else:
        path = posixpath.normpath(path)
        try:
            found = _take(project, path, into)
        except PermissionError as problem:
            raise evalrules.unreadable(problem) from None
        except OSError as problem:
            raise_if_full(problem, into)
            raise
    write_whole(into / "eval.json", pretty(found))
    return found


def _take(project: Project, path: str, into: Path) -> EvalSet:
    root = Path(project.root).resolve()
    evalrules.check_there(project, root, path)
    found = _walk(root, path, project.settings.eval.max_files)
    evalrules.check_counts(project, path, found.num_files, _MOST_COUNTED)
    evalrules.check_special(found.special)
    evalrules.check_names([*found.links, *(p for p, _ in found.files)])
    inside, copied = evalrules.check_links(root, path, found.links)
    found.files += [(p, (root / p).stat().st_size) for p in copied]
    evalrules.check_size(project, path, found.num_bytes, found.largest)
    evalrules.check_secrets(p for p, _ in found.files)
    warnings = evalrules.check_content(root, path, found.files)
    warnings += doubts(root, path, found.files)
    entries = [copy(root / p, into / "eval", p) for p, _ in sorted(found.files)]
    by_path = {e.path: e for e in entries}
    for name, end in inside.items():
        link(into / "eval" / name, found.links[name])
        if end in by_path:
            entries.append(FileEntry(path=name, bytes=by_path[end].bytes, sha256=by_path[end].sha256))
    warnings += [
        Warned(
            code="link-copied",
            where=shown(p),
            text=f"{shown(p)} is a link to a file outside the set; it is copied",
        )
        for p in copied
    ]
    return EvalSet(path=path, files=sorted(entries, key=lambda e: e.path), warnings=warnings)


def _walk(root: Path, path: str, most: int) -> Found:
    found = Found()
    for name, entry in _entries(root, path):
        if entry.is_symlink():
            if len(found.links) <= most:
                found.links[name] = str((root / name).readlink())
        elif not entry.is_file():
            found.special.append(name)
            continue
        else:
            num_bytes = entry.stat().st_size
            found.num_bytes += num_bytes
            heapq.heappush(found.largest, (num_bytes, name))
            if len(found.largest) > 5:
                heapq.heappop(found.largest)
            if len(found.files) <= most:
                found.files.append((name, num_bytes))
        found.num_files += 1
        if found.num_files >= _MOST_COUNTED:
            break
    return found


def _entries(root: Path, path: str) -> Iterator[tuple[str, "os.DirEntry[str] | Path"]]:
    """Every file, link and special file of the set; caches and git's own folder are passed over."""
    start = root / path
    if start.is_symlink() or not start.is_dir():
        yield path, start
        return
    todo = [path]
    while todo:
        folder = todo.pop()
        with os.scandir(root / folder) as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder != "." else entry.name
                if is_cache(name) or entry.name == ".git":
                    continue
                if entry.is_dir(follow_symlinks=False):
                    todo.append(name)
                else:
                    yield name, entry
