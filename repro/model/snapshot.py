"""What exactly is packed: code, parameters and evaluation set, each by digest."""

from typing import Any

from repro.model.record import Record


class FileEntry(Record, kw_only=True):
    """One packed file: `path` relative to its root, size in bytes, hex SHA-256 of the content."""

    path: str
    bytes: int
    sha256: str


class Submodule(Record, kw_only=True):
    """A submodule that was packed, by the commit that the parent records."""

    path: str
    url: str
    commit: str


class Warned(Record, kw_only=True):
    """Something the user should know: `code` is a short name, `where` a file or file:line."""

    code: str
    where: str
    text: str


class Patch(Record, kw_only=True):
    """How the packed tree differs from the commit (only with --allow-dirty)."""

    sha256: str
    bytes: int
    changed: list[str]
    untracked: list[str]


class Snapshot(Record, kw_only=True):
    """The code that is packed.

    Attributes:
        commit: full id of HEAD; `branch` is empty when HEAD is detached.
        commit_time: seconds since 1970, of the committer.
        tree: git's id of the tree that was packed (of the subfolder, for a monorepo).
        subfolder: the project's folder relative to the repository, empty at its top.
        code_sha256: digest of `code.tar`.
        warnings: what was left out or looks odd, one entry a thing.
    """

    schema: int = 1
    commit: str
    branch: str
    commit_time: int
    tree: str
    subfolder: str
    num_files: int
    code_sha256: str
    patch: Patch | None = None
    submodules: list[Submodule] = []
    warnings: list[Warned] = []


class ParamSet(Record, kw_only=True):
    """Parameters as they are used.

    Attributes:
        file: name in the project, empty when there is none.
        source_sha256: digest of the file's own bytes.
        values: nested values; floats that JSON cannot hold are {"$float": "nan"} objects.
        overrides: what `--set` changed, as typed.
    """

    schema: int = 1
    file: str
    source_sha256: str
    values: dict[str, Any]
    overrides: dict[str, str] = {}
    warnings: list[Warned] = []


class EvalSet(Record, kw_only=True):
    """The evaluation set, file by file. `path` is where the program expects it, in the project."""

    schema: int = 1
    path: str
    files: list[FileEntry] = []
    warnings: list[Warned] = []
