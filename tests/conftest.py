"""What every test stands on: which surroundings it needs, and that it cannot touch others."""

import contextlib
import fcntl
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_REQUIRED = {word for word in os.environ.get("REPRO_REQUIRE", "").split(",") if word}


def _docker_answers() -> bool:
    program = shutil.which("docker")
    return (
        program is not None
        and subprocess.run([program, "version"], capture_output=True, check=False).returncode == 0
    )


def _card() -> bool:
    program = shutil.which("nvidia-smi")
    return (
        program is not None
        and subprocess.run([program, "-L"], capture_output=True, check=False).returncode == 0
    )


def _browser() -> bool:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return any(shutil.which(name) for name in names)


_HAVE = {
    "docker": _docker_answers,
    "torch": lambda: importlib.util.find_spec("torch") is not None,
    "gpu": _card,
    "frameworks": lambda: all(map(importlib.util.find_spec, ("lightning", "transformers", "accelerate"))),
    "versions": lambda: False,  # five gigabytes of images: only where REPRO_REQUIRE names it
    "browser": _browser,
    "registry": lambda: shutil.which("docker-registry") is not None,
    "ssh": lambda: shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin") is not None,
}


def pytest_configure() -> None:
    """Hear the signals that tests send: a run in the background, or under nohup, inherits deaf ears."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


# Rooms whose tests take minutes, longest first.
_LONG = ("flow", "versions", "move", "compare", "frameworks", "image", "engine", "runtime", "registry")


def _room(item: pytest.Item) -> str:
    return item.path.relative_to(ROOT / "tests").parts[0]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long ones first; and skip what the machine lacks, with the reason, unless REPRO_REQUIRE names it."""
    # Minutes before milliseconds: of two workers, none is left alone with the longest file at the end.
    items.sort(key=lambda item: _LONG.index(part) if (part := _room(item)) in _LONG else len(_LONG))
    used = {name for name in _HAVE if any(item.get_closest_marker(name) for item in items)}
    missing = {name for name in used if name not in _REQUIRED and not _HAVE[name]()}
    for item in items:
        for name in missing:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=f"this machine has no {name}"))


def _images_held() -> set[str]:
    """Names of the bundles' images that the engine holds."""
    argv = ["docker", "images", "--filter", "label=dev.reprobundle", "--format", "{{.Repository}}:{{.Tag}}"]
    return set(subprocess.run(argv, capture_output=True, text=True, check=False).stdout.split())


def _images_built(folder: Path) -> set[str]:
    """Names of the images of all bundles below a folder."""
    found = set()
    for path in folder.rglob("image.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # some tests damage theirs
            found.add(json.loads(path.read_text())["tag"])
    return found


@pytest.fixture(scope="session", autouse=True)
def _images_go(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Take away the images of the bundles that tests built, and none besides.

    The same test in another session, or process of this one, makes an image of the same name. So all hold a
    lock together while they run, note what they built, and the one that is left alone takes it away.
    """
    wanted = any(item.get_closest_marker("docker") for item in request.session.items)
    if not wanted or shutil.which("docker") is None:
        yield
        return
    with (Path(tempfile.gettempdir()) / "repro-test-images").open("a+") as notes:
        fcntl.flock(notes, fcntl.LOCK_SH)
        before = _images_held()
        yield
        made = _images_built(tmp_path_factory.getbasetemp()) - before
        notes.write("".join(f"{name}\n" for name in sorted(made)))
        notes.flush()
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(notes, fcntl.LOCK_EX | fcntl.LOCK_NB)
            notes.seek(0)
            if names := sorted(set(notes.read().split()) & _images_held()):
                subprocess.run(["docker", "image", "rm", "--force", *names], capture_output=True, check=False)
            notes.truncate(0)


@pytest.fixture(autouse=True)
def _fenced(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A cache of its own for each test run, and no engine for a test that does not ask for one."""
    cache = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("REPRO_CACHE", str(cache))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("REPRO_ENGINE", raising=False)
    if request.node.get_closest_marker("docker") is None:
        monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/engine-is-fenced-off.sock")


@pytest.fixture(scope="session")
def base_image() -> str:
    """A base image with Python 3.11, made once per machine from Debian packages."""
    from repro import image
    from repro.engine.docker import DockerEngine
    from repro.events import silent
    from repro.files import alone

    engine = DockerEngine()
    with alone(Path(tempfile.gettempdir()) / "repro-test-base"):  # of several test processes one makes it
        if engine.find("repro-base:3.11") is None:
            image.create_base(engine, "3.11", silent)
    engine.client.close()
    return "repro-base:3.11"
