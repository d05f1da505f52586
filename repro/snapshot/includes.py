"""What the user names with `--include`: large untracked files, folders beside the project, links to copy."""

import posixpath
from collections.abc import Iterable, Sequence

from repro.errors import ReproError
from repro.snapshot.names import shown, under
from repro.snapshot.secrets import is_secret_file


def resolve(given: Sequence[str], folder: str, present: Iterable[str]) -> list[str]:
    """The named paths relative to the repository, in the order given.

    Args:
        given: relative to the project or, if that is not there, to the repository.
        folder: the project's, relative to the repository.
        present: paths that can be packed: those of the commit and untracked ones, but none that git ignores.

    Raises:
        snapshot-include: a name that leaves the repository, matches nothing, or is a file for credentials.
    """
    present = list(present)
    return [_resolve(name, folder, present) for name in given]


def _resolve(name: str, folder: str, present: list[str]) -> str:
    choices = [posixpath.normpath(posixpath.join(folder, name)), posixpath.normpath(name)]
    for path in choices:
        if is_secret_file(path):
            raise _wrong(name, "is a file for credentials, which are never packed")
        if path != "." and any(under(p, path) for p in present):
            return path
    raise _wrong(name, "is not a file or folder of the repository that could be packed")


def _wrong(name: str, reason: str) -> ReproError:
    return ReproError(
        "snapshot-include",
        f"`--include {shown(name)}` {reason}",
        found=shown(name),
        needs="a path of the commit, or an untracked one that git does not ignore",
        done="nothing was packed",
        tries="git status --short --ignored",
    )
