"""Packs the code: what is checked out, as git holds it, with every doubt refused or written down."""

import posixpath
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from repro.errors import ReproError
from repro.events import Note, Sink, silent
from repro.files import raise_if_full, sha256_bytes, sha256_file, write_whole
from repro.model.canonical import pretty
from repro.model.project import Project
from repro.model.snapshot import Patch, Snapshot, Warned
from repro.snapshot import archive, attributes, dirty, said, scope, secrets, submodules, unpacked
from repro.snapshot.content import Content, gather, large, tree_id, whole
from repro.snapshot.includes import resolve
from repro.snapshot.names import shown, under
from repro.snapshot.repository import Entry, Head, Repository, open_repository
from repro.snapshot.worktree import Changes, refuse, refuse_unmerged


@dataclass(frozen=True)
class _Job:
    """What is asked for. `folder` and `eval_set` are relative to the repository."""

    repository: Repository
    head: Head
    folder: str
    eval_set: str
    command: tuple[str, ...]
    include: tuple[str, ...]
    allow_dirty: bool
    scratch: Path


@dataclass(frozen=True)
class _State:
    """The tree to pack: the commit's, or one with the changes of the working tree in it."""

    repository: Repository
    commit_tree: list[Entry]
    changes: Changes
    packed: dirty.Packed | None
    named: list[str]
    scope: scope.Scope


def take_code(
    project: Project,
    into: Path,
    *,
    allow_dirty: bool = False,
    include: Sequence[str] = (),
    sink: Sink = silent,
) -> Snapshot:
    """The snapshot of the project's code; `into` gets `snapshot.json`, `code.tar` and maybe `dirty.patch`.

    Members of `code.tar` have their paths relative to the repository below `code/`, also for a project in
    a sub-folder, so that what such a project imports from beside it keeps its place.

    Args:
        project: its folder is packed.
        into: folder that exists.
        allow_dirty: pack the working tree's difference from the commit as well.
        include: paths packed although they are large and untracked, lie beside the project's folder, are
            links that leave the repository, or look like credentials in a tracked file.
        sink: is told which commit was taken.

    Raises:
        not-a-repository, git-missing, git-failed, git-dubious-ownership, snapshot-no-commit,
        snapshot-nothing-tracked, snapshot-dirty, snapshot-unmerged, snapshot-not-packed, snapshot-secret,
        snapshot-link-outside, snapshot-include, snapshot-outside-import, snapshot-object-missing,
        submodule-missing, submodule-dirty.
    """
    with tempfile.TemporaryDirectory(prefix="repro-code-") as scratch:
        try:
            return _take(_job(project, allow_dirty, include, Path(scratch)), into, sink)
        except OSError as problem:
            raise_if_full(problem, into)
            raise


def _job(project: Project, allow_dirty: bool, include: Sequence[str], scratch: Path) -> _Job:
    root = Path(project.root).resolve()
    repository = open_repository(root)
    head = repository.head()
    if head is None:
        raise ReproError(
            "snapshot-no-commit",
            "there is no commit yet; make one, then run again",
            found=f"`{repository.top}` is a git repository without a commit",
            why="what is packed is a commit, so that everybody can say what it was",
            tries="git add -A && git commit -m 'first'",
        )
    relative = root.relative_to(repository.top.resolve()).as_posix()
    folder = "" if relative == "." else relative
    path = project.settings.eval.path
    eval_set = posixpath.normpath(posixpath.join(folder, path)) if path else ""
    return _Job(
        repository=repository,
        head=head,
        folder=folder,
        eval_set="" if eval_set == "." else eval_set,
        command=tuple(project.settings.code.command),
        include=tuple(include),
        allow_dirty=allow_dirty,
        scratch=scratch,
    )


