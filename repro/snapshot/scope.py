"""Which part of a commit is packed: all, or a project's sub-folder with what it needs beside it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from repro.errors import ReproError
from repro.model.snapshot import Warned
from repro.snapshot import links, outside
from repro.snapshot.names import shown, under
from repro.snapshot.repository import Entry

MOST_FILES = 2000


@dataclass(frozen=True)
class Scope:
    """Entries that are packed, submodules among them; `beside` are paths outside the project's folder."""

    entries: list[Entry]
    beside: list[str]
    warnings: list[Warned]


def choose(tree: Sequence[Entry], folder: str, named: Sequence[str], read: Callable[[Entry], bytes]) -> Scope:
    """The part of `tree` that is packed for the project in `folder`.

    Args:
        tree: every entry of the commit.
        folder: the project's, relative to the repository.
        named: paths that the user wants packed.
        read: content of an entry.

    Raises:
        snapshot-outside-import: what the project imports from beside it is too large to be taken unasked.
    """
    if not folder:
        return Scope(list(tree), [], [])
    text = f"project root {shown(folder)} inside a larger repository; the rest of it is left out"
    warnings = [Warned(code="monorepo", where=shown(folder), text=text)]
    beside = [name for name in named if not under(name, folder)]
    by_path = {e.path: e for e in tree}
    needed = outside.find(list(by_path), folder, lambda path: read(by_path[path]))
    for found in [*needed, *_link_targets(tree, folder, read)]:
        if not any(under(found.path, b) for b in beside):
            _check_size(found, tree)
            beside.append(found.path)
            warnings.append(_about(found))
    inits = {f"{parent}/__init__.py" for path in beside for parent in _parents(path)}
    wanted = [folder, *beside]
    entries = [e for e in tree if e.path in inits or any(under(e.path, w) for w in wanted)]
    return Scope(entries, beside, warnings)


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]


def _link_targets(
    tree: Sequence[Entry], folder: str, read: Callable[[Entry], bytes]
) -> list[outside.Outside]:
    found = []
    for entry in tree:
        if entry.is_link and under(entry.path, folder):
            end = links.target(entry.path, os.fsdecode(read(entry)))
            if (
                end
                and not under(end, folder)
                and not under(folder, end)
                and any(under(e.path, end) for e in tree)
            ):
                found.append(outside.Outside(end, entry.path))
    return found


def _about(found: outside.Outside) -> Warned:
    where = shown(found.where)
    text = f"{shown(found.path)} lies outside the project and is needed at {where}: packed as well"
    return Warned(code="outside-import", where=where, text=text)


def _check_size(found: outside.Outside, tree: Sequence[Entry]) -> None:
    num_files = sum(under(e.path, found.path) for e in tree)
    if num_files > MOST_FILES:
        raise ReproError(
            "snapshot-outside-import",
            f"the project needs `{shown(found.path)}`, which lies outside its folder and is large",
            found=[f"needed at {shown(found.where)}", f"{num_files} files"],
            needs=f"at most {MOST_FILES} files to be taken along unasked",
            done="nothing was packed",
            tries=f"repro build --include {shown(found.path)}",
        )
