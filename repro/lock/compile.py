"""Runs pip-compile in the target and reads its answer: exact versions, and who asked for each."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from repro.events import Sink
from repro.lock.failures import resolution_failed
from repro.lock.pipconf import PipConfig, default_index, local_folder
from repro.lock.place import Tools
from repro.lock.requests import Requests, Requirement, Source, normal
from repro.lock.sources import tool_sources
from repro.lock.target import Room, private
from repro.model.canonical import encode


@dataclass(frozen=True)
class Pin:
    """One line of the resolution. `file` is set for a wheel that was given by path; `via` names who asked."""

    name: str
    version: str
    file: str = ""
    via: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """What pip-compile is asked: requirement lines, constraint lines, sources."""

    lines: tuple[str, ...]
    constraints: tuple[str, ...]
    sources: tuple[Source, ...]
    pre: bool


def question(
    requests: Requests,
    config: PipConfig,
    sources: list[Source],
    files: dict[Requirement, str],
    pins: dict[str, str],
) -> Question:
    """The question for pip-compile. `files` are built wheels by requirement, `pins` extra exact versions."""
    lines = [_line(r, files.get(r, "")) for r in requests.requirements]
    constraints = [c.text for c in requests.constraints if c.name]
    constraints += [f"{name}=={version}" for name, version in sorted(pins.items())]
    for path in config.many("constraint"):
        if Path(path).is_file():
            constraints += Path(path).read_text("utf-8").splitlines()
    pre = requests.pre or config.values.get("pre", "").lower() in ("1", "true", "yes", "on")
    return Question(tuple(lines), tuple(constraints), tuple(sources), pre)


def _line(requirement: Requirement, file: str) -> str:
    if not file:
        return requirement.text
    extras = f"[{','.join(requirement.extras)}]" if requirement.extras else ""
    marker = f" ; {requirement.marker}" if requirement.marker else ""
    return f"{normal(file.split('-')[0])}{extras} @ file://@WORK@/built/{quote(file)}{marker}"


def _options(sources: tuple[Source, ...]) -> list[str]:
    words = {
        "index": "--index-url",
        "extra-index": "--extra-index-url",
        "alias": "--extra-index-url",
        "find-links": "--find-links",
    }
    if not any(s.kind == "index" for s in sources):
        return ["--no-index", *(f"{words[s.kind]} {_shown(s.url)}" for s in sources)]
    return [f"{words[s.kind]} {_shown(s.url)}" for s in sources if s.url != default_index()]


def _shown(url: str) -> str:
    path = local_folder(url)
    return str(path) if path is not None and "://" not in url else url


def run_pip_compile(
    room: Room, tools: Tools, asked: Question, requests: Requests, config: PipConfig, sink: Sink
) -> list[Pin]:
    """Exact versions for the question, sorted by name.

    Raises:
        lock-conflict, lock-no-version, lock-invalid-metadata, lock-needs-build, lock-index-*: see `failures`.
    """
    trusted = [f"--trusted-host {host}" for host in requests.trusted]
    head = [*_options(asked.sources), *trusted, "-c constraints.txt"]
    private(room.work / "requirements.in", ("\n".join([*head, *asked.lines]) + "\n").encode())
    private(room.work / "constraints.txt", ("\n".join(asked.constraints) + "\n").encode())
    options = [*tools.options, *(["--pre"] if asked.pre else [])]
    private(room.work / "job.json", encode({"pip_tools": tools.pip_tools, "options": options}))
    answer = room.run("resolve", sink, network=(config, tool_sources(list(asked.sources), config)))
    compiled = room.work / "compiled.txt"
    if answer.failed or not compiled.is_file():
        raise resolution_failed(answer, requests)
    return parse(compiled.read_text("utf-8"))


_PIN = re.compile(r"^(?P<name>[\w.-]+)(?:\[[^\]]*\])?(?:==(?P<version>[^\s;]+)|\s*@\s*(?P<url>\S+))")
_FILE_ALONE = re.compile(r"^(?P<url>file://\S+\.whl)")


def parse(text: str) -> list[Pin]:
    """Pins of a compiled file, sorted by name."""
    pins: list[Pin] = []
    via: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("#") and pins:
            via = [*via, *_askers(line)]
            pins[-1] = Pin(pins[-1].name, pins[-1].version, pins[-1].file, tuple(dict.fromkeys(via)))
            continue
        found = _PIN.match(line) or _FILE_ALONE.match(line)
        if found and not line.startswith("-"):
            via = []
            pins.append(_pin(found.groupdict()))
    return sorted(pins, key=lambda p: p.name)


def _pin(parts: dict[str, str | None]) -> Pin:
    url = parts.get("url") or ""
    file = unquote(url.split("#")[0].rsplit("/", 1)[-1]) if url else ""
    name = parts.get("name") or file.split("-")[0]
    version = parts.get("version") or (file.split("-")[1] if file else "")
    return Pin(normal(name), version, file)


def _askers(line: str) -> list[str]:
    text = re.sub(r"^\s*#\s*(via)?\s*", "", line)
    return [
        normal(n)
        for n in re.split(r",\s*|\s+", text)
        if re.fullmatch(r"[A-Za-z0-9][\w.-]*", n) and not n.endswith(".in")
    ]
