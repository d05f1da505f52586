"""Find a Python of an asked version on this machine."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_ASK_SECONDS = 20


def find_python(version: str) -> Path | None:
    """The interpreter for `3.11` (or `3.11.7`) that this machine holds, or None.

    Looked for: the running interpreter, `python3.11` on PATH, then the version folders of
    pyenv, uv and asdf. Each is started once, since a name proves nothing.
    """
    return next((path for path in candidates(version) if is_version(path, version)), None)


def candidates(version: str) -> Iterator[Path]:
    """Files that may be that interpreter, best first."""
    short = ".".join(version.split(".")[:2])
    if sys.prefix == sys.base_prefix:
        yield Path(sys.executable)
    else:
        yield Path(sys.base_prefix) / "bin" / f"python{short}"
    if on_path := shutil.which(f"python{short}"):
        yield Path(on_path)
    for folder in version_folders():
        matching = [folder / name for name in _names_in(folder) if _is_named(name, version)]
        for place in sorted(matching, key=lambda p: _numbers(p.name), reverse=True):
            yield place / "bin" / f"python{short}"


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names are all that is wanted
    except OSError:  # not there, or another user's
        return []


def version_folders() -> list[Path]:
    """Folders of pyenv, uv and asdf that hold one interpreter a subfolder."""
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return [
        Path(os.environ.get("PYENV_ROOT") or home / ".pyenv") / "versions",
        Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python"),
        Path(os.environ.get("ASDF_DATA_DIR") or home / ".asdf") / "installs" / "python",
    ]


def is_version(path: Path, version: str) -> bool:
    """Whether this file starts, and is that version of Python."""
    found = full_version(path)
    return bool(found) and _is_prefix(version, found)


def full_version(path: Path) -> str:
    """`3.11.7` as the interpreter itself says, or empty when it does not start."""
    code = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    try:
        done = subprocess.run(
            [path, "-I", "-c", code], capture_output=True, text=True, timeout=_ASK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _is_named(name: str, version: str) -> bool:
    """`3.11.7` and `cpython-3.11.7-linux-x86_64-gnu` are; `3.11t` builds and other Pythons are not."""
    match = re.fullmatch(r"(?:cpython-)?(\d+\.\d+\.\d+)(?:-[a-z0-9_-]+)?", name)
    return bool(match) and _is_prefix(version, match[1]) if match else False


def _is_prefix(version: str, full: str) -> bool:
    asked = version.split(".")
    return full.split(".")[: len(asked)] == asked


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", name)[:3])
