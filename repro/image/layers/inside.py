"""What only the base image's own Python can make: an empty environment, and compiled bytecode.

Both are made in one container without a network. Files go in and out through the engine's connection, so that
it works with an engine on another machine, too.
"""

import io
import json
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import IO

from repro import tarball
from repro.engine.contract import ImageEngine, Job
from repro.errors import ReproError
from repro.tarball import Content, Member

_WORK = "/opt/repro-work"
_PIECE = 1 << 20
_SCRIPT = "inside_script.py"
_GROUP = 200  # so that the largest wheel does not keep one core busy while the others are idle


@dataclass(frozen=True)
class Made:
    """Files below /opt/env by their name in a layer: the environment, and the bytecode of sources."""

    environment: list[Member]
    bytecode: dict[str, Member]

    def name_of(self, source: str) -> str:
        """Name of a source's bytecode, whatever the interpreter's tag; empty when it has none."""
        folder, _, file = source.rpartition("/")
        return self._names.get((folder, file.removesuffix(".py")), "")

    @cached_property
    def _names(self) -> dict[tuple[str, str], str]:
        found = {}
        for name in self.bytecode:
            folder, _, file = name.rpartition("/")
            found[folder.removesuffix("/__pycache__"), file.rsplit(".", 2)[0]] = name
        return found


def make(
    engine: ImageEngine,
    image: str,
    folder: Path,
    sources: Mapping[str, Sequence[Member]],
    *,
    environment: bool,
    wheels: Sequence[Path] = (),
    pip: Sequence[Sequence[str]] = (),
) -> Made:
    """Run the base image's Python once.

    Args:
        engine: holds `image`.
        image: id of the base image.
        folder: where what comes back is kept while it is used.
        sources: Python files by wheel. A fixed number of them is compiled by one process, in the order of
            names, so that their bytecode depends on nothing else.
        environment: make `/opt/env` with venv, beside that, and give it back.
        wheels: files for pip, with its lists of requirements.
        pip: the arguments of each call to pip in that environment.

    Raises:
        layer-make-failed: the container ended badly; its last lines are told.
    """
    plan = {
        "environment": environment,
        "pip": [list(words) for words in pip],
        "groups": [part for group in sources.values() for part in _parts(group)],
    }
    given = _given(plan, sources, wheels)
    said: list[bytes] = []
    taken = {f"{_WORK}/out": folder / "out.tar"}
    if environment:
        taken |= {"/opt/env": folder / "env.tar", f"{_WORK}/own": folder / "own.tar"}
    job = Job(
        image=image,
        argv=("-s", f"{_WORK}/script.py"),
        entrypoint=("python3",),
        env={"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"},
        user="root",
        read_only=False,
        labels={"dev.reprobundle.run": "build"},
        sent={"/": lambda: tarball.pieces(given)},
        fetched={path: _keeper(target) for path, target in taken.items()},
    )
    ended = engine.run(job, said.append)
    if ended.status:
        raise _failed(ended.status, b"".join(said).decode("utf-8", "replace"), wheels)
    made: list[Member] = []
    if environment:
        fresh = members_of(folder / "env.tar", "opt/env")
        made = [member for member in fresh if "__pycache__" not in member.name.split("/")]
        made += _files(folder / "own.tar")
    return Made(made, {member.name: member for member in _files(folder / "out.tar")})


def _given(
    plan: Mapping[str, object], sources: Mapping[str, Sequence[Member]], wheels: Sequence[Path]
) -> list[Member]:
    """What goes into the container."""
    script = (files("repro") / "image" / "layers" / _SCRIPT).read_bytes()
    inside = [Member(f"in/{m.name}", m.source) for group in sources.values() for m in group]
    given = [
        Member("plan.json", json.dumps(plan).encode()),
        Member("script.py", script),
        *(Member(f"wheels/{path.name}", path) for path in wheels),
        *inside,
    ]
    return [Member(f"{_WORK[1:]}/{member.name}", member.source) for member in given]


def _files(archive: Path) -> list[Member]:
    return [member for member in members_of(archive, "") if not member.is_folder]


def _parts(group: Sequence[Member]) -> list[list[str]]:
    names = sorted(member.name for member in group)
    return [names[start : start + _GROUP] for start in range(0, len(names), _GROUP)]


def _failed(status: int, text: str, wheels: Sequence[Path]) -> ReproError:
    return ReproError(
        "layer-make-failed",
        "the environment could not be made in a container of the base image"
        if wheels
        else "the base image's Python could not make an environment and bytecode",
        found=[f"status {status}", *text.strip().splitlines()[-12:]],
        needs="a base image whose `python3` has `venv` and `ensurepip`",
        done="nothing was made",
        tries=["repro base create --python X.Y", "repro doctor"],
    )


def _keeper(target: Path) -> Callable[[Iterator[bytes]], None]:
    def keep(pieces: Iterator[bytes]) -> None:
        with target.open("wb") as out:
            for piece in pieces:
                out.write(piece)

    return keep


def members_of(archive: Path, place: str) -> list[Member]:
    """Members of a tar whose top folder stands for `place`; their content is read from it when needed."""
    found = []
    with tarfile.open(archive) as tar:
        for entry in tar:
            inner = entry.name.partition("/")[2]
            name = "/".join(part for part in (place, inner) if part)
            if not name:
                continue
            if entry.issym():
                found.append(Member(name, link=entry.linkname))
            elif entry.isdir():
                found.append(Member(name))
            elif entry.isreg():
                content = Content(entry.size, _slice(archive, entry.offset_data, entry.size))
                found.append(Member(name, content, executable=bool(entry.mode & 0o100)))
    return found


def _slice(path: Path, start: int, size: int) -> Callable[[], IO[bytes]]:
    return lambda: io.BufferedReader(Slice(path, start, size), min(size, _PIECE) or 1)


class Slice(io.RawIOBase):
    """A part of a file."""

    def __init__(self, path: Path, start: int, size: int) -> None:
        self._file = path.open("rb", buffering=0)
        self._file.seek(start)
        self._left = size

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """Fill the buffer as far as the part goes; 0 at its end."""
        count = self._file.readinto(memoryview(buffer)[: min(len(buffer), self._left)]) or 0
        self._left -= count
        return count

    def close(self) -> None:
        """Let the file go."""
        self._file.close()
        super().close()
