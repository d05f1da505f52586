"""Wheels of what no index offers as a wheel: folders of the project, repositories, source archives.

Built in the target's interpreter. What the build needs is fetched first; the build itself has no network.
"""

import os
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from repro import redact
from repro.errors import ReproError
from repro.events import Sink, step
from repro.files import sha256_file
from repro.lock.index import project_of, version_of
from repro.lock.pipconf import PipConfig
from repro.lock.place import Tools
from repro.lock.requests import Finding, Requirement, Source
from repro.lock.sources import expanded
from repro.lock.spelling import is_vcs, revision_of
from repro.lock.store import Held, Store
from repro.lock.target import Answer, Room, private
from repro.model.canonical import encode

_LEFT_BEHIND = shutil.ignore_patterns(
    ".git", "__pycache__", "*.egg-info", "build", "dist", ".venv", "venv", "*.so"
)
_COMPILED = (".c", ".cc", ".cpp", ".cu", ".pyx", ".f90", ".rs")
_GIT_SECONDS = 600


@dataclass(frozen=True)
class Built:
    """A wheel made here. `origin` says of what; `source` an archive that it was made of, with its digest."""

    file: str
    held: Held
    origin: str
    findings: tuple[Finding, ...] = ()
    source: tuple[str, str] = ("", "")

    @property
    def name(self) -> str:
        """Normalised project name."""
        return project_of(self.file)

    @property
    def version(self) -> str:
        """Version with its local part."""
        return version_of(self.file)


@dataclass(frozen=True)
class Workshop:
    """Where and with what things are built."""

    room: Room
    store: Store
    tools: Tools
    network: tuple[PipConfig, list[Source]]
    sink: Sink

    def of_folder(self, folder: Path, origin: str, what: Requirement) -> Built:
        """A wheel of a package folder.

        Raises:
            lock-needs-build: it cannot be built; the build's last lines are shown.
        """
        source = self._fresh() / "source"
        shutil.copytree(folder, source, ignore=_LEFT_BEHIND, symlinks=True)
        return self._build(source, origin, what)

    def of_archive(self, archive: Path, file: str, origin: str, what: Requirement) -> Built:
        """A wheel of a source archive; see `of_folder`."""
        source = self._fresh() / "source"
        source.mkdir()
        shutil.copyfile(archive, source / file)
        built = self._build(source, origin, what)
        return replace(built, source=(file, sha256_file(archive)))

    def of_repository(self, requirement: Requirement) -> Built:
        """A wheel of a git repository at the commit that the address means today.

        Raises:
            lock-vcs-unreachable, lock-vcs-unsupported, lock-needs-build.
        """
        address, revision, subfolder = revision_of(expanded(requirement.url))
        clone = self._fresh() / "clone"
        commit = _clone(address, revision, clone, requirement)
        origin = f"{redact.text(address)}@{commit}" + (f"#subdirectory={subfolder}" if subfolder else "")
        kept = self.room.work / "repository"
        shutil.rmtree(kept, ignore_errors=True)
        clone.rename(kept)
        return self.of_folder(kept / subfolder, origin, requirement)

    def _fresh(self) -> Path:
        for name in ("source", "needs", "made", "clone"):
            shutil.rmtree(self.room.work / name, ignore_errors=True)
        (self.room.work / "needs").mkdir()
        return self.room.work

    def _build(self, source: Path, origin: str, what: Requirement) -> Built:
        with step(self.sink, f"build a wheel of {origin}"):
            needs = build_requires(source)
            private(
                self.room.work / "job.json",
                encode({"build_requires": needs, "pip_tools": self.tools.pip_tools}),
            )
            answer = self.room.run("build-fetch", self.sink, network=self.network)
            if not answer.failed:
                answer = self.room.run("build-wheel", self.sink)
            made = sorted((self.room.work / "made").glob("*.whl"))
            if answer.failed or len(made) != 1:
                raise _failed(answer, origin, what)
            held = self.store.keep(made[0], made[0].name)
            kept = self.room.work / "built" / made[0].name
            kept.parent.mkdir(exist_ok=True)
            shutil.copyfile(made[0], kept)
        return Built(made[0].name, held, origin, _pure_by_accident(source, made[0].name, answer, what))


