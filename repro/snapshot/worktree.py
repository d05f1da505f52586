"""Differences between the working tree and the commit, and the errors for them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from repro.errors import ReproError
from repro.snapshot.names import listed, shown, size


@dataclass
class Changes:
    """Differences inside the project; paths relative to the repository, sizes in bytes.

    `secret`, `products` and `environments` (folders of virtual environments) are untracked, never packed,
    and do not count; `ignored` is what git ignores; `unmerged` are conflicts of a merge.
    """

    changed: list[str] = field(default_factory=list)
    staged: list[str] = field(default_factory=list)
    untracked: dict[str, int] = field(default_factory=dict)
    repositories: list[str] = field(default_factory=list)
    submodules: list[str] = field(default_factory=list)
    unmerged: list[str] = field(default_factory=list)
    environments: list[str] = field(default_factory=list)
    secret: list[str] = field(default_factory=list)
    products: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)

    @property
    def tracked(self) -> list[str]:
        """Tracked paths that differ from the commit."""
        return sorted({*self.changed, *self.staged})

    def __bool__(self) -> bool:
        return bool(self.changed or self.staged or self.untracked)


def refuse(changes: Changes, *, new_settings: bool) -> ReproError:
    """The error for a working tree that is not the commit; `new_settings` when only a new repro.toml is."""
    total = sum(changes.untracked.values())
    counts = [
        f"{len(changes.changed)} changed" if changes.changed else "",
        f"{len(changes.staged)} staged" if changes.staged else "",
        f"{len(changes.untracked)} untracked ({size(total)})" if changes.untracked else "",
    ]
    biggest_first = sorted(changes.untracked, key=lambda p: (-changes.untracked[p], p))
    found = [f"changed    {p}" for p in listed(changes.changed)] + [
        f"staged     {p}" for p in listed(changes.staged)
    ]
    found += [f"untracked  {shown(p)} ({size(changes.untracked[p])})" for p in biggest_first[:20]]
    found += [f"untracked  and {len(biggest_first) - 20} more"] if len(biggest_first) > 20 else []
    commit = "git add repro.toml && git commit -m 'add repro.toml'"
    tries = [commit] if new_settings else ["git add -A && git commit", "git stash --include-untracked"]
    return ReproError(
        "snapshot-dirty",
        f"the working tree differs from the commit: {', '.join(c for c in counts if c)}",
        found=found,
        needs="a working tree that is the commit",
        why="the bundle would run other code than the commit that it names",
        done="nothing was packed",
        tries=[
            *tries,
            "repro build --allow-dirty      (packs the difference too; the bundle then equals no commit)",
        ],
    )


def refuse_unmerged(paths: Sequence[str]) -> ReproError:
    """The error for a merge or rebase that stopped at conflicts; --allow-dirty does not help."""
    return ReproError(
        "snapshot-unmerged",
        f"a merge is not finished: {len(paths)} file{'s' if len(paths) > 1 else ''} with conflicts",
        found=listed(paths),
        needs="a working tree without conflicts",
        why="such a file holds both sides at once, between marks that no program can read",
        done="nothing was packed",
        tries=[
            "resolve the conflicts, then: git add -A && git commit",
            "git merge --abort   (or: git rebase --abort)",
        ],
    )
