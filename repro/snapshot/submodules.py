"""Submodules, nested ones too: packed by the commit that the parent records, refused without it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from repro.errors import ReproError
from repro.model.snapshot import Submodule, Warned
from repro.redact import text as redacted
from repro.snapshot.dirty import inspect
from repro.snapshot.names import listed, shown
from repro.snapshot.repository import Entry, Repository, open_repository
from repro.snapshot.secrets import left_out


@dataclass(frozen=True)
class Part:
    """A submodule with its content: `entries` relative to its own top, `path` relative to the whole."""

    path: str
    repository: Repository
    entries: list[Entry]
    record: Submodule
    warnings: list[Warned]


def collect(repository: Repository, commit: str, entries: Sequence[Entry], prefix: str = "") -> list[Part]:
    """Every submodule among the entries of a commit, and those inside them.

    Raises:
        submodule-missing: one is not checked out, or lacks the recorded commit.
        submodule-dirty: one is at another commit, or has changes of its own.
    """
    links = [e for e in entries if e.is_submodule]
    urls = _urls(repository, commit) if links else {}
    missing = [e for e in links if not (repository.top / e.path / ".git").exists()]
    if missing:
        raise _missing(missing, prefix)
    found = []
    for link in links:
        part = _part(repository, link, urls.get(link.path, ""), prefix)
        found += [part, *collect(part.repository, link.oid, part.entries, part.path + "/")]
    return found


def _urls(repository: Repository, commit: str) -> dict[str, str]:
    if repository.answers("rev-parse", "--verify", "--quiet", f"{commit}:.gitmodules") is None:
        return {}
    names: dict[str, dict[str, str]] = {}
    for row in repository.run("config", "--blob", f"{commit}:.gitmodules", "--list", "-z").split(b"\0"):
        key, _, value = os.fsdecode(row).partition("\n")
        name, _, field = key.removeprefix("submodule.").rpartition(".")
        names.setdefault(name, {})[field] = value
    return {row["path"]: row.get("url", "") for row in names.values() if "path" in row}


def _part(repository: Repository, link: Entry, url: str, prefix: str) -> Part:
    path = prefix + link.path
    inner = open_repository(repository.top / link.path)
    if not inner.has_commit(link.oid):
        raise _missing([link], prefix)
    head = inner.head()
    if head is None or head.commit != link.oid:
        raise _dirty(
            path, [f"it is at commit {head.commit if head else 'none'}, the parent records {link.oid}"]
        )
    entries = inner.tree(link.oid)
    changes = inspect(inner, entries, [])
    if changes or changes.submodules:
        names = [*changes.tracked, *changes.untracked, *changes.submodules]
        raise _dirty(path, [f"{path}/{name}" for name in listed(names)])
    warnings = left_out(f"{path}/{p}" for p in changes.secret)
    if not url:
        text = f"submodule {shown(path)} has no address in .gitmodules; its files are packed"
        warnings.append(Warned(code="submodule-no-address", where=shown(path), text=text))
    record = Submodule(path=shown(path), url=shown(redacted(url)), commit=link.oid)
    return Part(path, inner, entries, record, warnings)


def _missing(links: list[Entry], prefix: str) -> ReproError:
    paths = [prefix + e.path for e in links]
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return ReproError(
        "submodule-missing",
        f"submodule `{shown(paths[0])}`{more} is not checked out",
        found=[
            f"{shown(p)}: recorded commit {e.oid}, which is not there"
            for p, e in zip(paths, links, strict=True)
        ],
        needs="each submodule at the commit that the parent records",
        why="an empty folder would be packed in its place",
        done="nothing was packed",
        tries="git submodule update --init --recursive",
    )


def _dirty(path: str, found: list[str]) -> ReproError:
    return ReproError(
        "submodule-dirty",
        f"submodule `{shown(path)}` is not the commit that is recorded",
        found=found,
        needs="each submodule clean, at the commit that the parent records",
        why="a patch of the parent cannot hold what is inside a submodule, so --allow-dirty does not help",
        done="nothing was packed",
        tries=[
            f"record the commit that it is at: git add -- {shown(path)} && git commit",
            f"or go back to the recorded one: git submodule update -- {shown(path)}",
        ],
    )


def moved(paths: Sequence[str]) -> ReproError:
    """The error for submodules that are at another commit than the recorded one, or new and not committed."""
    return _dirty(paths[0], [f"{name} is at another commit than the recorded one" for name in listed(paths)])
