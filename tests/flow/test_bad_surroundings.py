"""Surroundings as bad as real ones: each ends with one message, the right status, and nothing half-made."""

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import ROOT, Said, commit, run_repro

pytestmark = [pytest.mark.docker, pytest.mark.net]
Repro = Callable[..., Said]
Answering = Callable[[bytes], int]
PASSWORD = "S3cr3tPw99"  # noqa: S105


def copy_of(project: Path, target: Path) -> Path:
    shutil.copytree(project, target, ignore=shutil.ignore_patterns(".repro"))
    return target


def error_of(said: Said) -> dict[str, object]:
    """The error of a `--json` answer, which holds nothing else."""
    assert "Traceback" not in said.err, said.err
    document = said.json
    assert set(document) >= {"schema", "command", "error"}
    error: dict[str, object] = document["error"]
    assert error["code"] != "bug", error
    assert error["message"]
    assert error["try"]
    return error


@pytest.fixture(scope="session")
def project(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of(tiny, tmp_path_factory.mktemp("bad") / "tiny")


@pytest.fixture(scope="session")
def bundle(project: Path, repro: Repro, base_image: str) -> Path:
    said = repro(project, "build", "--json", "--base", base_image)
    assert said.status == 0, said.out + said.err
    return Path(said.json["bundle"]["path"])


@pytest.fixture
def answering() -> Iterator[Answering]:
    """Starts a server that answers everything with the same bytes; gives its port."""
    servers = []

    def start(answer: bytes) -> int:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.recv(4096)
                    client.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        port: int = server.getsockname()[1]
        return port

    yield start
    for server in servers:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def http(body: bytes, kind: str = "text/html") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (
        kind.encode(),
        len(body),
        body,
    )


# Engines


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("unix://{folder}/none.sock", "no socket"),
        ("unix://{folder}/dead.sock", "Connection refused"),
        ("unix:///etc/passwd", "is not a socket"),
        ("nonsense", "Invalid bind address"),
        ("tcp://127.0.0.1:99999", "Port out of range"),
        ("tcp://127.0.0.1:{html}", "Expecting value"),
        ("tcp://127.0.0.1:{rubbish}", "Connection aborted"),
        (f"http://user:{PASSWORD}@127.0.0.1:1", "Invalid bind address"),
    ],
)
def test_an_engine_that_does_not_answer(
    project: Path, bundle: Path, tmp_path: Path, answering: Answering, host: str, found: str
) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "dead.sock"))
    ports = {"html": answering(http(b"<html></html>")), "rubbish": answering(b"SSH-2.0 what\r\n")}
    env = {"DOCKER_HOST": host.format(folder=tmp_path, **ports)}
    said = run_repro(project, "run", str(bundle), "--json", env=env)
    error = error_of(said)
    assert (said.status, error["code"]) == (3, "engine-unreachable")
    assert found in str(error["found"])
    assert any("--engine inplace" in remedy for remedy in error["try"])  # type: ignore[attr-defined]
    seen = run_repro(project, "doctor", env=env)
    assert seen.status == 3
    assert found in seen.out
    assert PASSWORD not in said.out + said.err + seen.out + seen.err


def test_an_engine_that_this_user_may_not_use(project: Path, tmp_path: Path, base_image: str) -> None:
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0)
        # Root may open any socket; a root without that capability is like anybody else.
        weaker = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.getuid() == 0 else []
        done = subprocess.run(
            [*weaker, sys.executable, "-m", "repro", "build", "--json", "--base", base_image],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(ROOT), "DOCKER_HOST": f"unix://{path}"},
            capture_output=True,
            text=True,
            check=False,
        )
    error = error_of(Said(done.returncode, done.stdout, done.stderr))
    assert (done.returncode, error["code"]) == (3, "engine-permission")
    assert f"permission denied for `{path}`" in error["found"]  # type: ignore[operator]


