"""A real index over HTTP: logins stay secret, downloads go on where they stopped, causes are told apart."""

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from repro.errors import ReproError
from repro.events import Event, Note
from repro.lock.index import Offer
from repro.lock.pipconf import PipConfig, read_pip_config
from repro.lock.requests import Source
from repro.lock.store import Store, fetch_all
from repro.lock.web import Web

PASSWORD = "correct-horse-battery"  # noqa: S105
PLAIN = PipConfig({}, {})


class Server:
    """Serves a folder; may ask for a login, and may cut the first answer of a file in the middle."""

    def __init__(self, folder: Path, login: str = "") -> None:
        self.asked: list[tuple[str, str]] = []
        self.cut: set[str] = set()
        outer = self
        expected = "Basic " + base64.b64encode(login.encode()).decode()

        class Handler(SimpleHTTPRequestHandler):
            def __init__(self, *args: Any, **more: Any) -> None:
                super().__init__(*args, directory=str(folder), **more)

            def log_message(self, *_: object) -> None:
                return

            def do_GET(self) -> None:
                outer.asked.append((self.path, self.headers.get("Range", "")))
                if login and self.headers.get("Authorization", "") != expected:
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", "Basic")
                    self.end_headers()
                elif self.path.endswith(".whl"):
                    outer.send_part(self, folder)
                else:
                    super().do_GET()

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def send_part(self, request: Any, folder: Path) -> None:
        data = (folder / request.path.lstrip("/").replace("%2B", "+")).read_bytes()
        start = int(request.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0])
        body = data[start:]
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.path in self.cut:
            self.cut.discard(request.path)
            body = body[: len(body) // 2]
        request.wfile.write(body)

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Server]]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    open_servers: list[Server] = []

    def start(folder: Path, login: str = "") -> Server:
        open_servers.append(Server(folder, login))
        return open_servers[-1]

    yield start
    for server in open_servers:
        server.close()


def offer(server: Server, path: Path, sha256: str = "") -> Offer:
    url = f"http://127.0.0.1:{server.port}/files/{path.name}"
    return Offer(path.name, url, Source(kind="index", url=url), sha256, bytes=path.stat().st_size)


def test_a_cut_download_goes_on(served: Callable[..., Server], index: Any, tmp_path: Path) -> None:
    path = index.add("alpha", "1.0", body="# " + "x" * 50_000 + "\n")
    server = served(index.root)
    server.cut.add(f"/files/{path.name}")
    store, wanted = Store(tmp_path / "cache"), offer(server, path)
    with pytest.raises(ReproError) as caught:
        store.fetch(wanted, Web(PLAIN), lambda _: None)
    assert caught.value.code == "lock-download-cut"
    assert caught.value.exit_status == 3
    held = store.fetch(wanted, Web(PLAIN), lambda _: None)
    assert held.path.read_bytes() == path.read_bytes()
    assert server.asked[-1][1] == f"bytes={path.stat().st_size // 2}-"
    assert list((tmp_path / "cache" / "partial").iterdir()) == []


def test_a_wrong_file_is_thrown_away(served: Callable[..., Server], index: Any, tmp_path: Path) -> None:
    path = index.add("alpha", "1.0")
    store = Store(tmp_path / "cache")
    with pytest.raises(ReproError) as caught:
        store.fetch(offer(served(index.root), path, "0" * 64), Web(PLAIN), lambda _: None)
    assert caught.value.code == "lock-hash-mismatch"
    assert not list((tmp_path / "cache").rglob("*.whl"))
    assert not list((tmp_path / "cache").rglob("*.part"))


def test_the_size_is_said_before_the_download(
    served: Callable[..., Server], index: Any, tmp_path: Path
) -> None:
    path = index.add("alpha", "1.0")
    seen: list[Event] = []
    fetch_all([offer(served(index.root), path)], Store(tmp_path / "cache"), Web(PLAIN), seen.append)
    assert isinstance(seen[0], Note)
    assert "1 files to download" in seen[0].text
    assert "127.0.0.1" in seen[0].text


@pytest.mark.net
def test_a_login_works_and_is_written_nowhere(
    served: Callable[..., Server],
    index: Any,
    make: Callable[..., Any],
    lock_of: Callable[..., Any],
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index.add("alpha", "1.0", requires=("beta",))
    index.add("beta", "1.0")
    server = served(index.root, f"bot:{PASSWORD}")
    monkeypatch.setenv("INDEX_LOGIN", f"bot:{PASSWORD}")
    text = f"--index-url http://${{INDEX_LOGIN}}@127.0.0.1:{server.port}/simple\nalpha\n"
    seen: list[Event] = []
    resolved = lock_of(make({"requirements.in": text}), sink=seen.append)
    assert {w.name for w in resolved.lock.wheels} == {"alpha", "beta"}
    assert all(w.origin.startswith(f"http://127.0.0.1:{server.port}/files/") for w in resolved.lock.wheels)
    assert PASSWORD not in repr(seen)
    written = [
        p for folder in (tmp_path / "out", cache / "locks", cache / "scratch") for p in folder.rglob("*")
    ]
    assert [p for p in written if p.is_file()]
    assert not [p for p in written if p.is_file() and PASSWORD.encode() in p.read_bytes()]


def test_a_refused_login_says_so(served: Callable[..., Server], index: Any) -> None:
    server = served(index.root, "bot:right")
    with pytest.raises(ReproError) as caught:
        Web(PLAIN).open(f"http://bot:{PASSWORD}@127.0.0.1:{server.port}/simple/alpha/")
    assert caught.value.code == "lock-index-login"
    assert PASSWORD not in json.dumps(caught.value.document())


def test_a_host_where_nothing_listens(served: Callable[..., Server], index: Any) -> None:
    server = served(index.root)
    server.close()
    with pytest.raises(ReproError) as caught:
        Web(PLAIN).open(f"http://127.0.0.1:{server.port}/simple/alpha/")
    assert caught.value.code == "lock-index-unreachable"
    assert caught.value.exit_status == 3


def test_a_proxy_that_refuses(served: Callable[..., Server], tmp_path: Path, monkeypatch: Any) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name)
    server = served(tmp_path)
    config = PipConfig({"proxy": f"http://me:{PASSWORD}@127.0.0.1:{server.port}"}, {})
    with pytest.raises(ReproError) as caught:
        Web(config).open("https://packages.example.invalid/simple/alpha/")
    assert caught.value.code == "lock-index-proxy"
    assert PASSWORD not in json.dumps(caught.value.document())


def test_the_pip_configuration_is_merged_as_pip_does(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".config" / "pip").mkdir(parents=True)
    (home / ".config" / "pip" / "pip.conf").write_text(
        "[global]\nindex-url = https://one.example.invalid/simple\nfind-links =\n  /a\n  /b\n"
        "[install]\npre = true\n"
    )
    env = {
        "HOME": str(home),
        "XDG_CONFIG_DIRS": str(tmp_path),
        "PIP_INDEX_URL": "https://two.example.invalid/simple",
    }
    got = read_pip_config(env)
    assert got.values["index-url"] == "https://two.example.invalid/simple"
    assert got.many("find-links") == ["/a", "/b"]
    assert got.values["pre"] == "true"
    assert read_pip_config({**env, "PIP_CONFIG_FILE": "/dev/null"}).many("find-links") == []


def test_a_login_in_the_configuration_is_no_part_of_its_digest() -> None:
    one = PipConfig({"index-url": "https://a:b@h.example.invalid/simple"}, {})
    two = PipConfig({"index-url": "https://c:d@h.example.invalid/simple"}, {})
    assert one.digest() == two.digest()
