"""Real git repositories to take snapshots of, made in an environment of their own."""

import io
import os
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from repro import snapshot
from repro.model.project import Code, Eval, Params, Project, Settings
from repro.model.snapshot import Snapshot

CLEAN = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_DATE": "2024-01-02T03:04:05Z",
    "GIT_COMMITTER_DATE": "2024-01-02T03:04:05Z",
}
IDENTITY = (
    "-c",
    "user.name=Tester",
    "-c",
    "user.email=tester@example.invalid",
    "-c",
    "init.defaultBranch=main",
)


@pytest.fixture(autouse=True)
def own_git_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CLEAN.items():
        monkeypatch.setenv(name, value)


@dataclass
class Repo:
    """A repository in a temporary folder, with shorthands for what tests do to it."""

    path: Path
    home: Path

    def git(self, *args: str, cwd: Path | None = None) -> str:
        words = ["git", *IDENTITY, "-c", "protocol.file.allow=always", *args]
        done = subprocess.run(
            words, cwd=cwd or self.path, env={**os.environ, **CLEAN}, capture_output=True, check=True
        )
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, name: str, content: str | bytes, mode: int = 0o644) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        return path

    def commit(self, message: str = "change") -> str:
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def project(self, folder: str = "", params: str = "", eval_path: str = "", **limits: float) -> Project:
        settings = Settings(
            name="case",
            code=Code(command=["python", "train.py", "{params}"]),
            params=Params(file=params),
            eval=Eval(path=eval_path, **limits),
        )
        return Project(root=str(self.path / folder), file="", settings=settings, origins={})

    def out(self) -> Path:
        folder = self.home / f"out{len(list(self.home.iterdir()))}"
        folder.mkdir()
        return folder

    def take(self, folder: str = "", eval_path: str = "", **options: object) -> "Taken":
        into = self.out()
        return Taken(snapshot.take_code(self.project(folder, eval_path=eval_path), into, **options), into)


@dataclass
class Taken:
    """A snapshot with the folder that it was written to."""

    record: Snapshot
    into: Path

    @property
    def codes(self) -> set[str]:
        return {w.code for w in self.record.warnings}

    def texts(self, code: str) -> str:
        return "\n".join(w.text for w in self.record.warnings if w.code == code)

    def members(self) -> dict[str, tarfile.TarInfo]:
        with tarfile.open(self.into / "code.tar", errors="surrogateescape") as tar:
            return {m.name.removeprefix("code/"): m for m in tar if not m.isdir()}

    def read(self, name: str) -> bytes:
        with tarfile.open(self.into / "code.tar") as tar:
            found = tar.extractfile(f"code/{name}")
            assert found is not None
            return found.read()

    def tar_bytes(self) -> bytes:
        return (self.into / "code.tar").read_bytes()

    def unpacked(self, folder: Path) -> Path:
        with tarfile.open(fileobj=io.BytesIO(self.tar_bytes()), errors="surrogateescape") as tar:
            tar.extractall(folder, filter="tar")
        return folder / "code"


def build(path: Path, home: Path) -> Repo:
    path.mkdir(parents=True, exist_ok=True)
    home.mkdir(parents=True, exist_ok=True)
    repo = Repo(path, home)
    repo.git("init", "-q")
    repo.write("train.py", "print('hello')\n")
    repo.write("params.json", '{"lr": 0.1}\n')
    repo.commit("first")
    return repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return build(tmp_path / "repo", tmp_path / "outs")


@pytest.fixture
def new_repo(tmp_path: Path) -> Callable[[str], Repo]:
    return lambda name: build(tmp_path / name, tmp_path / f"{name}-outs")