def _take(job: _Job, into: Path, sink: Sink) -> Snapshot:
    commit_tree = job.repository.tree(job.head.commit)
    if not any(under(e.path, job.folder) for e in commit_tree):
        raise _nothing_tracked(job)
    state = _state(job, commit_tree)
    entries = state.scope.entries
    parts = submodules.collect(job.repository, job.head.commit, entries)
    content = gather(state.repository, entries, parts, state.named, job.scratch)
    warnings = [*state.scope.warnings, *content.warnings, *_check_secrets(job, state, content)]
    warnings += said.left_out(state.changes, state.packed.left_out if state.packed else [])
    warnings += said.names(state.changes, content.data)
    warnings += [w for part in parts for w in part.warnings] + secrets.in_config(job.repository.config)
    warnings += attributes.warnings(job.repository, content.data) + large(content.data)
    warnings += unpacked.judge(
        job.repository.top, job.folder, job.command, state.changes.ignored, content.data
    )
    archive.write(into / "code.tar", content.entries, content.data)
    snapshot = Snapshot(
        commit=job.head.commit,
        branch=job.head.branch,
        commit_time=job.head.time,
        tree=tree_id(content, parts, job.folder),
        subfolder=job.folder,
        num_files=len(content.entries),
        code_sha256=sha256_file(into / "code.tar"),
        patch=_write_patch(state, into),
        submodules=[part.record for part in parts],
        warnings=warnings,
    )
    write_whole(into / "snapshot.json", pretty(snapshot))
    branch = f"branch {shown(snapshot.branch)}" if snapshot.branch else "branch: none (detached)"
    sink(Note("note", f"commit {snapshot.commit}, {branch}, {snapshot.num_files} files"))
    return snapshot


def _nothing_tracked(job: _Job) -> ReproError:
    return ReproError(
        "snapshot-nothing-tracked",
        f"the commit holds no file of `{shown(job.folder or '.')}`",
        found=f"commit {job.head.commit} of the repository `{job.repository.top}`",
        needs="the project's files in the commit",
        tries=["git add -A && git commit", "git init      (if the project is to be a repository of its own)"],
    )


def _state(job: _Job, commit_tree: list[Entry]) -> _State:
    """Look at the project's folder, then also at what it turns out to need beside it."""
    paths = [job.folder]
    while True:
        changes = dirty.inspect(job.repository, commit_tree, paths)
        _check_changes(job, changes)
        can_be_named = [*(e.path for e in commit_tree), *changes.untracked, *changes.products]
        named = resolve(job.include, job.folder, can_be_named)
        packed = _with_changes(job, changes, named)
        repository = packed.repository if packed else job.repository
        tree = repository.tree(packed.tree) if packed else commit_tree
        chosen = scope.choose(tree, job.folder, named, partial(_one, repository, job.scratch))
        if set(chosen.beside) <= set(paths):
            return _State(repository, commit_tree, changes, packed, named, chosen)
        paths = [job.folder, *chosen.beside]


def _one(repository: Repository, scratch: Path, entry: Entry) -> bytes:
    return whole(next(iter(repository.blobs([entry.oid], scratch)))[1])


def _check_changes(job: _Job, changes: Changes) -> None:
    if changes.unmerged:
        raise refuse_unmerged(changes.unmerged)
    if changes.submodules:
        raise submodules.moved(changes.submodules)
    if changes and not job.allow_dirty:
        settings = posixpath.join(job.folder, "repro.toml")
        raise refuse(changes, new_settings=list(changes.untracked) == [settings] and not changes.tracked)


def _with_changes(job: _Job, changes: Changes, named: Sequence[str]) -> dirty.Packed | None:
    if not changes and not set(changes.products) & set(named):
        return None
    store = Path(tempfile.mkdtemp(prefix="changes-", dir=job.scratch))
    return dirty.with_changes(job.repository, job.head.commit, changes, named, job.eval_set, store)


def _check_secrets(job: _Job, state: _State, content: Content) -> list[Warned]:
    """Refuse credentials, but for those in tracked files that the user named; these are warned about."""
    hits = secrets.search(content.data)
    kept = [h for h in hits if h.line and h.path in state.named]
    rest = [h for h in hits if h not in kept]
    if state.packed:
        gone = [e.path for e in state.commit_tree if under(e.path, job.folder) and e.path not in content.data]
        rest += [
            secrets.Hit(p, 0, "file for credentials, removed by the patch")
            for p in gone
            if secrets.is_secret_file(p)
        ]
        rest += secrets.in_patch("dirty.patch", state.packed.patch) if not hits else []
    secrets.refuse(rest)
    return [
        Warned(
            code="secret-kept",
            where=h.where,
            text=f"{h.where}: {h.kind}, packed since --include names the file",
        )
        for h in kept
    ]


def _write_patch(state: _State, into: Path) -> Patch | None:
    if state.packed is None:
        return None
    write_whole(into / "dirty.patch", state.packed.patch)
    return Patch(
        sha256=sha256_bytes(state.packed.patch),
        bytes=len(state.packed.patch),
        changed=[shown(p) for p in state.changes.tracked],
        untracked=[shown(p) for p in state.packed.untracked],
    )
