"""Starts the steps of `inside.py` in the target, with the files and the network configuration they need."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from repro import redact
from repro.engine.contract import Bind, Job
from repro.errors import ReproError
from repro.events import Output, Sink
from repro.files import raise_if_full
from repro.lock.pipconf import PipConfig, local_folder
from repro.lock.place import Place, Target
from repro.lock.requests import Source

_ROOM = "/repro-lock"
_TAIL = 400_000


@dataclass(frozen=True)
class Answer:
    """How a step ended: its own words, the stage that failed or empty, the output with logins masked."""

    words: dict[str, Any]
    failed: str
    output: str

    def tail(self, lines: int = 12) -> list[str]:
        """The last lines that say something."""
        said = [
            line
            for line in self.output.splitlines()
            if line.strip() and "is ignored: it is neither" not in line
        ]
        return said[-lines:]


@dataclass(frozen=True)
class Room:
    """A scratch folder of one lock, and the folder with the tools; both are bound into every job."""

    place: Place
    work: Path
    tools: Path

    def run(self, step: str, sink: Sink, *, network: tuple[PipConfig, list[Source]] | None = None) -> Answer:
        """Run one step in the target. Without `network` the job has none.

        Raises:
            lock-target-broken: the interpreter or its venv module is missing.
        """
        config = self._configure(network)
        script = Path(str(files("repro") / "lock" / "inside.py"))
        binds = [
            Bind(script, f"{_ROOM}/inside.py"),
            Bind(self.work, f"{_ROOM}/work", writable=True),
            Bind(self.tools, f"{_ROOM}/tools", writable=True),
            *(Bind(path, str(path)) for path in config),
        ]
        (self.work / "answer.json").unlink(missing_ok=True)
        job = Job(
            image=self.place.image,
            argv=("python3", f"{_ROOM}/inside.py", step, f"{_ROOM}/work", f"{_ROOM}/tools"),
            entrypoint=(),
            env=dict(network[0].env) if network else {},
            binds=tuple(binds),
            workdir=f"{_ROOM}/work",
            network=network is not None,
        )
        return self._started(job, sink, step)

    def _started(self, job: Job, sink: Sink, step: str) -> Answer:
        pieces = bytearray()

        def take(data: bytes) -> None:
            pieces.extend(data)
            del pieces[:-_TAIL]
            sink(Output(redact.text(data.decode("utf-8", "replace")).encode()))

        status = self.place.engine.run(job, take).status
        output = redact.text(pieces.decode("utf-8", "replace"))
        said = self.work / "answer.json"
        if not said.is_file():
            raise self._broken(step, status, output)
        words = json.loads(said.read_text("utf-8"))
        return Answer(words, words.get("failed", "") if status else "", output)

    def _configure(self, network: tuple[PipConfig, list[Source]] | None) -> list[Path]:
        for name in ("pip.conf", "netrc"):
            (self.work / name).unlink(missing_ok=True)
        if network is None:
            return []
        config, sources = network
        private(self.work / "pip.conf", config.written().encode())
        netrc = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
        if netrc.is_file():
            private(self.work / "netrc", netrc.read_bytes())
        return [*config.paths(), *_folders(sources)]

    def _broken(self, step: str, status: int, output: str) -> ReproError:
        where = f"image `{self.place.image}`" if self.place.image else "this machine's interpreter"
        return ReproError(
            "lock-target-broken",
            f"the step `{step}` could not be run with the Python of {where}",
            found=[f"exit status {status}", *output.splitlines()[-6:]],
            needs="`python3` with its `venv` module (Debian: python3 and python3-venv)",
            done="nothing was locked",
            tries=[
                "choose another `dependencies.base` in repro.toml",
                "repro base create --python " + self.place.python,
            ],
        )


def _folders(sources: list[Source]) -> list[Path]:
    """Local folders that a job must see; files of an index often lie beside it, so its parent is shown."""
    found: list[Path] = []
    for source in sources:
        path = local_folder(source.url) if source.url else None
        if path is not None and path.exists():
            path = path if path.is_dir() else path.parent
            found.append(path.parent if source.kind != "find-links" and path.name == "simple" else path)
    unique = sorted(set(found))
    return [p for p in unique if not any(p != q and p.is_relative_to(q) for q in unique)]


def private(path: Path, data: bytes) -> None:
    """Write a file that only the caller can read, since it may hold logins."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as f:
        f.write(data)


@contextmanager
def room(place: Place, cache: Path, tools: Path) -> Iterator[Room]:
    """A scratch folder inside the cache, gone afterwards, whatever happens."""
    base = cache / "scratch"
    base.mkdir(parents=True, exist_ok=True)
    for old in base.iterdir():
        if not Path(f"/proc/{old.name.split('-')[0]}").exists():
            shutil.rmtree(old, ignore_errors=True)  # left behind by a kill
    work = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=base))
    try:
        yield Room(place, work, tools)
    except OSError as problem:
        raise_if_full(problem, work)
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def probe(made: Room, sink: Sink) -> Target:
    """What the target's interpreter is.

    Raises:
        lock-python-mismatch: it is another Python than the one asked for.
    """
    words = made.run("probe", sink).words
    target = Target(words["python"], words["platform"], words["libc"], tuple(words["tags"]), words["markers"])
    if target.minor != made.place.python:
        raise ReproError(
            "lock-python-mismatch",
            f"the base holds Python {target.python}, Python {made.place.python} was asked for",
            found=f"Python {target.python} in `{made.place.image or 'this machine'}`",
            needs=f"a base image with Python {made.place.python}",
            done="nothing was locked",
            tries=[
                f'set `dependencies.python = "{target.minor}"` in repro.toml',
                "set `dependencies.base` to an image with that Python",
            ],
        )
    return target
