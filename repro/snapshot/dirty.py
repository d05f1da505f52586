"""How the working tree differs from the commit, and that difference as a patch and a tree of its own.

The tree is made in a temporary index and object store outside the repository, which is only read.
"""

import hashlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.snapshot import lfs
from repro.snapshot.leftovers import is_cache, is_product
from repro.snapshot.names import under
from repro.snapshot.repository import Entry, Repository
from repro.snapshot.secrets import is_secret_file
from repro.snapshot.worktree import Changes

LARGE = 1_000_000


def inspect(repository: Repository, entries: Sequence[Entry], paths: Sequence[str]) -> Changes:
    """How the working tree below `paths` differs from the commit that holds `entries`."""
    found = Changes()
    where = [p for p in paths if p]
    rows = iter(
        repository.run(
            "status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored=matching",
            "--ignore-submodules=dirty", "--no-renames", "--", *where,
        ).split(b"\0")
    )  # fmt: skip
    for row in rows:
        if row:
            _take(found, repository.top, os.fsdecode(row))
    _set_environments_apart(found)
    by_path = {e.path: e for e in entries}
    real = _real_lfs_files(repository, [by_path[p] for p in found.changed if p in by_path])
    found.changed = [p for p in found.changed if p not in real]
    found.changed += [p for p in _hidden(repository, by_path, where) if p not in found.changed]
    return found


def _take(found: Changes, top: Path, row: str) -> None:
    kind = row[0]
    if kind == "!":
        found.ignored.append(row[2:])
    elif kind == "?":
        _take_untracked(found, top, row[2:])
    elif kind in "12u":
        _, states, sub, rest = row.split(" ", 3)
        path = rest.split(" ", {"1": 5, "2": 6, "u": 7}[kind])[-1]
        if kind == "u":
            found.unmerged.append(path)
        if sub.startswith("S"):
            found.submodules.append(path)
        else:
            (found.staged if states[1] == "." else found.changed).append(path)


def _set_environments_apart(found: Changes) -> None:
    """Untracked virtual and conda environments: thousands of files, none of them the project's."""
    marks = ("/pyvenv.cfg", "/conda-meta/history")
    found.environments = sorted({p.removesuffix(m) for m in marks for p in found.untracked if p.endswith(m)})
    for path in [p for p in found.untracked if any(under(p, e) for e in found.environments)]:
        del found.untracked[path]


def _take_untracked(found: Changes, top: Path, path: str) -> None:
    if is_cache(path):
        return
    if path.endswith("/"):
        found.repositories.append(path.rstrip("/"))
    elif is_secret_file(path):
        found.secret.append(path)
    elif is_product(path):
        found.products.append(path)
    else:
        found.untracked[path] = (top / path).lstat().st_size


def _real_lfs_files(repository: Repository, entries: Sequence[Entry]) -> set[str]:
    """Working files that an LFS pointer in the commit stands for; with filters off they look changed."""
    if not entries:
        return set()
    asked = "".join(f"{e.oid}\n" for e in entries).encode()
    sizes = [row.split()[-1] for row in repository.run("cat-file", "--batch-check", stdin=asked).splitlines()]
    small = [e for e, num in zip(entries, sizes, strict=True) if num.isdigit() and int(num) <= lfs.LARGEST]
    with tempfile.TemporaryDirectory() as spill:
        content = dict(repository.blobs([e.oid for e in small], Path(spill)))
    pointers = {e.path: lfs.pointer(whole) for e in small if isinstance(whole := content[e.oid], bytes)}
    return {p for p, found in pointers.items() if found and lfs.is_real(found, repository.top / p)}


def _hidden(repository: Repository, by_path: dict[str, Entry], where: list[str]) -> list[str]:
    """Changed files that `git update-index` was told to overlook, so that status is silent about them."""
    found = []
    for row in repository.run("ls-files", "-v", "-z", "--", *where).split(b"\0"):
        flag, path = row[:1], os.fsdecode(row[2:])
        if (
            (flag.islower() or flag == b"S")
            and path in by_path
            and _differs(repository.top / path, by_path[path])
        ):
            found.append(path)
    return found


def _differs(path: Path, entry: Entry) -> bool:
    if entry.is_submodule or path.is_symlink() or not path.is_file():
        return False
    content = path.read_bytes()
    kind = hashlib.sha1 if len(entry.oid) == 40 else hashlib.sha256  # git's own object id, not a safeguard
    return kind(b"blob %d\0" % len(content) + content).hexdigest() != entry.oid


@dataclass(frozen=True)
class Packed:
    """A tree with the changes in it: where it can be read, its id, and the patch from the commit."""

    repository: Repository
    tree: str
    patch: bytes
    untracked: list[str]
    left_out: list[str]


def with_changes(
    repository: Repository, commit: str, changes: Changes, named: Sequence[str], skip: str, store: Path
) -> Packed:
    """The commit with its changes and untracked files as a tree.

    Args:
        repository: is only read.
        commit: what the changes are against.
        changes: as `inspect` found them.
        named: paths or folders that are packed whatever their size.
        skip: folder whose untracked files travel elsewhere (the evaluation set), empty for none.
        store: empty folder for the index and the objects of that tree.
    """
    taken: list[str] = []
    left: list[str] = []
    for path, num_bytes in sorted(changes.untracked.items()):
        if skip and under(path, skip):
            continue
        is_named = any(under(path, name) for name in named)
        (taken if num_bytes <= LARGE or is_named else left).append(path)
    taken += [p for p in changes.products if any(p == name for name in named)]
    (store / "objects").mkdir()
    alternate = str(repository.path("objects").resolve()).replace("\\", "\\\\").replace('"', '\\"')
    own = repository.with_env(
        GIT_INDEX_FILE=str(store / "index"),
        GIT_OBJECT_DIRECTORY=str(store / "objects"),
        GIT_ALTERNATE_OBJECT_DIRECTORIES=f'"{alternate}"',
    )
    own.run("read-tree", commit)
    paths = b"".join(os.fsencode(p) + b"\0" for p in [*changes.tracked, *taken])
    own.run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=paths)
    patch = own.run(
        "diff-index", "--cached", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff",
        "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", commit, "--",
    )  # fmt: skip
    return Packed(own, own.run("write-tree").decode().strip(), patch, taken, left)
