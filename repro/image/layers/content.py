"""The small layers of a bundle's own content: runtime, evaluation set, code with its parameters."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from repro import tarball
from repro.files import sha256_file
from repro.image.layers.piece import Piece, Pieces, in_archive
from repro.image.layers.wheel import ENV
from repro.model import canonical
from repro.model.bundle import Manifest
from repro.model.image import Role
from repro.model.snapshot import EvalSet
from repro.tarball import Member

_TOP = "opt/repro"
_RUNTIME = "repro_runtime"
_REJOIN = "inject/repro_runtime.pth"
# As the Dockerfile copies them; those that are there.
_FILES = ("params.json", "eval.json", "protocol.json", "snapshot.json", "identity.json", "stack.json")


def layers(
    folder: Path, manifest: Manifest, python: str, evalset: EvalSet, pieces: Pieces
) -> list[tuple[Role, Piece]]:
    """The layers above the environment, in the order of how seldom they change."""
    found: list[tuple[Role, Piece]] = [("runtime", _runtime(folder, python, pieces))]
    if (folder / "eval").is_dir():
        found.append(("eval", _eval(folder, evalset, pieces)))
    return [*found, ("code", _code(folder, manifest, pieces))]


def _runtime(folder: Path, python: str, pieces: Pieces) -> Piece:
    home = folder / _RUNTIME
    members = [
        *tarball.folder_members(home, f"{_TOP}/{_RUNTIME}"),
        Member(f"{ENV}/lib/python{python}/site-packages/repro_runtime.pth", home / _REJOIN),
    ]
    digests = [[m.name, m.executable, sha256_file(m.source)] for m in members if isinstance(m.source, Path)]
    return pieces.get(["runtime", digests], lambda: _given(members))


def _eval(folder: Path, evalset: EvalSet, pieces: Pieces) -> Piece:
    """Found by the digests that the snapshot took: a large set is not read again for each build."""
    members = tarball.folder_members(folder / "eval", f"{_TOP}/bundle/eval")
    modes = [[member.name, member.executable] for member in members]
    return pieces.get(["eval", canonical.digest(evalset.files), modes], lambda: _given(members))


def _code(folder: Path, manifest: Manifest, pieces: Pieces) -> Piece:
    there = [name for name in _FILES if (folder / name).is_file()]
    key = [[name, sha256_file(folder / name)] for name in (*there, "code.tar")]

    @contextmanager
    def given() -> Iterator[list[Member]]:
        code = in_archive(folder / "code.tar", f"{_TOP}/bundle")
        params = tarball.folder_members(folder / "params", f"{_TOP}/bundle/params")
        files = [Member(f"{_TOP}/bundle/{name}", folder / name) for name in there]
        yield [*code, *params, *files]

    return pieces.get(["code", manifest.identity.params, key], given)


@contextmanager
def _given(members: Iterable[Member]) -> Iterator[Iterable[Member]]:
    yield members