def _clone(address: str, revision: str, target: Path, requirement: Requirement) -> str:
    if not is_vcs(address) or not address.startswith(("git+", "git:")):
        raise ReproError(
            "lock-vcs-unsupported",
            f"only git repositories can be packed, {requirement.place} names another kind",
            found=redact.text(address),
            done="nothing was downloaded",
            tries=["name a released version, or put the code into the project"],
        )
    url = address.removeprefix("git+")
    _git(["clone", "--quiet", "--", url, str(target)], requirement, address)
    if revision:
        _git(["-C", str(target), "checkout", "--quiet", "--detach", revision], requirement, address)
    _git(["-C", str(target), "submodule", "--quiet", "update", "--init", "--recursive"], requirement, address)
    return _git(["-C", str(target), "rev-parse", "HEAD"], requirement, address).strip()


def _git(argv: list[str], requirement: Requirement, address: str) -> str:
    env = os.environ | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *argv], env=env, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False
        )
        trouble = done.stderr if done.returncode else ""
    except FileNotFoundError:
        trouble = "git is not installed on this machine"
    except subprocess.TimeoutExpired:
        trouble = f"no answer in {_GIT_SECONDS} s"
    else:
        if not done.returncode:
            return done.stdout
    raise ReproError(
        "lock-vcs-unreachable",
        f"the repository at {requirement.place} cannot be fetched, and the lock needs its code",
        found=[redact.text(address), *redact.text(trouble).strip().splitlines()[-2:]],
        needs="a host that answers and a revision that exists",
        done="nothing was locked; no other version was taken in its place",
        tries=[f"git ls-remote {redact.text(address.removeprefix('git+'))}"],
    )


def build_requires(source: Path) -> list[str]:
    """What must be there to build a folder or archive: its own list, with setuptools and wheel added.

    Build backends ask for `wheel` only while they run; offline it must lie there already.
    """
    document = _pyproject(source)
    declared = document.get("build-system", {}).get("requires", [])
    return list(dict.fromkeys([*declared, "setuptools", "wheel"]))


def _pyproject(source: Path) -> dict[str, Any]:
    files = [p for p in source.iterdir() if p.is_file()]
    text = ""
    if (source / "pyproject.toml").is_file():
        text = (source / "pyproject.toml").read_text("utf-8")
    elif len(files) == 1 and zipfile.is_zipfile(files[0]):
        with zipfile.ZipFile(files[0]) as archive:
            names = [n for n in archive.namelist() if n.count("/") == 1 and n.endswith("/pyproject.toml")]
            text = archive.read(names[0]).decode() if names else ""
    elif len(files) == 1 and tarfile.is_tarfile(files[0]):
        with tarfile.open(files[0]) as packed:
            member = next(
                (m for m in packed if m.name.count("/") == 1 and m.name.endswith("/pyproject.toml")), None
            )
            stream = packed.extractfile(member) if member else None
            text = stream.read().decode() if stream else ""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _failed(answer: Answer, origin: str, what: Requirement) -> ReproError:
    needs_torch = "No module named 'torch'" in answer.output
    why = "its build imports torch, which is not there while wheels are built" if needs_torch else ""
    return ReproError(
        "lock-needs-build",
        f"no wheel of `{origin}` could be built in the target",
        found=[f"asked at {what.place}" if what.file else "asked by another package", *answer.tail(8)],
        needs="a wheel, or a base image with the compiler and headers that the build needs",
        why=why,
        done="nothing was locked; the build had no network",
        tries=[
            "choose a version that has a wheel for this Python",
            "build the wheel once elsewhere and name its folder in `dependencies.find_links`",
        ],
    )


def _pure_by_accident(source: Path, file: str, answer: Answer, what: Requirement) -> tuple[Finding, ...]:
    """Some builds leave their compiled part out without a word when no compiler is there."""
    if not file.endswith("-none-any.whl") or answer.words.get("compiler"):
        return ()
    names = [p.name for p in source.rglob("*") if p.is_file()]
    if len(names) == 1 and tarfile.is_tarfile(source / names[0]):
        with tarfile.open(source / names[0]) as packed:
            names = packed.getnames()
    if not any(n.endswith(_COMPILED) for n in names):
        return ()
    text = f"`{file}` was built without its compiled part: the target has no compiler; it works, but slower"
    lines = (what.line,) if what.line else ()
    return (Finding(code="built-pure", file=what.file or file, lines=lines, text=text),)
