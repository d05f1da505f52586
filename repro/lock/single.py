"""Reads one requirement as pip would: a name, an address, a repository, or a folder."""

import re
import unicodedata
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from repro import redact
from repro.lock.requests import Requirement, normal

_VCS = re.compile(r"^(git|hg|svn|bzr)(\+[a-z+]+)?:|^git@", re.IGNORECASE)
_ARCHIVE = re.compile(r"\.(whl|tar\.gz|zip|tgz|tar\.bz2)$", re.IGNORECASE)
_NAMED_URL = re.compile(r"^([A-Za-z0-9][\w.-]*)\s*(\[[^\]]*\])?\s*@\s*(\S+)\s*(?:;\s*(.*))?$")
_HERE = re.compile(r"^(?:file:)?(?://)?(?:\$\{(?:PWD|PROJECT_ROOT)\}/|(?=\.{1,2}/)|(?=\.$))")
_ODD = re.compile("[\u00a0\u2000-\u200f\u2018-\u201f\u202a-\u202f\u2060\u3000\ufeff\uff01-\uff5e]")
_PATH_EXTRAS = re.compile(r"^(.*?)(\[[^\]]*\])?$")


class BadLine(Exception):  # noqa: N818 - caught at once; becomes a finding, never shown as an exception
    """A line that is no requirement; the text says why."""


def has_secret(url: str) -> bool:
    """Whether an address carries a login; `git` in `ssh://git@host` is none, nor is a variable's name."""
    user = re.search(r"://([^/@\s]*)@", url)
    if user is None or "${" in user.group(1):
        return False
    return redact.has_login(url) and (":" in user.group(1) or "ssh://" not in url)


def requirement_of(
    text: str, root: Path, file: str, line: int, *, editable: bool = False, hashes: tuple[str, ...] = ()
) -> Requirement:
    """The requirement on one logical line, its place filled in.

    Raises:
        BadLine: pip would refuse the line, or it names something outside the project.
    """
    found = _read(text.strip(), root, file)
    return msgspec.structs.replace(found, file=file, line=line, editable=editable, hashes=hashes)


def _read(text: str, root: Path, file: str) -> Requirement:
    named = _NAMED_URL.match(text)
    if named and (local := _named_folder(named, root, file)):
        return local
    if named and ("://" in named.group(3) or _VCS.match(named.group(3))):
        name, extras, url, marker = named.groups()
        checked = _marker(marker or "")
        return Requirement(name=normal(name), extras=_extras(extras), marker=checked, url=url)
    if text.startswith("git@"):
        raise BadLine(_reason(text, ""))
    if _VCS.match(text):
        return _address(text)
    if re.match(r"^[a-z]+://", text, re.IGNORECASE):
        if text.lower().startswith("file://"):
            return _local(unquote(urlsplit(text).path), root, file)
        return _address(text)
    if re.match(r"^(?:[A-Za-z]:)?[\\/]", text) or text.startswith((".\\", "..\\")):
        return _local(text.replace("\\", "/"), root, file)
    if text.startswith((".", "/")) or _ARCHIVE.search(text.split(";")[0].strip()) or _is_folder(text):
        return _local(text, root, file)
    return _plain(text)


def _named_folder(named: re.Match[str], root: Path, file: str) -> Requirement | None:
    """`name @ ./folder`, `name @ file:folder`, `name @ file://${PWD}/folder`: a folder of the project."""
    name, extras, url, marker = named.groups()
    bare = _HERE.sub("", url)
    if not (_HERE.match(url) or re.match(r"^file:(?!/)", url)):
        return None
    local = _local(bare.removeprefix("file:") or ".", root, file)
    return msgspec.structs.replace(
        local, name=normal(name), extras=_extras(extras), marker=_marker(marker or "")
    )


def _is_folder(text: str) -> bool:
    bare = text.split("[")[0]
    return "/" in bare and re.fullmatch(r"[\w./-]+", bare) is not None and not re.search(r"\s|[<>=~!]", bare)


