"""What a project asks for: requirements, indexes, constraints, each with its place; and what looks wrong."""

import re
from collections.abc import Iterable

from repro.lock.filenames import named_in
from repro.model.record import Record
from repro.model.snapshot import Warned

ERROR, WARNING, NOTE = "error", "warning", "note"


class Requirement(Record, kw_only=True):
    """One thing to install.

    Attributes:
        name: normalised project name, empty where only building tells it.
        spec: version specifier without spaces, as `>=1.7,<2`; extras sorted.
        marker: environment marker text. url: VCS address or file address, credentials kept out of `text`.
        path: project-relative folder or archive of a local requirement.
        hashes: `sha256:...` as the file gave them.
        file, line: where it stands; `source`: name of the index it must come from, empty for any.
    """

    name: str
    spec: str = ""
    extras: tuple[str, ...] = ()
    marker: str = ""
    url: str = ""
    path: str = ""
    editable: bool = False
    hashes: tuple[str, ...] = ()
    file: str = ""
    line: int = 0
    source: str = ""

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.line}"

    @property
    def pinned(self) -> str:
        """The one version that is allowed, by its specifier or by the name of its wheel; or empty."""
        found = re.fullmatch(r"={2,3}([^,*]+)", self.spec)
        if found:
            return found.group(1)
        file = named_in(self.url or self.path) if re.search(r"\.whl(#|$)", self.url or self.path) else None
        return file.version if file else ""

    @property
    def text(self) -> str:
        """The requirement in pip's form, without hashes and without address."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        marker = f" ; {self.marker}" if self.marker else ""
        return f"{self.name}{extras}{self.spec}{marker}"


class Source(Record, kw_only=True):
    """A place that offers files: kind `index`, `extra-index` or `find-links`; `name` only for named ones."""

    kind: str
    url: str
    name: str = ""
    explicit: bool = False


class Finding(Record, kw_only=True):
    """Something to know about the inputs. `severity`: error, warning, note; `remedy`: an edit or command."""

    code: str
    file: str
    text: str
    lines: tuple[int, ...] = ()
    severity: str = WARNING
    remedy: str = ""

    @property
    def where(self) -> str:
        """`file`, or `file:2-4,8`."""
        return f"{self.file}:{spans(self.lines)}" if self.lines else self.file

    def warned(self) -> Warned:
        """The same as the record that bundles carry."""
        return Warned(code=self.code, where=self.where, text=self.text)


class Hint(Record, kw_only=True):
    """A Python that the project names, with the place: `3.8`, or a range such as `>=3.7`."""

    python: str
    where: str


class Requests(Record, kw_only=True):
    """All that the input files say.

    Attributes:
        constraints: requirements that only limit versions.
        trusted: hosts whose certificate is not checked.
        inputs: digest of every file that was read, by its project-relative name.
        system: Debian packages. left_out: names that were not passed on, with the reason.
        old_metadata: a requirement needs a pip older than 24.1.
    """

    requirements: tuple[Requirement, ...] = ()
    constraints: tuple[Requirement, ...] = ()
    sources: tuple[Source, ...] = ()
    trusted: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    python: tuple[Hint, ...] = ()
    left_out: dict[str, str] = {}
    findings: tuple[Finding, ...] = ()
    inputs: dict[str, str] = {}
    old_metadata: bool = False
    pre: bool = False

    def named(self, name: str) -> Requirement | None:
        """The first requirement of that normalised name."""
        return next((r for r in self.requirements if r.name == name), None)

    def pin_of(self, name: str) -> str:
        """The exact version that requirements or constraints fix for a name, or empty."""
        both = (*self.requirements, *self.constraints)
        return next((r.pinned for r in both if r.name == name and r.pinned), "")


def normal(name: str) -> str:
    """Project name as indexes compare it. Source: PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def spans(lines: Iterable[int]) -> str:
    """`[3, 4, 8]` as `3-4,8`."""
    parts: list[list[int]] = []
    for line in sorted(set(lines)):
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding for each code, file, severity and remedy; lines united, texts joined."""
    groups: dict[tuple[str, str, str, str], list[Finding]] = {}
    for f in findings:
        groups.setdefault((f.severity, f.code, f.file, f.remedy), []).append(f)
    return tuple(_joined(group) for group in groups.values())


def _joined(group: list[Finding]) -> Finding:
    first = group[0]
    lines = tuple(sorted({n for f in group for n in f.lines}))
    text = "; ".join(dict.fromkeys(f.text for f in group))
    return Finding(
        code=first.code, file=first.file, text=text, lines=lines, severity=first.severity, remedy=first.remedy
    )
