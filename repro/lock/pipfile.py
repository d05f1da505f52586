"""Reads pip's requirements files, with all they include. It never runs and never fetches anything."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from repro import redact
from repro.files import sha256_bytes
from repro.lock.requests import ERROR, Finding, Requirement, Source
from repro.lock.single import BadLine, has_secret, requirement_of
from repro.lock.text import Line, decode, logical_lines

_OPTIONS = {
    "-r": "include", "--requirement": "include", "-c": "constrain", "--constraint": "constrain",
    "-i": "index", "--index-url": "index", "--pypi-url": "index", "--extra-index-url": "extra-index",
    "-f": "find-links", "--find-links": "find-links", "--trusted-host": "trust",
    "-e": "editable", "--editable": "editable", "--pre": "pre", "--no-index": "no-index",
}  # fmt: skip
_HARMLESS = ("--prefer-binary", "--only-binary", "--no-binary", "--use-feature", "--require-hashes")
# What they ask of pip is not done here: a wheel is taken where there is one, and builds get no options.
_NOT_OBEYED = ("--no-binary", "--only-binary")
_HASH = re.compile(r"--hash[=\s]\s*(sha\d+:[0-9a-fA-F]+)")
_PER_LINE = re.compile(r"\s--(?:config-settings?|global-option|install-option)[=\s]\S+")


@dataclass
class Gathered:
    """What reading has found so far; one object goes through all nested files."""

    root: Path
    requirements: list[Requirement] = field(default_factory=list)
    constraints: list[Requirement] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    pre: bool = False
    seen: set[tuple[str, bool]] = field(default_factory=set)

    def find(
        self, code: str, file: str, text: str, *lines: int, severity: str = "warning", remedy: str = ""
    ) -> None:
        """Note a finding; credentials are masked here, for every reader."""
        masked = redact.text(text)
        self.findings.append(
            Finding(
                code=code, file=file, text=masked, lines=lines, severity=severity, remedy=redact.text(remedy)
            )
        )

    def load(self, file: str) -> str:
        """Decoded text of a project file; its digest becomes an input."""
        data = (self.root / file).read_bytes()
        self.inputs[file] = sha256_bytes(data)
        decoded = decode(data)
        if decoded.oddity:
            self.find("encoding", file, f"{decoded.oddity}; decoded, the lock is written as UTF-8")
        return decoded.content


def read_file(got: Gathered, file: str, *, constrains: bool = False) -> None:
    """Add the content of requirements file `file` (project-relative) and of all files it names."""
    if (file, constrains) in got.seen:
        return
    got.seen.add((file, constrains))
    for line in logical_lines(got.load(file)):
        try:
            take_line(got, file, line, constrains=constrains)
        except BadLine as problem:
            remedy = f"correct line {line.number} of `{file}`"
            got.find("bad-line", file, str(problem), line.number, severity=ERROR, remedy=remedy)


def take_line(got: Gathered, file: str, line: Line, *, constrains: bool = False) -> None:
    """Add what one logical line says; raises BadLine where pip would refuse it."""
    if not line.text.startswith("-"):
        _requirement(got, file, line, line.text, constrains=constrains)
        return
    for option, value in _options(line.text):
        kind = _OPTIONS.get(option)
        if kind is None:
            if option not in _HARMLESS:
                raise BadLine(f"`{option}` is no option of a requirements file")
            if option in _NOT_OBEYED:
                text = f"`{option}` is not obeyed: wheels are taken where there are any, others are built"
                got.find("option-not-obeyed", file, text, line.number)
            continue
        if kind == "editable":
            _requirement(got, file, line, value, editable=True)
        else:
            _HANDLERS[kind](got, file, line, value)


def _options(text: str) -> list[tuple[str, str]]:
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise BadLine(f"`{text}`: {problem}") from None
    found: list[tuple[str, str]] = []
    while words:
        word = words.pop(0)
        option, equals, value = word.partition("=")
        if not equals and re.match(r"-[rcife][^-]", word):
            option, value = word[:2], word[2:]
        elif not equals and option in _OPTIONS and option not in ("--pre", "--no-index"):
            value = words.pop(0) if words else ""
            if not value:
                raise BadLine(f"`{option}` has no value")
            if option in ("-e", "--editable"):
                value, words = " ".join([value, *words]), []
        elif not equals and option in _HARMLESS and words and not words[0].startswith("-"):
            value = words.pop(0)
        found.append((option, value))
    return found


def _requirement(
    got: Gathered, file: str, line: Line, text: str, *, editable: bool = False, constrains: bool = False
) -> None:
    hashes = tuple(h.lower() for h in _HASH.findall(text))
    for option in _PER_LINE.findall(text):
        said = f"`{option.strip()}` is not passed on to the build of a wheel"
        got.find("option-not-obeyed", file, said, line.number)
    bare = _PER_LINE.sub("", _HASH.sub("", text)).strip()
    found = requirement_of(bare, got.root, file, line.number, editable=editable, hashes=hashes)
    (got.constraints if constrains else got.requirements).append(found)


def _nested(got: Gathered, file: str, line: Line, value: str, *, constrains: bool) -> None:
    if "://" in value:
        raise BadLine(f"`{redact.text(value)}` is on another machine; put a copy of it into the project")
    target = (got.root / file).parent / value
    try:
        name = PurePosixPath(target.resolve().relative_to(got.root.resolve())).as_posix()
    except ValueError:
        raise BadLine(f"`{value}` lies outside the project") from None
    code, what = ("constraints", "versions come from") if constrains else ("include", "includes")
    if not target.is_file():
        raise BadLine(f"`{value}` is named here and does not exist (looked for `{name}`)")
    got.find(code, file, f"{what} `{name}`", line.number, severity="note")
    read_file(got, name, constrains=constrains)


def _include(got: Gathered, file: str, line: Line, value: str) -> None:
    _nested(got, file, line, value, constrains=False)


def _constrain(got: Gathered, file: str, line: Line, value: str) -> None:
    _nested(got, file, line, value, constrains=True)


def _index(got: Gathered, file: str, line: Line, value: str) -> None:
    _source(got, file, line, "index", value)


def _extra(got: Gathered, file: str, line: Line, value: str) -> None:
    _source(got, file, line, "extra-index", value)


def _links(got: Gathered, file: str, line: Line, value: str) -> None:
    if "://" not in value:
        value = str(((got.root / file).parent / value).resolve())
    elif not value.startswith("file:"):
        text = f"`{value}` is a flat page of wheel links, not an index; it is kept in the resolution"
        got.find("find-links-page", file, text, line.number)
    _source(got, file, line, "find-links", value)


def _source(got: Gathered, file: str, line: Line, kind: str, value: str) -> None:
    _check_source(got, file, line, kind, value)
    if has_secret(value):
        text = f"user or password in the address `{value}`; it would travel with the code"
        remedy = (
            "take the login out of the file; put it into ~/.netrc, or write ${NAME} and set that variable"
        )
        got.find("credentials", file, text, line.number, severity=ERROR, remedy=remedy)
    got.sources.append(Source(kind=kind, url=value))


def _check_source(got: Gathered, file: str, line: Line, kind: str, value: str) -> None:
    if kind == "index" and any(s.kind == "index" for s in got.sources):
        text = f"`{value}` takes the place of the index named before; pip asks the last one alone"
        got.find("index-replaced", file, text, line.number)
    if value.startswith("http://"):
        text = f"`{value}` is not encrypted: anybody on the way can change the files"
        got.find("index-not-encrypted", file, text, line.number, remedy="write https://, if the host has it")
    names = re.findall(r"\$\{([A-Z0-9_]+)\}", value)
    if names:
        text = f"the address needs {' and '.join(names)} in the environment of the command that locks"
        got.find("env-variable", file, text, line.number)


def include(got: Gathered, file: str, number: int, name: str) -> None:
    """Add a requirements file that `file` names at a line; a missing one becomes a finding."""
    try:
        _nested(got, file, Line(number, number, name), name, constrains=False)
    except BadLine as problem:
        remedy = f"correct line {number} of `{file}`"
        got.find("missing-include", file, str(problem), number, severity=ERROR, remedy=remedy)


def _trust(got: Gathered, file: str, line: Line, value: str) -> None:
    got.trusted.append(value)
    got.find("trusted-host", file, f"the certificate check is switched off for `{value}`", line.number)


def _pre(got: Gathered, _file: str, _line: Line, _value: str) -> None:
    got.pre = True


def _no_index(got: Gathered, _file: str, _line: Line, _value: str) -> None:
    got.sources.append(Source(kind="no-index", url=""))


_HANDLERS: dict[str, Callable[[Gathered, str, Line, str], None]] = {
    "include": _include, "constrain": _constrain, "index": _index, "extra-index": _extra,
    "find-links": _links, "trust": _trust, "pre": _pre, "no-index": _no_index,
}  # fmt: skip
