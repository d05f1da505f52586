"""Runs git. The one module that imports GitPython.

Only plumbing commands run, in an environment made anew for each: nothing that a CI system or a
user's shell sets (GIT_DIR, GIT_INDEX_FILE, GITHUB_SHA, ...) can move what is read.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from repro.errors import ReproError
from repro.redact import text as redacted

_KEPT = (
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "TMPDIR",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
)
_FIXED = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_PAGER": "cat",
}


@dataclass(frozen=True)
class Command:
    """One call of git: `settings` are given with -c, `env` is added to the fixed environment."""

    folder: Path
    args: tuple[str, ...]
    settings: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    def words(self) -> list[str]:
        """The whole command line. `env -i`, since GitPython can add to an environment but not take away."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        variables = [f"{name}={value}" for name, value in {**kept, **_FIXED, **self.env}.items()]
        switches = [word for setting in self.settings for word in ("-c", setting)]
        return ["env", "-i", *variables, "git", "--no-pager", *switches, *self.args]


class SaidNoError(Exception):
    """Git ended with status 1 and without a message, which is how it answers no."""


def _git(folder: Path) -> Any:
    try:
        from git.cmd import Git
    except ImportError as problem:  # GitPython looks for the program when it is imported
        raise _missing(str(problem).strip().splitlines()[0]) from None
    return Git(str(folder))


def _missing(found: str) -> ReproError:
    return ReproError(
        "git-missing",
        "the program `git` is not on this machine, or not on PATH",
        found=found,
        needs="git 2.25 or newer",
        tries="apt-get install git",
    )


def execute(command: Command, stdin: bytes = b"") -> bytes:
    """What git writes, byte for byte.

    Raises:
        git-missing, git-dubious-ownership, git-failed; SaidNoError for a bare exit status 1.
    """
    git = _git(command.folder)
    from git.exc import GitCommandError, GitCommandNotFound

    try:
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            out: bytes = git.execute(
                command.words(), istream=given, stdout_as_string=False, strip_newline_in_stdout=False
            )
            return out
    except GitCommandNotFound:
        raise _missing("git cannot be started") from None
    except GitCommandError as problem:
        raise _failure(command, problem) from None


def _failure(command: Command, problem: Any) -> Exception:
    said = _said(problem.stderr)
    if problem.status == 1 and not said:
        return SaidNoError()
    if "promisor" in said or "lazy fetch" in said:
        return lacking(said.splitlines()[-1])
    if "dubious ownership" in said:
        return _dubious(command.folder, said)
    return failed(command, said or f"exit status {problem.status}")


def lacking(found: str) -> ReproError:
    """The error for a clone that does not hold all objects of the commit."""
    return ReproError(
        "snapshot-object-missing",
        "the repository does not hold all content of the commit",
        found=found,
        why="the clone is partial or damaged; nothing is fetched unasked",
        done="nothing was packed",
        tries=["git fetch --refetch", "git fsck"],
    )


def failed(command: Command, said: str) -> ReproError:
    """The error with git's own message."""
    return ReproError(
        "git-failed",
        f"`git {command.args[0]}` failed in `{command.folder}`",
        found=redacted(said),
        done="nothing was written into the repository",
        tries=f"git -C {command.folder} fsck",
    )


def _said(stderr: Any) -> str:
    text = stderr.decode("utf-8", "replace") if isinstance(stderr, bytes) else str(stderr)
    # GitPython wraps what git wrote as: stderr: '...'
    match = re.search(r"stderr: '(.*)'\s*$", text, re.DOTALL)
    return (match[1] if match else text).strip()


def _dubious(folder: Path, said: str) -> ReproError:
    named = re.search(r"ownership in repository at '([^']+)'", said)
    place = named[1] if named else str(folder)
    return ReproError(
        "git-dubious-ownership",
        f"git refuses to read `{place}`, since another user owns it",
        found=f"you are user {os.getuid()}, the folder belongs to user {Path(place).stat().st_uid}",
        why="a repository's settings can start programs; git asks you to say that you trust this one",
        done="nothing was read",
        tries=f"git config --global --add safe.directory {place}",
    )


@contextmanager
def reading(command: Command, stdin: IO[bytes]) -> Iterator[IO[bytes]]:
    """Output of a git process as a stream; the process has ended when the block is left."""
    # GitPython ends the process when its own handle is forgotten, so the handle is kept.
    handle: Any = _git(command.folder).execute(command.words(), istream=stdin, as_process=True)
    process = handle.proc
    try:
        yield process.stdout
    finally:
        for stream in (process.stdout, process.stderr):
            stream.close()
        process.wait()
