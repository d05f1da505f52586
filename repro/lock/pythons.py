"""Which Python the project's files ask for, held against the one that is chosen."""

import re

from repro.lock.pipfile import Gathered
from repro.lock.requests import ERROR, Hint

_KNOWN = tuple(f"3.{minor}" for minor in range(6, 16))


def minor_of(python: str) -> str:
    """`3.11` of `3.11.7` or `3.11`; empty for a range."""
    found = re.fullmatch(r"={0,2}\s*(\d\.\d+)(\.[\d*]+)?", python.strip())
    return found.group(1) if found else ""


def admits(python: str, minor: str) -> bool:
    """Whether what a file says of Python, a version or a range, allows a minor; what cannot be read does."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    if one := minor_of(python):
        return one == minor
    try:
        # A late patch level as well, so that `>=3.8.1` and `!=3.9.7` allow what they mean to.
        return any(SpecifierSet(python).contains(f"{minor}{patch}") for patch in ("", ".0", ".99"))
    except InvalidSpecifier:
        return True


def judge_pythons(got: Gathered, hints: list[Hint], chosen: str, *, is_set: bool) -> None:
    """Note findings about Pythons that nothing can be locked for, and about files that want another one.

    Args:
        got: gets the findings.
        hints: what the files say.
        chosen: the Python minor that is locked for.
        is_set: whether the user chose it.
    """
    for hint in hints:
        file, _, line = hint.where.partition(":")
        lines = [int(line)] if line.isdigit() else []
        if hint.python and not any(admits(hint.python, minor) for minor in _KNOWN):
            text = f"the project asks for Python {hint.python}; nothing older than {_KNOWN[0]} can be locked"
            severity = "warning" if is_set else ERROR
            remedy = f'port it, and set `dependencies.python = "{_KNOWN[0]}"` or newer in repro.toml'
            got.find("python-unsupported", file, text, *lines, severity=severity, remedy=remedy)
        elif hint.python and not admits(hint.python, chosen):
            text = f"the project asks for Python {hint.python} here; it is locked for {chosen}"
            remedy = f"set `dependencies.python` in repro.toml, if {chosen} is not meant"
            got.find("python-differs", file, text, *lines, remedy=remedy)
