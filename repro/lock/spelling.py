"""Findings about how requirements are written: unpinned, half hashed, repositories, local folders."""

import re

from repro.lock.declared import dependencies_of_folder
from repro.lock.pipfile import Gathered
from repro.lock.requests import ERROR, Requirement, normal
from repro.lock.single import BadLine, has_secret, requirement_of
from repro.lock.table import known

_COMMIT = re.compile(r"^[0-9a-f]{40}$")


def judge_spelling(got: Gathered, requirements: list[Requirement]) -> None:
    """Note findings about the form of requirements."""
    _unpinned(got, requirements)
    _hashes(got, requirements)
    _private(got, requirements)
    judged = {(f.file, n) for f in got.findings if f.code == "credentials" for n in f.lines}
    for r in requirements:
        if r.path:
            _local(got, r, requirements)
        elif is_vcs(r.url):
            _repository(got, r)
        if has_secret(r.url) and (r.file, r.line) not in judged:
            remedy = (
                "take the login out of the address; put it into ~/.netrc, or use git's own credential store"
            )
            got.find("credentials", r.file, f"login in `{r.url}`", r.line, severity=ERROR, remedy=remedy)


def is_vcs(url: str) -> bool:
    """Whether an address names a version control system."""
    return re.match(r"^(git|hg|svn|bzr)(\+|:|@)", url, re.IGNORECASE) is not None


def revision_of(url: str) -> tuple[str, str, str]:
    """(address without revision, revision or empty, sub-directory or empty) of a `git+...@rev` address."""
    bare, _, fragment = url.partition("#")
    subfolder = re.search(r"(?:^|&)subdirectory=([^&]+)", fragment)
    scheme, _, rest = bare.partition("://")
    host, slash, path = rest.partition("/")
    at = path.rfind("@")
    revision = path[at + 1 :] if at >= 0 else ""
    path = path[:at] if at >= 0 else path
    return f"{scheme}://{host}{slash}{path}", revision, subfolder.group(1) if subfolder else ""


def _unpinned(got: Gathered, requirements: list[Requirement]) -> None:
    fixed = {c.name for c in got.constraints if c.pinned}
    for r in requirements:
        if r.name and not (r.pinned or r.url or r.path or r.name in fixed):
            severity = "note" if r.file.endswith(".in") else "warning"
            text = f"{r.name} has {'an open range' if r.spec else 'no version'}"
            got.find(
                "unpinned", r.file, text, r.line, severity=severity, remedy="the lock writes exact versions"
            )


def _hashes(got: Gathered, requirements: list[Requirement]) -> None:
    if not any(r.hashes for r in requirements):
        return
    for r in requirements:
        if r.hashes:
            continue
        if r.path or is_vcs(r.url) or r.editable:
            text = "a repository or folder has no single file to hash, while other lines carry hashes"
            remedy = "take the hashes out: the lock computes them, and packs a wheel of the repository"
            got.find("hash-impossible", r.file, text, r.line, severity=ERROR, remedy=remedy)
        else:
            text = f"{r.name} has no hash; one hash switches hash checking on for all lines"
            remedy = f"take all hashes out (the lock computes them), or: pip hash of the file of {r.name}"
            got.find("hash-partial", r.file, text, r.line, severity=ERROR, remedy=remedy)


def _repository(got: Gathered, r: Requirement) -> None:
    if not r.url.startswith(("git+", "git:")):
        text = f"`{r.url}`: only git repositories can be packed"
        remedy = "name a released version, or put the code into the project"
        got.find("vcs-unsupported", r.file, text, r.line, severity=ERROR, remedy=remedy)
        return
    if r.url.startswith(("git+git:", "git:")):
        text = "git:// is not encrypted, and most hosts no longer answer it"
        got.find("vcs-protocol", r.file, text, r.line, remedy="write git+https://")
    if names := re.findall(r"\$\{([A-Z0-9_]+)\}", r.url):
        text = f"the address needs {' and '.join(names)} in the environment of the command that locks"
        got.find("env-variable", r.file, text, r.line)
    _, revision, subfolder = revision_of(r.url)
    place = f"; sub-directory `{subfolder}`" if subfolder else ""
    if _COMMIT.match(revision):
        got.find("vcs-pinned", r.file, f"commit pinned{place}; a wheel of it is packed", r.line)
        return
    what = f"`{revision}` is a branch or tag and can move" if revision else "no revision at all"
    if re.fullmatch(r"[0-9a-f]{7,39}", revision):
        what = f"`{revision}` may be a commit, shortened"
    text = f"{what}{place}; the commit of today is written into the lock, and a wheel of it is packed"
    got.find("vcs-unpinned", r.file, text, r.line, remedy="name a full commit after `@`")


def _local(got: Gathered, r: Requirement, requirements: list[Requirement]) -> None:
    folder = got.root / r.path
    editable = ", editable" if r.editable else ""
    if r.path.startswith(("/", "../")) or re.match(r"[A-Za-z]:", r.path):
        text = f"`{r.path}` lies outside the project and would not travel"
        got.find("local-path", r.file, text, r.line, severity=ERROR, remedy="copy it into the project")
        return
    got.find(
        "local-path",
        r.file,
        f"package inside the repository{editable}: `{r.path}`; a wheel of it is packed",
        r.line,
    )
    if not folder.exists():
        text = f"`{r.path}` does not exist"
        got.find(
            "missing-path",
            r.file,
            text,
            r.line,
            severity=ERROR,
            remedy=f"correct line {r.line} of `{r.file}`",
        )
        return
    if not folder.is_dir():
        return
    if not any((folder / name).is_file() for name in ("setup.py", "setup.cfg", "pyproject.toml")):
        _empty(got, r)
        return
    named = {q.name for q in requirements}
    for file, text in dependencies_of_folder(folder):
        try:
            needed = requirement_of(text, got.root, file, 1)
        except BadLine:
            continue
        if needed.name and needed.name not in named:
            got.find(
                "transitive",
                f"{r.path}/{file}".removeprefix("./"),
                f"needs {needed.name}, which is nowhere pinned; it is locked too",
            )


def _empty(got: Gathered, r: Requirement) -> None:
    if not is_submodule(got, r.path):
        text = f"`{r.path}` holds no setup.py, setup.cfg or pyproject.toml"
        got.find(
            "missing-path",
            r.file,
            text,
            r.line,
            severity=ERROR,
            remedy=f"correct line {r.line} of `{r.file}`",
        )


def is_submodule(got: Gathered, path: str) -> bool:
    """Whether .gitmodules names `path`."""
    listed = got.root / ".gitmodules"
    return (
        listed.is_file()
        and re.search(rf"(?m)^\s*path\s*=\s*{re.escape(path)}\s*$", listed.read_text("utf-8")) is not None
    )


def _private(got: Gathered, requirements: list[Requirement]) -> None:
    own = [s for s in got.sources if s.kind == "index" and not s.name]
    if not own:
        return
    public = {normal(n) for n in known("public")}
    for r in requirements:
        if r.name and not r.url and not r.path and r.name not in public:
            what = f"{r.name} is no public project this tool knows and an index of your own is named"
            text = f"{what}; the bundle must carry its wheel"
            got.find("private-package", r.file, text, r.line)
