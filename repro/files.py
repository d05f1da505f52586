"""Files on disk that are whole or absent: digests, write aside, fsync, rename."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from repro.errors import ReproError

_PIECE = 1 << 20


def sha256_bytes(data: bytes) -> str:
    """Hex SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Hex SHA-256 of a file's content, read in pieces."""
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


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
    import errno

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
    while not path.exists() and path != path.parent:
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
        raise_if_full(problem, path)
        raise
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _is_alive(rest: str) -> bool:
    pid = rest.split("-", 1)[0]
    return pid.isdigit() and Path(f"/proc/{pid}").exists()


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
    """Put `source` at `target` without using space twice where the file system allows it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
