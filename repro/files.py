"""Files on disk that are whole or absent: digests, write aside, fsync, rename."""

import errno
import fcntl
import hashlib
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from repro.errors import ReproError

_PIECE = 1 << 20
_SHOWN = 200


def sha256_bytes(data: bytes) -> str:
    """Hex SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Hex SHA-256 of a file's content, read in pieces."""
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def read_regular(path: Path) -> bytes:
    """Content of a regular file; a pipe under its name would never end, and is an OSError as a folder is."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return path.read_bytes()


def write_whole(path: Path, data: bytes) -> None:
    """Replace `path` by `data` so that a reader sees the old file or the new one, never a part.

    Raises:
        disk-full: no space is left; the old file is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        Path(name).chmod(0o644)
        os.replace(name, path)
        sync_folder(path.parent)
    except BaseException as problem:
        Path(name).unlink(missing_ok=True)
        raise_if_full(problem, path)
        raise


def sync_folder(path: Path) -> None:
    """Make a rename inside `path` survive a power cut."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def raise_if_full(problem: BaseException, path: Path) -> None:
    """Turn "no space left" into the error a user can act on; let anything else pass."""
    if isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT):
        free = shutil.disk_usage(_existing(path)).free
        raise ReproError(
            "disk-full",
            f"no space is left to write `{path.name}`",
            found=f"{free / 1e6:.0f} MB free on the disk that holds `{_existing(path)}`",
            done="nothing half-written was kept; what is cached is used by the next try",
            tries=["free some space, then run the same command again", "docker system df"],
        ) from problem


def _existing(path: Path) -> Path:
    """The nearest folder above that is there and may be seen."""
    while not os.path.exists(path) and path != path.parent:  # noqa: PTH110 - `Path.exists` raises where it may not look
        path = path.parent
    return path


class Aside:
    """A folder that is being made. `path` is where to write; `become` makes it whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def become(self, target: Path) -> None:
        """Flush everything and rename the folder to `target`, which must not exist."""
        sync_tree(self.path)
        os.replace(self.path, target)
        sync_folder(target.parent)

    def replace(self, target: Path) -> None:
        """Like `become`, in place of a folder that may be there."""
        with alone(target):
            shutil.rmtree(target, ignore_errors=True)
            self.become(target)


@contextmanager
def folder_aside(parent: Path, word: str) -> Iterator[Aside]:
    """Give an empty folder in `parent`; unless it became something, it is removed at the end.

    A folder that a kill left behind has a name starting with `.part-`, which no
    reader takes for a whole one; the next call with the same word clears it.
    """
    parent.mkdir(parents=True, exist_ok=True)
    prefix = f".part-{word}-"
    for old in parent.glob(f"{prefix}*"):
        if not _is_alive(old.name.removeprefix(prefix)):
            shutil.rmtree(old, ignore_errors=True)
    path = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent))
    path.chmod(0o755)
    try:
        yield Aside(path)
    except BaseException as problem:
        raise_if_full(problem, parent)
        raise
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _is_alive(rest: str) -> bool:
    pid = rest.split("-", 1)[0]
    return pid.isdigit() and Path(f"/proc/{pid}").exists()


_PART = re.compile(r"\.part-(?:[a-z-]+-)?(\d+-)")


def sweep(folder: Path) -> int:
    """Take away what killed processes were making in a folder, aside; the number of things."""
    dead = [p for p in folder.glob(".part-*") if (m := _PART.match(p.name)) and not _is_alive(m[1])]
    for path in dead:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return len(dead)


def sync_tree(folder: Path) -> None:
    """Flush every file and folder below `folder` to disk."""
    for root, _dirs, names in os.walk(folder):
        for name in names:
            path = Path(root) / name
            if path.is_file() and not path.is_symlink():
                fd = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
        sync_folder(Path(root))


def link_or_copy(source: Path, target: Path) -> None:
    """Put `source` at `target`, whole or not at all, using no space twice where the file system allows it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        try:
            os.link(source, part)
        except OSError:
            shutil.copyfile(source, part)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)  # renaming one name of a file onto another of it does nothing


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep other processes that say the same path out of the block; they wait. A kill lets them in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    door = path.with_name(f".{path.name}.lock")
    with _locked(door):
        try:
            yield
        finally:
            door.unlink(missing_ok=True)


def _locked(door: Path) -> IO[str]:
    while True:
        held = door.open("w")
        fcntl.flock(held, fcntl.LOCK_EX)
        # Whoever was inside takes the file away: a lock on one that has no name keeps nobody out.
        if os.fstat(held.fileno()).st_nlink:
            return held
        held.close()


# What the file system may refuse that is no fault of this tool: symbolic errno, what it means, what helps.
_REFUSALS = {
    errno.EACCES: ("this user may not", "the right to do so, or another folder"),
    errno.EPERM: ("this user may not", "the right to do so, or another folder"),
    errno.EROFS: ("the file system is read-only", "a folder that can be written, see -o"),
    errno.ENAMETOOLONG: ("the name is too long", "a shorter name or path"),
    errno.ELOOP: ("symbolic links lead in a circle", "a path without such links"),
    errno.ENOTDIR: ("a part of the path is a file", "a folder in its place"),
    errno.EEXIST: ("something else has that name", "a name that is free"),
    errno.EISDIR: ("a folder is where a file should be", "a file in its place"),
    errno.EIO: ("the disk reports an error", "a disk that works"),
    errno.EMFILE: ("this process may open no more files", "a higher limit: ulimit -n"),
}


def refused(problem: OSError) -> ReproError | None:
    """The error for what the file system or the system refused, or None when it is none of that."""
    name = os.fsdecode(problem.filename) if isinstance(problem.filename, (str, bytes)) else ""
    row = _REFUSALS.get(problem.errno or 0)
    if row is None or not name:
        return None
    cause, needs = row
    return ReproError(
        "file-refused",
        f"`{name if len(name) <= _SHOWN else '…' + name[-_SHOWN:]}` cannot be used: {cause}",
        found=f"{problem.strerror} (errno {problem.errno})",
        needs=needs,
        done="nothing half-written was kept",
        tries=[
            "ls -ld " + shlex.quote(str(_existing(Path(name)))),
            "name another folder with -o, or REPRO_CACHE for the cache",
        ],
    )
