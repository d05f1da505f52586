"""Whether the origins of locked files still answer: there, gone, another file, nobody, no address."""

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from repro.events import silent
from repro.lock.pipconf import PipConfig
from repro.lock.reach import origins
from repro.model.lock import Lock, Wheel


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_words: object) -> None:
        """Nothing."""


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "there-1.0-py3-none-any.whl").write_bytes(b"x" * 10)
    (tmp_path / "other-1.0-py3-none-any.whl").write_bytes(b"x" * 11)
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def wheel(name: str, origin: str) -> Wheel:
    file = f"{name}-1.0-py3-none-any.whl"
    place = f"{origin}/{file}" if origin.startswith("http") else origin
    return Wheel(name=name, version="1.0", file=file, sha256="0" * 64, bytes=10, origin=place)


def test_each_state_is_told_from_the_others(index: str) -> None:
    wheels = [
        wheel("there", index),
        wheel("other", index),
        wheel("gone", index),
        wheel("made", "local"),
        wheel("built", f"built from {index}/there-1.0-py3-none-any.whl"),
        wheel("silent", "http://127.0.0.1:9"),
    ]
    lock = Lock(
        python="3.11",
        platform="linux_x86_64",
        libc="",
        resolver="",
        inputs={},
        inputs_sha256="",
        requirements_sha256="",
        wheels=wheels,
    )
    found = {origin.wheel.name: origin for origin in origins(lock, PipConfig({}, {}), silent)}
    assert {name: origin.state for name, origin in found.items()} == {
        "there": "there",
        "other": "other",
        "gone": "gone",
        "silent": "no-answer",
        "made": "local",
        "built": "there",
    }
    assert "11 bytes are offered there, 10 were locked" in found["other"].found