# Disks


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB, nearly full."""
    if os.getuid() != 0:
        pytest.skip("mounting a small disk needs root")
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], check=True)
    (folder / "fill").write_bytes(bytes(2_950_000))
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_build_on_a_full_disk_leaves_nothing_and_goes_on_later(
    project: Path, repro: Repro, base_image: str, small_disk: Path
) -> None:
    words = ("build", "--json", "--base", base_image, "-o", str(small_disk / "out"))
    said = repro(project, *words)
    assert (said.status, error_of(said)["code"]) == (3, "disk-full")
    assert list((small_disk / "out").iterdir()) == []
    (small_disk / "fill").unlink()
    assert repro(project, *words).status == 0


def test_a_run_on_a_full_disk_says_so(project: Path, repro: Repro, bundle: Path, small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "rest").write_bytes(bytes(1_000_000))
    said = repro(project, "run", str(bundle), "-o", str(small_disk / "runs"), "--json")
    assert (said.status, error_of(said)["code"]) == (3, "disk-full")
    assert list((small_disk / "runs").iterdir()) == []


def test_an_environment_that_does_not_fit_is_no_broken_platform(
    project: Path, bundle: Path, small_disk: Path
) -> None:
    env = {"REPRO_CACHE": str(small_disk / "cache")}
    said = run_repro(project, "run", str(bundle), "--engine", "inplace", "--json", env=env)
    assert (said.status, error_of(said)["code"]) == (3, "disk-full")
    assert not list(small_disk.glob("cache/envs/*/reprobundle-whole"))


def test_an_answer_that_does_not_fit_is_an_error(project: Path, bundle: Path) -> None:
    for words in ("show", "show --json", "show nosuch --json"):
        done = _shell(project, f"repro {words} > /dev/full")
        assert done.returncode in (2, 3), words
        assert "Traceback" not in done.stderr


# Base images


def test_a_base_that_is_nowhere(project: Path, repro: Repro) -> None:
    said = repro(project, "build", "--json", "--base", "127.0.0.1:1/nosuch:1")
    error = error_of(said)
    assert (said.status, error["code"]) == (3, "registry-unreachable")
    assert any("repro base create --python" in remedy for remedy in error["try"])  # type: ignore[attr-defined]


def test_a_base_that_is_no_name(project: Path, repro: Repro) -> None:
    said = repro(project, "build", "--json", "--base", "Bad Name!")
    assert error_of(said)["code"] == "base-not-found"
    assert "valid image name" in said.out


def test_a_base_with_another_python(project: Path, repro: Repro, base_image: str) -> None:
    said = repro(project, "build", "--json", "--base", base_image, "--python", "3.9")
    assert (said.status, error_of(said)["code"]) == (2, "base-wrong-python")


def test_a_base_is_not_made_for_an_engine_that_does_not_answer(project: Path) -> None:
    said = run_repro(
        project, "base", "create", "--python", "3.11", "--json", env={"DOCKER_HOST": "unix:///nonexistent"}
    )
    assert (said.status, error_of(said)["code"]) == (3, "engine-unreachable")


# Indexes


@pytest.fixture
def no_index(project: Path, tmp_path: Path) -> Callable[[dict[str, str]], Said]:
    """`repro lock` in place with a cache of its own, so that an index must be asked."""
    kept = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS")
    quiet = {"PIP_CONFIG_FILE": os.devnull, **dict.fromkeys(kept, "")}

    def lock(env: dict[str, str]) -> Said:
        words = ("lock", "--engine", "inplace", "--json", "-o", str(tmp_path / "lock"))
        return run_repro(project, *words, env=quiet | {"REPRO_CACHE": str(tmp_path / "cache")} | env)

    return lock


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("PIP_INDEX_URL", f"http://user:{PASSWORD}@127.0.0.1:1/simple", "lock-index-unreachable"),
        ("PIP_INDEX_URL", f"https://user:{PASSWORD}@nosuch.invalid/simple", "lock-index-dns"),
        ("PIP_INDEX_URL", f"http://user:{PASSWORD}@127.0.0.1:{{rubbish}}/simple", "lock-index-unreachable"),
        ("PIP_INDEX_URL", f"http://user:{PASSWORD}@127.0.0.1:{{html}}/simple", "lock-index-unreachable"),
        ("PIP_INDEX_URL", f"http://user:{PASSWORD}@127.0.0.1:{{json}}/simple", "lock-index-unreachable"),
        ("PIP_INDEX_URL", "http://[::1", "lock-index-unreachable"),
        ("https_proxy", f"http://user:{PASSWORD}@127.0.0.1:1", "lock-index-proxy"),
        ("https_proxy", f"http://user:{PASSWORD}@nosuch.invalid:3128", "lock-index-proxy"),
        ("PIP_CERT", "/etc/passwd", "lock-index-certificate"),
        ("PIP_CERT", "/nosuch/bundle.pem", "lock-index-certificate"),
    ],
)
def test_an_index_that_does_not_answer(
    no_index: Callable[[dict[str, str]], Said],
    tmp_path: Path,
    answering: Answering,
    name: str,
    value: str,
    code: str,
) -> None:
    ports = {
        "rubbish": answering(b"\x00\xff no http\r\n"),
        "html": answering(http(b"<html>a hotel's page</html>")),
        "json": answering(http(b'{"files": [1, {}]}', "application/vnd.pypi.simple.v1+json")),
    }
    said = no_index({name: value.format(**ports), "no_proxy": ""})
    assert (said.status, error_of(said)["code"]) == (3, code)
    assert PASSWORD not in said.out + said.err
    assert _files_with(PASSWORD, tmp_path) == []
    assert not (tmp_path / "lock").exists()


def test_a_password_of_an_index_stays_nowhere(
    project: Path, base_image: str, tmp_path: Path, answering: Answering
) -> None:
    port = answering(http(b"<html></html>"))
    env = {
        "REPRO_CACHE": str(tmp_path / "cache"),
        "PIP_EXTRA_INDEX_URL": f"http://user:{PASSWORD}@127.0.0.1:{port}/simple",
        "PIP_RETRIES": "0",  # inside the target that address is another machine's
    }
    words = ("build", "--json", "-v", "--base", base_image, "-o", str(tmp_path / "out"), "--set", "lr=0.125")
    said = run_repro(project, *words, env=env)
    assert said.status == 0, said.out + said.err
    assert PASSWORD not in said.out + said.err
    assert _files_with(PASSWORD, tmp_path) == []
    tag = said.json["image"]["tag"]
    for look in (["history", "--no-trunc", tag], ["inspect", tag]):
        shown = subprocess.run(["docker", *look], capture_output=True, text=True, check=True).stdout
        assert PASSWORD not in shown
    with subprocess.Popen(["docker", "save", tag], stdout=subprocess.PIPE) as saved:
        assert saved.stdout is not None
        tail = b""
        while piece := saved.stdout.read(1 << 20):
            assert PASSWORD.encode() not in tail + piece
            tail = piece[-len(PASSWORD) :]
    assert saved.returncode == 0


def _files_with(word: str, folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and word.encode() in p.read_bytes()]


# Folders, locales, streams


def test_a_path_with_all_that_shells_and_pip_dislike(
    tiny: Path, tmp_path: Path, repro: Repro, base_image: str
) -> None:
    odd = tmp_path / "od d" / 'it\'s "q" é$(x);&'
    odd.parent.mkdir()
    copy_of(tiny, odd)
    for words in (
        ("build", "--base", base_image),
        ("run", "--label", "Erste Übung v1.2"),
        ("run", "--engine", "inplace", "--label", "local"),
        ("show", "Erste Übung v1.2"),
        ("verify",),
    ):
        said = repro(odd, *words)
        assert said.status == 0, (words, said.err)


def test_a_project_that_cannot_be_written_builds_elsewhere(
    tiny: Path, tmp_path: Path, repro: Repro, base_image: str
) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    if os.getuid() != 0:
        pytest.skip("mounting a folder read-only needs root")
    subprocess.run(["mount", "--bind", str(tiny), str(folder)], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        said = repro(folder, "build", "--json", "--base", base_image, "--set", "lr=0.375")
        error = error_of(said)
        assert (said.status, error["code"]) == (3, "file-refused")
        assert "-o" in str(error["needed"])
        elsewhere = ("build", "--json", "--base", base_image, "-o", str(tmp_path / "out"))
        assert repro(folder, *elsewhere).status == 0
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_cache_that_cannot_be_made_is_named(project: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    for place in ("file/cache", "file", "link"):
        env = {"REPRO_CACHE": str(tmp_path / place)}
        said = run_repro(project, "lock", "--engine", "inplace", "--json", env=env)
        error = error_of(said)
        assert (said.status, error["code"]) == (3, "file-refused")
        assert "REPRO_CACHE" in str(error["try"])


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    for words in ("show --json", "build --json", "record --out /tmp/x -- true"):
        gone = tmp_path / "gone"
        gone.mkdir()
        done = _shell(gone, f"rmdir ../gone; repro {words}")
        assert done.returncode == 3, done.stderr
        assert "current folder is not there any more" in done.stdout + done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-", "2>&1 | head -c 0", "> /dev/full 2>&1"])
def test_a_run_outlives_its_terminal(project: Path, bundle: Path, closed: str, tmp_path: Path) -> None:
    _shell(project, f"repro run {shlex.quote(str(bundle))} -o {shlex.quote(str(tmp_path))} {closed}")
    assert list(tmp_path.glob("*/result.json")), "the program ran to its end"


def test_usage_errors_are_json_too(project: Path, repro: Repro, bundle: Path) -> None:
    for words in (
        ("run", "--json", "--shm-size", "nan"),
        ("run", "--json", "--shm-size", "-1"),
        ("run", "--json", "--nosuch"),
        ("compare", "--json", "one"),
        ("show", "--json", b"\xff".decode("utf-8", "surrogateescape")),
    ):
        said = repro(project, *words)
        assert said.status == 2, words
        assert error_of(said)["code"] in ("usage", "bundle-not-found"), words


def test_names_that_no_file_can_have(project: Path, repro: Repro, bundle: Path) -> None:
    for word in ("x" * 400, "a\x01b", "[", "\n"):
        said = repro(project, "show", word, "--json")
        assert said.status in (2, 3)
        assert error_of(said)["code"] in ("bundle-not-found", "file-refused")
    label = "X" * 400
    assert repro(project, "run", str(bundle), "--label", label, "-q").status == 0
    assert repro(project, "show", label).status == 0


def _shell(folder: Path, line: str) -> "subprocess.CompletedProcess[str]":
    repro = f"{shlex.quote(sys.executable)} -m repro"
    return subprocess.run(
        ["bash", "-c", line.replace("repro ", f"{repro} ", 1)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


# Programs


PROGRAM = """
import argparse, json, os, signal, sys
ap = argparse.ArgumentParser()
ap.add_argument('--params'); ap.add_argument('--out')
a = ap.parse_args()
mode = json.load(open(a.params))['mode']
if mode == 'signal': os.kill(os.getpid(), signal.SIGSEGV)
if mode == 'parent': os.kill(os.getppid(), signal.SIGKILL); signal.pause()
if mode == 'net': import urllib.request; urllib.request.urlopen('https://example.invalid/data.zip')
if mode == 'outside': open('/etc/x', 'w')
if mode == 'shm': open('/dev/shm/x', 'wb').write(bytes(1 << 26))
if mode == 'bytes':
    sys.stdout.buffer.write(b'\\xff\\xfe\\x00\\x1b[31m' + b'y' * 300000 + b'\\nno end \\xc3')
    sys.stdout.flush(); sys.exit(3)
