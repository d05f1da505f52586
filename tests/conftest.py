"""What every test stands on: which surroundings it needs, and that it cannot touch others."""

import importlib.util
import os
import shutil
import subprocess
import tempfile
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


_HAVE = {
    "docker": _docker_answers,
    "torch": lambda: importlib.util.find_spec("torch") is not None,
    "gpu": _card,
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what the machine lacks, with the reason, unless REPRO_REQUIRE says that it must be there."""
    used = {name for name in _HAVE if any(item.get_closest_marker(name) for item in items)}
    missing = {name for name in used if name not in _REQUIRED and not _HAVE[name]()}
    for item in items:
        for name in missing:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=f"this machine has no {name}"))


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
