"""A small package index on disk, projects that ask for things, and places to lock for."""

import hashlib
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from repro.engine.local import LocalEngine
from repro.events import Event, silent
from repro.lock import Place, read, resolve
from repro.lock.resolve import Resolved
from repro.model.project import Dependencies, Project, Settings

PYENV = Path.home() / ".pyenv" / "versions"


def wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    tag: str = "py3-none-any",
    requires: tuple[str, ...] = (),
    body: str = "",
) -> Path:
    """A real wheel with one module, the same bytes for the same arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(
        f"Requires-Dist: {r}\n" for r in requires
    )
    files = {
        f"{module}.py": body or f"VERSION = {version!r}\n",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{module}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name_inside, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(zipfile.ZipInfo(name_inside, (1980, 1, 1, 0, 0, 0)), text)
    return path


class Index:
    """A simple index in a folder, read over file://."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = (root / "simple").as_uri()
        (root / "simple").mkdir(parents=True)

    def add(
        self,
        name: str,
        version: str,
        *,
        python: str = "",
        sha256: str = "",
        tag: str = "py3-none-any",
        requires: tuple[str, ...] = (),
        body: str = "",
    ) -> Path:
        """Offer one wheel; `sha256` says a wrong digest on the page."""
        path = wheel(self.root / "files", name, version, tag=tag, requires=requires, body=body)
        digest = sha256 or hashlib.sha256(path.read_bytes()).hexdigest()
        page = self.root / "simple" / name / "index.html"
        page.parent.mkdir(exist_ok=True)
        extra = (
            f' data-requires-python="{python.replace(">", "&gt;").replace("<", "&lt;")}"' if python else ""
        )
        link = (
            f'<a href="../../files/{path.name.replace("+", "%2B")}#sha256={digest}"{extra}>{path.name}</a>\n'
        )
        page.write_text((page.read_text() if page.exists() else "") + link)
        return path


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path / "index")


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Project]:
    """A project from file contents."""

    def build(files: dict[str, str], **dependencies: object) -> Project:
        root = tmp_path / "project"
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return Project(
            root=str(root), file="", settings=Settings(dependencies=Dependencies(**dependencies)), origins={}
        )

    return build


@pytest.fixture
def cache() -> Path:
    """The cache of the whole test run: tools are fetched once."""
    return Path(os.environ["REPRO_CACHE"])


def interpreter(minor: str) -> Path:
    """An interpreter of that version on this machine."""
    found = sorted(PYENV.glob(f"{minor}.*/bin/python"))
    if not found:
        missing = pytest.fail if "pythons" in os.environ.get("REPRO_REQUIRE", "") else pytest.skip
        missing(f"no Python {minor} on this machine")
    return found[-1]


def place_here(minor: str = "3.11") -> Place:
    """This machine's interpreter of that version as a target."""
    return Place(LocalEngine(interpreter(minor)), "", minor)


@pytest.fixture
def here() -> Callable[..., Place]:
    return place_here


@pytest.fixture
def wheel_file() -> Callable[..., Path]:
    return wheel


@pytest.fixture
def lock_of(tmp_path: Path, cache: Path) -> Callable[..., Resolved]:
    """Read and resolve a project here; the lock lies in `tmp_path / "out"`."""

    def go(
        project: Project, place: Place | None = None, sink: Callable[[Event], None] = silent, **more: bool
    ) -> Resolved:
        return resolve(project, read(project), place or place_here(), tmp_path / "out", cache, sink, **more)

    return go
