"""A job that another thread ends early: told by SIGTERM, heard to its end, its exit returned as any other."""

import sys
import threading
from pathlib import Path

import pytest

from repro.engine.contract import Engine, Job, Stop
from repro.engine.docker import DockerEngine
from repro.engine.local import LocalEngine

CODE = """
import signal, sys, time
def end(*_):
    sys.stdout.write('bye\\n')
    sys.stdout.flush()
    sys.exit(5)
signal.signal(signal.SIGTERM, end)
sys.stdout.write('ready\\n')
sys.stdout.flush()
time.sleep(60)
"""


def stopped(engine: Engine, job: Job) -> tuple[int, str]:
    stop, said = Stop(), bytearray()

    def take(piece: bytes) -> None:
        said.extend(piece)
        if b"ready" in piece:
            threading.Thread(target=stop.ask).start()

    ended = engine.run(job, take, stop)
    return ended.status, said.decode()


def test_a_program_here_is_told_and_heard() -> None:
    job = Job("", ("python3", "-c", CODE))
    assert stopped(LocalEngine(Path(sys.executable)), job) == (5, "ready\nbye\n")


@pytest.mark.docker
def test_a_container_is_told_and_heard(base_image: str) -> None:
    engine = DockerEngine()
    job = Job(base_image, ("-c", CODE), entrypoint=("python3",))
    assert stopped(engine, job) == (5, "ready\nbye\n")
    engine.client.close()


def test_a_wish_before_the_start_counts() -> None:
    stop = Stop()
    stop.ask()
    ended = LocalEngine(Path(sys.executable)).run(
        Job("", ("python3", "-c", "import time; time.sleep(60)")), lambda _piece: None, stop
    )
    assert ended.status == 143


def test_a_wish_after_the_end_does_nothing() -> None:
    stop, told = Stop(), list[str]()
    with stop.by(lambda: told.append("told")):
        pass
    stop.ask()
    assert (stop.asked, told) == (True, [])
