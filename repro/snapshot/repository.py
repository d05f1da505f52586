"""A git repository that is only read: its commit, trees, contents and settings.

Hooks, file system monitors, filters and external diffs are switched off, so that reading starts no
program of the repository's choice.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import IO

from repro.errors import ReproError
from repro.snapshot.git import Command, SaidNoError, execute, failed, reading

_SWITCHES = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.quotePath=false",
    "diff.external=",
    "submodule.recurse=false",
)
_FILTER_OFF = ("clean=", "smudge=", "process=", "required=false")
_LARGE = 4 << 20


@dataclass(frozen=True)
class Entry:
    """One path of a tree: git's mode (`100644`, `100755`, `120000`, `160000`) and object id."""

    mode: str
    oid: str
    path: str

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode == "120000"

    @property
    def is_submodule(self) -> bool:
        """Whether it is a submodule's commit."""
        return self.mode == "160000"


@dataclass(frozen=True)
class Head:
    """The commit that is checked out; `branch` is empty when it is detached, `time` in seconds since 1970."""

    commit: str
    branch: str
    time: int


@dataclass(frozen=True)
class Repository:
    """A repository: `top` of its working tree; `env` is added to each command."""

    top: Path
    env: Mapping[str, str] = field(default_factory=dict)

    def run(self, *args: str, stdin: bytes = b"") -> bytes:
        """What `git ARGS` writes, byte for byte.

        Raises:
            git-missing, git-dubious-ownership, git-failed.
        """
        command = self._command(args)
        try:
            return execute(command, stdin)
        except SaidNoError:
            raise failed(command, "exit status 1") from None

    def answers(self, *args: str) -> bytes | None:
        """Like `run`, but None when git says no by its exit status 1."""
        try:
            return execute(self._command(args))
        except SaidNoError:
            return None

    def _command(self, args: tuple[str, ...]) -> Command:
        off = [f"filter.{n}.{part}" for n in self._filters for part in _FILTER_OFF]
        return Command(self.top, args, (*_SWITCHES, *off), self.env)

    @cached_property
    def config(self) -> list[tuple[str, str]]:
        """Every configured key with its value, keys in the case that git gives them."""
        rows = execute(Command(self.top, ("config", "--list", "-z"), env=self.env)).split(b"\0")
        pairs = (row.decode("utf-8", "surrogateescape").partition("\n") for row in rows if row)
        return [(key, value) for key, _, value in pairs]

    @cached_property
    def _filters(self) -> list[str]:
        # A name with `=` cannot be written on git's command line; no filter in use has one.
        names = {
            key.removeprefix("filter.").rpartition(".")[0]
            for key, _ in self.config
            if key.startswith("filter.")
        }
        return sorted(name for name in names if "=" not in name)

    def path(self, name: str) -> Path:
        """Where git keeps something, as `objects` or `lfs`; shared by all working trees."""
        common = self.run("rev-parse", "--git-common-dir").removesuffix(b"\n")
        return self.top / os.fsdecode(common) / name

    def head(self) -> Head | None:
        """The commit that is checked out, or None before the first one."""
        commit = self.answers("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if commit is None:
            return None
        oid = commit.decode().strip()
        fields = self.run("cat-file", "commit", oid).partition(b"\n\n")[0]
        committer = next(row for row in fields.split(b"\n") if row.startswith(b"committer "))
        reference = (
            (self.answers("symbolic-ref", "--quiet", "HEAD") or b"").decode("utf-8", "replace").strip()
        )
        return Head(oid, reference.removeprefix("refs/heads/"), int(committer.split()[-2]))

    def has_commit(self, commit: str) -> bool:
        """Whether the objects of this repository hold a commit."""
        return self.answers("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}") is not None

    def tree(self, commit: str) -> list[Entry]:
        """Every path of a commit or tree, files and submodules, relative to the top."""
        found = []
        for row in self.run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            if row:
                about, _, path = row.partition(b"\t")
                mode, _, oid = about.decode().split(" ")
                found.append(Entry(mode, oid, os.fsdecode(path)))
        return found

    def blobs(self, oids: Sequence[str], spill: Path) -> Iterator[tuple[str, bytes | Path]]:
        """Content of objects, in one process; what is larger than 4 MiB goes to a file in `spill`.

        Raises:
            snapshot-object-missing: the repository is incomplete.
        """
        wanted = list(dict.fromkeys(oids))
        with tempfile.TemporaryFile() as asked:
            asked.write("".join(f"{oid}\n" for oid in wanted).encode())
            asked.seek(0)
            with reading(self._command(("cat-file", "--batch")), asked) as out:
                for oid in wanted:
                    yield oid, _next_blob(out, oid, spill)

    def with_env(self, **extra: str) -> "Repository":
        """The same repository, read with more variables."""
        return replace(self, env={**self.env, **extra})


def open_repository(folder: Path) -> Repository:
    """The repository whose working tree `folder` lies in.

    Raises:
        not-a-repository, git-missing, git-dubious-ownership.
    """
    try:
        top = Repository(folder).run("rev-parse", "--show-toplevel")
    except ReproError as problem:
        said = " ".join(problem.found)
        if problem.code != "git-failed" or not re.search(
            "not a git repository|must be run in a work tree", said
        ):
            raise
        raise _not_a_repository(folder, said) from None
    return Repository(Path(os.fsdecode(top.removesuffix(b"\n"))))


def _not_a_repository(folder: Path, said: str) -> ReproError:
    link = folder / ".git"
    bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
    tries = ["git init && git add -A && git commit -m 'first'"]
    if bare:
        tries = [f"git clone {folder} WORKTREE      (this is a bare repository)"]
    elif link.is_file():
        tries = ["git worktree repair      (in the main repository, which was moved)"]
    return ReproError(
        "not-a-repository",
        f"`{folder}` does not lie in the working tree of a git repository",
        found=said,
        why="what is packed is a commit, so that everybody can say what it was",
        tries=tries,
    )


def _next_blob(out: IO[bytes], oid: str, spill: Path) -> bytes | Path:
    head = out.readline().split()
    if len(head) != 3:
        raise ReproError(
            "snapshot-object-missing",
            f"the repository does not hold object {oid}, which the commit needs",
            found=" ".join(h.decode("utf-8", "replace") for h in head) or "no answer from git",
            why="the clone is partial or damaged",
            tries=["git fetch --refetch", "git fsck"],
        )
    size = int(head[2])
    content: bytes | Path = spill / oid if size > _LARGE else out.read(size)
    if isinstance(content, Path):
        with content.open("wb") as f:
            while size:
                piece = out.read(min(size, 1 << 20))
                f.write(piece)
                size -= len(piece)
    out.read(1)
    return content
