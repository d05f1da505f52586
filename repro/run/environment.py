"""A virtual environment made from a bundle's own wheels, offline and with hashes."""

import errno
import os
import shutil
from pathlib import Path

from repro.engine.contract import Engine, Job
from repro.errors import ReproError
from repro.events import Sink, step
from repro.files import alone, raise_if_full, write_whole
from repro.model.lock import Lock

_WHOLE = "reprobundle-whole"


def environment(bundle: Path, lock: Lock, engine: Engine, envs: Path, sink: Sink) -> Path:
    """Interpreter of an environment that holds exactly the locked packages; made once, then reused.

    Raises:
        environment-failed: pip could not install the bundle's wheels. disk-full: no space is left for them.
    """
    folder = envs / f"{lock.requirements_sha256[:16]}-py{lock.python}"
    python = folder / "bin" / "python"
    with step(sink, "environment") as shown, alone(folder):
        shown.cached = (folder / _WHOLE).exists() and python.exists()
        shown.detail = f"{len(lock.wheels)} packages, Python {lock.python}, in place"
        if not shown.cached:
            shutil.rmtree(folder, ignore_errors=True)
            for argv in _commands(folder, lock):
                _run(engine, argv, bundle, folder)
            rejoin = bundle / "repro_runtime" / "inject" / "repro_runtime.pth"
            shutil.copy(rejoin, folder / "lib" / f"python{lock.python}" / "site-packages")
            write_whole(folder / _WHOLE, b"")
    return python


def _commands(folder: Path, lock: Lock) -> list[tuple[str, ...]]:
    """To be run in the bundle's folder: pip takes a `;` in a path for the begin of a condition."""
    python = str(folder / "bin" / "python")
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
        "wheels",
    )
    upgrade = [(*install, f"./wheels/{lock.installer.file}")] if lock.installer else []
    return [
        # Apart, because venv hides what ensurepip says when it fails.
        ("python3", "-m", "venv", "--clear", "--without-pip", str(folder)),
        (python, "-m", "ensurepip", "--upgrade", "--default-pip"),
        *upgrade,
        (*install, "--require-hashes", "-r", "requirements.lock"),
        (python, "-m", "pip", "--isolated", "--disable-pip-version-check", "check"),
    ]


def _run(engine: Engine, argv: tuple[str, ...], bundle: Path, folder: Path) -> None:
    said: list[bytes] = []
    job = Job(image="", argv=argv, workdir=str(bundle), network=True)
    status = engine.run(job, said.append).status
    if status:
        text = b"".join(said).decode("utf-8", "replace")
        if os.strerror(errno.ENOSPC) in text:
            raise_if_full(OSError(errno.ENOSPC, text), folder)
        raise ReproError(
            "environment-failed",
            "the bundle's wheels could not be installed on this machine",
            found=text.strip().splitlines()[-8:],
            needs="a platform that the locked wheels are made for",
            done="nothing was run",
            tries=["repro verify", "repro run --engine docker"],
        )
