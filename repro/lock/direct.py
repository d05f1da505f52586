"""Requirements that name one file, by address or path: whether the target can take it."""

import re

from repro.lock.clashes import applies
from repro.lock.filenames import named_in
from repro.lock.pipfile import Gathered
from repro.lock.requests import ERROR, Requirement
from repro.lock.single import has_secret
from repro.lock.text import read_text

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"<>,;]+", re.IGNORECASE)


def judge_files(got: Gathered, requirements: list[Requirement], python: str) -> None:
    """Note findings about requirements that are single files, for a Python minor; and about logins."""
    for r in requirements:
        address = r.url or r.path
        if address and applies(r, python) and not r.url.startswith(("git", "hg", "svn", "bzr")):
            _one(got, r, address, python)
    _logins(got)


def _one(got: Gathered, r: Requirement, address: str, python: str) -> None:
    if r.url.startswith(("http:", "https:")):
        text = (
            f"{r.name or 'a package'} comes from an address, not from an index; a copy of the file is packed"
        )
        got.find("direct-url", r.file, text, r.line)
    file = named_in(address) if address.split("#")[0].endswith(".whl") else None
    if file is None:
        return
    if not file.is_for_linux:
        text = f"the wheel is for `{file.system}`, not for Linux"
        remedy = f"write `{file.name}=={file.version}`, or name the file for Linux"
        got.find("wheel-unfit", r.file, text, r.line, severity=ERROR, remedy=remedy)
    elif file.minors and python not in file.minors:
        have = ", ".join(file.minors)
        text = f"the wheel is for Python {have}; it is locked for {python}"
        remedy = (
            f'set `dependencies.python = "{file.minors[-1]}"` in repro.toml, or name the file for {python}'
        )
        got.find("no-wheel-for-python", r.file, text, r.line, severity=ERROR, remedy=remedy)


def _logins(got: Gathered) -> None:
    """Logins in dependency files, wherever in them: the files travel with the code."""
    known = {(f.file, n) for f in got.findings if f.code == "credentials" for n in f.lines}
    for file in list(got.inputs):
        for number, line in enumerate(read_text(got.root / file).split("\n"), 1):
            secret = [a for a in _ADDRESS.findall(line) if has_secret(a)]
            if secret and (file, number) not in known and not line.lstrip().startswith("#"):
                remedy = "take the login out of the file; put it into ~/.netrc, or write ${NAME}"
                got.find(
                    "credentials", file, f"login in `{secret[0]}`", number, severity=ERROR, remedy=remedy
                )
