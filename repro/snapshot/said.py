"""What is said about what was left out of the code, and about names."""

from collections.abc import Collection, Iterable

from repro.model.snapshot import Warned
from repro.snapshot import leftovers, secrets
from repro.snapshot.names import collisions, shown, size
from repro.snapshot.worktree import Changes


def left_out(changes: Changes, large: Iterable[str]) -> list[Warned]:
    """Warnings about what is not packed; `large` are untracked files too large to be taken unasked."""
    found = secrets.left_out(
        [*changes.secret, *(p for p in changes.ignored if secrets.is_secret_file(p.rstrip("/")))]
    )
    for path in large:
        num = size(changes.untracked[path])
        text = f"{shown(path)} ({num}) is untracked and large: left out; --include packs it"
        found.append(Warned(code="untracked-left-out", where=shown(path), text=text))
    for path in changes.environments:
        text = f"{shown(path)} is a virtual environment: left out; packages come from the lock"
        found.append(Warned(code="environment-left-out", where=shown(path), text=text))
    for path in changes.repositories:
        text = f"{shown(path)} is a repository of its own, not a submodule: left out"
        found.append(Warned(code="nested-repository", where=shown(path), text=text))
    return found


def names(changes: Changes, packed: Collection[str]) -> list[Warned]:
    """Warnings about build products, and about names that collide."""
    left = [p for p in changes.products if p not in packed]
    return leftovers.warnings(changes.ignored, left, packed) + collisions(packed)
