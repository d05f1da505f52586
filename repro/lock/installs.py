"""Install commands in readmes, Dockerfiles, scripts, notebooks, and unusual dependency files: hints only."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from repro.lock.condaspec import parse
from repro.lock.pipfile import Gathered
from repro.lock.single import BadLine
from repro.lock.table import known
from repro.lock.text import logical_lines, read_text

_COMMAND = re.compile(
    r"\b(?P<tool>pip3?|conda|mamba|micromamba|uv pip)\s+install\s+"
    r"(?P<words>[^;&|`\"<>]*(?:[<>]=?[^;&|`\"<>]*)*)"
)
_VALUED = {
    "-c", "--channel", "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-r", "--requirement",
    "-n", "--name", "--trusted-host", "-p", "--prefix", "-t", "--target",
}  # fmt: skip
_NAMED = re.compile(
    r"^[A-Za-z][\w.-]*(?:\[[\w,-]+\])?(?:\s*[=<>!~]=?\s*[\w.*+!-]+(?:,[=<>!~]=?[\w.*+!-]+)*)?$"
)
_MANIFESTS = (
    "*requirement*.txt", "reqs*.txt", "req*/*.txt", "requirement*/*.txt", "*env*.y*ml", "conda*.y*ml",
    "env*/*.y*ml", "conda*.lock", "conda*.txt",
)  # fmt: skip
UNREAD = (
    "pixi.toml",
    "pixi.lock",
    "conda-lock.yml",
    "flake.nix",
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Pipfile.lock",
)
_ASIDE = re.compile(r"(?:^|[-_./])(?:dev|test|tests|docs?|lint|build|ci|optional)(?:[-_./]|$)")


def read_commands(got: Gathered) -> list[str]:
    """Requirements that install commands name, each noted with its place; in the order found, once each."""
    found: dict[str, None] = {}
    for path in _files(got.root):
        file = path.relative_to(got.root).as_posix()
        for number, line in _lines(path):
            for match in _COMMAND.finditer(line):
                names = list(_requirements(match["tool"], match["words"]))
                if names:
                    got.find(
                        "install-hint",
                        file,
                        f"installs {', '.join(names)}",
                        number,
                        remedy="a hint, not a pin",
                    )
                    found |= dict.fromkeys(names)
    return list(found)


def _files(root: Path) -> Iterator[Path]:
    patterns = (
        "README*",
        "readme*",
        "INSTALL*",
        "Dockerfile*",
        "*.dockerfile",
        "docker/Dockerfile*",
        "*.sh",
        "*.ipynb",
        "Makefile",
    )
    seen = dict.fromkeys(p for pattern in patterns for p in sorted(root.glob(pattern)) if p.is_file())
    yield from (p for p in seen if p.stat().st_size < 4_000_000)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    text = read_text(path)
    if path.suffix != ".ipynb":
        yield from ((line.number, line.text) for line in logical_lines(text.replace("\n#", "\n #")))
        return
    for number, line in enumerate(text.split("\n"), 1):
        for piece in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
            try:
                yield number, str(json.loads(f'"{piece}"'))
            except ValueError:
                continue


def _requirements(tool: str, words: str) -> Iterator[str]:
    try:
        parts = shlex.split(words.replace("\\", " "), comments=True)
    except ValueError:
        parts = words.split()
    while parts:
        word = parts.pop(0)
        if word in _VALUED:
            parts[:1] = []
        elif not word.startswith(("-", ".", "/", "$")) and _NAMED.match(word):
            yield from _one(tool, word)


def _one(tool: str, word: str) -> Iterator[str]:
    if tool in ("pip", "pip3", "uv pip"):
        yield word
        return
    try:
        spec = parse(word)
    except BadLine:
        return
    if spec.name not in (
        "python",
        "pip",
        "cudatoolkit",
        "pytorch-cuda",
        "cpuonly",
    ) and spec.name not in known("conda_only"):
        yield known("conda_python").get(spec.name, spec.name) + spec.spec


def other_manifests(root: Path) -> list[str]:
    """Files that may list dependencies under an unusual name, those for development alone left out."""
    found = dict.fromkeys(
        p.relative_to(root).as_posix() for pattern in _MANIFESTS for p in sorted(root.glob(pattern))
    )
    return [name for name in found if not _ASIDE.search(name)]
