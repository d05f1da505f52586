"""Tries a new image: its packages with native code load, `pip check` is content, its entry point answers.

With no network and as an ordinary user, as a run is. The three are tried at once.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files

from repro.engine.contract import ImageEngine, Job, Stop
from repro.errors import ReproError
from repro.events import Note, Sink
from repro.image.imports import explain, modules_to_try
from repro.model.lock import Lock

_PYTHON = ("/opt/env/bin/python",)
_PIP_CHECK = ("-m", "pip", "--isolated", "--disable-pip-version-check", "check")
_LABELS = {"dev.reprobundle.run": "probe"}
_DONE = "the image's name was taken away; its layers stay in the cache"


@dataclass(frozen=True)
class _Said:
    """What a container left: exit status and output."""

    status: int
    text: str


def try_out(image: str, lock: Lock, engine: ImageEngine, sink: Sink) -> None:
    """Start the three tries, and tell warnings about packages whose failure may not matter.

    Raises:
        image-import-failed: a package does not load, for a reason that matters.
        image-check-failed: `pip check` found a gap. image-runtime-failed: the entry point does not answer.
    """
    script = (files("repro") / "image" / "import_probe.py").read_text("utf-8")
    imported, checked, helped = _at_once(
        engine,
        [
            Job(image, ("-c", script, *modules_to_try(lock)), entrypoint=_PYTHON, labels=_LABELS),
            Job(image, _PIP_CHECK, entrypoint=_PYTHON, labels=_LABELS),
            Job(image, ("--help",), labels=_LABELS),
        ],
    )
    for text in explain(imported.status, imported.text):
        sink(Note("warning", text))
    if checked.status != 0:
        raise _unfit(checked)
    if helped.status != 0:
        raise _silent(helped)


def _at_once(engine: ImageEngine, jobs: Sequence[Job]) -> list[_Said]:
    stop = [Stop() for _job in jobs]
    with ThreadPoolExecutor(len(jobs)) as pool:
        try:
            return list(pool.map(lambda job, end: _run(engine, job, end), jobs, stop))
        except BaseException:
            for one in stop:
                one.ask()
            raise


def _run(engine: ImageEngine, job: Job, stop: Stop) -> _Said:
    pieces: list[bytes] = []
    ended = engine.run(job, pieces.append, stop)
    return _Said(ended.status, b"".join(pieces).decode("utf-8", "replace"))


def _unfit(said: _Said) -> ReproError:
    return ReproError(
        "image-check-failed",
        "the locked packages do not fit one another",
        found=said.text.strip().splitlines()[-10:],
        needs="what `pip check` accepts",
        done=_DONE,
        tries=["repro build --relock", "change the pins named above"],
    )


def _silent(said: _Said) -> ReproError:
    return ReproError(
        "image-runtime-failed",
        "the image was built, and its own entry point does not answer",
        found=[f"`docker run IMAGE --help` ended with status {said.status}", *said.text.splitlines()[-10:]],
        done=_DONE,
        tries=["repro build", "repro doctor"],
    )
