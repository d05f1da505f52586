"""Where an engine is looked for, and what is said when none answers."""

import gc
import json
import os
import socket
import threading
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer

import pytest

from repro.engine.connect import Refusal, _explain, connect, endpoints
from repro.engine.docker import DockerEngine
from repro.errors import ReproError


@pytest.fixture(autouse=True)
def _nothing_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "config"))


def code_of() -> ReproError:
    with pytest.raises(ReproError) as caught:
        connect()
    return caught.value


def test_a_named_place_is_the_only_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    error = code_of()
    assert error.code == "engine-unreachable"
    assert error.found == (f"DOCKER_HOST: no socket `{tmp_path}/none.sock`",)
    assert any("inplace" in line for line in error.tries)


def test_the_engine_connects_only_when_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    engine = DockerEngine()
    with pytest.raises(ReproError) as caught:
        engine.info()
    assert caught.value.code == "engine-unreachable"


def test_a_socket_without_an_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "dead.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    error = code_of()
    assert error.code == "engine-unreachable"
    assert "refused" in error.found[0].lower()


def test_a_password_in_the_address_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://me:hunter2@127.0.0.1:9")
    assert "hunter2" not in json.dumps(code_of().document())


def test_a_context_of_the_command_line_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "config"
    meta = config / "contexts" / "meta" / sha256(b"far").hexdigest()
    meta.mkdir(parents=True)
    (config / "config.json").write_text(json.dumps({"currentContext": "far"}))
    where = {"Host": f"unix://{tmp_path}/far.sock", "SkipTLSVerify": False}
    (meta / "meta.json").write_text(
        json.dumps({"Name": "far", "Metadata": {}, "Endpoints": {"docker": where}})
    )
    (only,) = endpoints()
    assert (only.url, only.origin) == (f"unix://{tmp_path}/far.sock", "docker context far")
    monkeypatch.setenv("DOCKER_CONTEXT", "gone")
    assert code_of().code == "engine-unreachable"


def test_without_a_name_the_usual_sockets_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1234")
    urls = [e.url for e in endpoints()]
    assert urls[0] == "unix:///var/run/docker.sock"
    assert "unix:///run/user/1234/podman/podman.sock" in urls


def test_no_right_to_the_socket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        # Root may open everything, so the kernel's answer for others is put in its place.
        monkeypatch.setattr(os, "access", lambda *_: False)
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        error = code_of()
    assert error.code == "engine-permission"
    assert "permission denied" in error.found[0]


def test_the_group_command_is_literal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repro.engine.connect._group_of", lambda _path: "docker")
    (endpoint, *_rest) = endpoints()
    error = _explain([Refusal(endpoint, "permission", "permission denied")])
    assert error.tries[0].startswith("sudo usermod -aG docker ")


class _Ancient(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"Version": "1.9", "ApiVersion": "1.12"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "socket"

    def log_message(self, *_args: object) -> None:
        return


# The SDK's client fails while it is made, and nobody can close what it opened.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_an_engine_of_long_ago(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = f"{tmp_path}/old.sock"
    with ThreadingUnixStreamServer(path, _Ancient) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        error = code_of()
        server.shutdown()
        gc.collect()
    assert error.code == "engine-too-old"