if mode == 'much':
    for i in range(50): sys.stdout.write('x' * 999999 + '\\n')
if mode == 'names':
    open(os.fsencode(a.out) + b'/\\xff\\n', 'w').write('1'); os.symlink('.', a.out + '/loop')
    os.mkfifo(a.out + '/pipe'); os.mkdir(a.out + '/d'); os.chmod(a.out + '/d', 0)
if mode == 'odd metrics': open(a.out + '/metrics.json', 'w').write('{"a": NaN, "b": [1], "c": 1e999}')
"""


@pytest.fixture(scope="session")
def odd_program(tmp_path_factory: pytest.TempPathFactory, repro: Repro, base_image: str) -> Path:
    folder = tmp_path_factory.mktemp("odd") / "odd"
    folder.mkdir()
    (folder / "requirements.in").write_text("six==1.16.0\n")
    (folder / "params.json").write_text('{"mode": "none"}\n')
    (folder / "train.py").write_text(PROGRAM)
    commit(folder)
    said = repro(folder, "build", "--base", base_image)
    assert said.status == 0, said.err
    return folder


@pytest.mark.parametrize(
    ("mode", "message", "remedy"),
    [
        ("signal", "ended by SIGSEGV", "less"),
        ("parent", "cut off before its record was closed", "repro show"),
        ("net", "exit status 1", "repro run --network"),
        ("outside", "exit status 1", "{out}"),
        ("shm", "exit status 1", "--shm-size"),
        ("bytes", "exit status 3", "less"),
    ],
)
def test_a_program_that_fails_oddly(
    odd_program: Path, repro: Repro, mode: str, message: str, remedy: str
) -> None:
    said = repro(
        odd_program, "run", "--json", "-q", "--set", f"mode={mode}", "--label", mode, "--shm-size", "0.05"
    )
    error = error_of(said)
    assert (said.status, error["code"]) == (4, "run-program-failed")
    assert message in str(error["message"])
    assert remedy in str(error["try"])
    assert all(len(line) < 500 and "\x1b" not in line for line in error["found"])  # type: ignore[attr-defined]
    judged = repro(odd_program, "compare", mode, mode, "--json")
    assert (judged.status, judged.json["verdict"]) == (7, "incomplete")


@pytest.mark.parametrize("mode", ["none", "much", "names", "odd metrics"])
def test_a_program_that_succeeds_oddly(odd_program: Path, repro: Repro, mode: str) -> None:
    said = repro(odd_program, "run", "--json", "-q", "--set", f"mode={mode}", "--label", mode)
    assert said.status == 0, said.out
    path = Path(said.json["run"]["path"])
    if mode == "much":
        assert (path / "attempt-1" / "log.txt").stat().st_size > 49 * 10**6
    for words in (("show", mode), ("compare", mode, mode), ("compare", mode, mode, "--json")):
        assert repro(odd_program, *words).status in (0, 6), words
    shutil.rmtree(path, onerror=lambda _f, p, _e: None)


def test_nothing_is_left_of_a_run_that_did_not_start(odd_program: Path, repro: Repro) -> None:
    before = repro(odd_program, "show").out
    said = repro(odd_program, "run", "--json", "--mount", "data=/nosuch/folder")
    assert (said.status, error_of(said)["code"]) == (3, "bind-missing")
    assert repro(odd_program, "show").out == before


def test_two_builds_and_two_runs_at_once(
    tiny: Path, tmp_path: Path, base_image: str, shared_cache: dict[str, str], repro: Repro
) -> None:
    folder = copy_of(tiny, tmp_path / "tiny")
    env = {**os.environ, "REPRO_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}

    def both(*argvs: list[str]) -> list[dict[str, object]]:
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "repro", *argv], cwd=folder, env=env, stdout=-1, stderr=-1
            )
            for argv in argvs
        ]
        said = [process.communicate() for process in started]
        assert [p.returncode for p in started] == [0] * len(started), said
        return [json.loads(out) for out, _ in said]

    words = ["build", "--json", "--base", base_image, "--set", "lr=0.0625"]
    first, second = both(words, words)
    assert first["bundle"] == second["bundle"]
    assert sorted([first["cached"], second["cached"]]) == [False, True]  # type: ignore[type-var]
    in_place = ["run", "--engine", "inplace", "--json"]
    both(in_place, in_place, ["run", "--json"], words)
    assert repro(folder, "verify").status == 0
