"""A virtual environment made from a bundle's own wheels, offline and with hashes."""

import shutil
from pathlib import Path

from repro.engine.contract import Engine, Job
from repro.errors import ReproError
from repro.events import Sink, step
from repro.files import write_whole
from repro.model.lock import Lock

_WHOLE = "reprobundle-whole"


def environment(bundle: Path, lock: Lock, engine: Engine, envs: Path, sink: Sink) -> Path:
    """Interpreter of an environment that holds exactly the locked packages; made once, then reused.

    Raises:
        environment-failed: pip could not install the bundle's wheels.
    """
    folder = envs / f"{lock.requirements_sha256[:16]}-py{lock.python}"
    python = folder / "bin" / "python"
    with step(sink, "environment") as shown:
        shown.cached = (folder / _WHOLE).exists()
        shown.detail = f"{len(lock.wheels)} packages, Python {lock.python}, in place"
        if not shown.cached:
            shutil.rmtree(folder, ignore_errors=True)
            for argv in _commands(folder, bundle, lock):
                _run(engine, argv)
            write_whole(folder / _WHOLE, b"")
    return python


def _commands(folder: Path, bundle: Path, lock: Lock) -> list[tuple[str, ...]]:
    python = str(folder / "bin" / "python")
    wheels = str(bundle / "wheels")
    install = (
        python,
        "-m",
        "pip",
        "--isolated",
        "--disable-pip-version-check",
        "--quiet",
        "install",
        "--no-index",
        "--find-links",
        wheels,
    )
    upgrade = [(*install, str(bundle / "wheels" / lock.installer.file))] if lock.installer else []
    return [
        ("python3", "-m", "venv", "--clear", str(folder)),
        *upgrade,
        (*install, "--require-hashes", "-r", str(bundle / "requirements.lock")),
        (python, "-m", "pip", "--isolated", "--disable-pip-version-check", "check"),
    ]


def _run(engine: Engine, argv: tuple[str, ...]) -> None:
    said: list[bytes] = []
    status = engine.run(Job(image="", argv=argv, network=True), said.append).status
    if status:
        raise ReproError(
            "environment-failed",
            "the bundle's wheels could not be installed on this machine",
            found=b"".join(said).decode("utf-8", "replace").strip().splitlines()[-8:],
            needs="a platform that the locked wheels are made for",
            done="nothing was run",
            tries=["repro verify", "repro run --engine docker"],
        )