def _address(text: str) -> Requirement:
    url, _, marker = text.partition(" ;")
    if not _VCS.match(url) and not _ARCHIVE.search(url.split("#")[0].split("?")[0].strip()):
        raise BadLine(
            f"`{redact.text(url)}` is a web page, neither a package file nor a repository, which is `git+https://...`"
        )
    fragment = parse_qs(urlsplit(url).fragment)
    egg = fragment.get("egg", [""])[0]
    extras = re.search(r"\[[^\]]*\]", egg)
    name = normal(re.split(r"[\[=<>]", egg)[0]) if egg else ""
    if not name and not _VCS.match(url) and url.split("#")[0].endswith(".whl"):
        name = normal(url.split("#")[0].rsplit("/", 1)[1].split("-")[0])
    wanted = _extras(extras.group() if extras else "")
    return Requirement(name=name, extras=wanted, marker=_marker(marker), url=url.strip())


def _local(text: str, root: Path, file: str) -> Requirement:
    bare, _, marker = text.partition(" ;")
    matched = _PATH_EXTRAS.match(bare.strip())
    path, extras = matched.groups() if matched else (bare, "")
    path = path.split("#")[0]
    # pip reads a relative path from the folder it runs in, people mean either; the one that exists counts.
    bases = [root, (root / file).parent]
    target = next((b / path for b in bases if (b / path).exists()), bases[0] / path).resolve()
    try:
        inside = target.relative_to(root.resolve()).as_posix()
    except ValueError:
        inside = path
    return Requirement(name="", extras=_extras(extras), marker=_marker(marker), path=inside)


def _plain(text: str) -> Requirement:
    from packaging.requirements import InvalidRequirement
    from packaging.requirements import Requirement as Parsed

    try:
        parsed = Parsed(text)
    except InvalidRequirement as problem:
        raise BadLine(_reason(text, str(problem))) from None
    spec = ",".join(sorted(str(s) for s in parsed.specifier))
    marker = str(parsed.marker) if parsed.marker else ""
    return Requirement(
        name=normal(parsed.name), spec=spec, extras=tuple(sorted(parsed.extras)), marker=marker
    )


_MISTAKES = (
    (
        r"^(?:!|%|\$)?\s*(?:sudo\s+)?(?:python\d?\s+-m\s+)?(?:pip\d?|conda|mamba|apt(?:-get)?|poetry|uv)\s+\w",
        "is a shell command, not a requirement",
    ),
    (
        r"^Package\s+Version\s*$",
        "is the head of `pip list`; write the file with `pip freeze` or `pip list --format=freeze`",
    ),
    (r"^[\w.-]+\s+\d[\w.+]*\s*$", "is a line of `pip list`; write the file with `pip freeze`"),
    (r"^[\w.-]+\s*~=\s*\d+\s*$", "needs two parts after ~=, as ~=4.0"),
    (r"^[\w.-]+\s*==\s*\d[\w.]*[^\w.+*\s,;!-].*", "has no version that PEP 440 knows"),
    (r"^[\w.-]+\s*==\s*\d[\w.]*-\D.*", "has no version that PEP 440 knows"),
    (r"^[\w.-]+\s*==\s*\d+[a-z]+\s*$", "has no version that PEP 440 knows"),
    (r"^@EXPLICIT", "begins conda's explicit list"),
    (r"^git@[\w.-]+:", "is no address that pip takes; write git+ssh:// before it and / after the host"),
)


def _reason(text: str, problem: str) -> str:
    shown = redact.text(text)
    if odd := _ODD.search(text):
        name = f"{unicodedata.name(odd[0], 'an odd character')} (U+{ord(odd[0]):04X})"
        return f"`{shown}` holds {name} at column {odd.start() + 1}"
    for pattern, says in _MISTAKES:
        if re.match(pattern, text):
            return f"`{shown}` {says}"
    _, semicolon, marker = text.partition(";")
    if semicolon:
        try:
            _marker(marker)
        except BadLine as bad:
            return f"`{shown}`: {bad}"
    one_equals = re.match(r"^([\w.-]+)=([\w.*]+)(=\S+)?$", text)
    if one_equals:
        return f"`{shown}` is conda's form; pip wants `{one_equals.group(1)}=={one_equals.group(2)}`"
    return f"`{shown}`: {problem.splitlines()[0]}"


def _marker(text: str) -> str:
    from packaging.markers import InvalidMarker, Marker

    if not text.strip():
        return ""
    try:
        return str(Marker(text.strip()))
    except InvalidMarker:
        raise BadLine(f"`{text.strip()}` is not a valid environment marker") from None


def _extras(text: str | None) -> tuple[str, ...]:
    return tuple(sorted(e.strip() for e in (text or "").strip("[]").split(",") if e.strip()))
