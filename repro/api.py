"""What `repro compare` does, for programs.

    from repro import api

    verdict = api.compare("reference", "runs/0005-a100", allow=["params.precision"])
    print(verdict.verdict, verdict.numerics, verdict.basis, verdict.first)

Runs are named as on the command line: by folder, by the first letters of an id, or by label, looked up below
the current folder. Nothing is printed; what goes wrong is a `repro.errors.ReproError` with its code.
"""

from collections.abc import Collection, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

from repro import compare as judges
from repro.bundle import find_run
from repro.compare import Side
from repro.model.verdict import Verdict
from repro.pipeline import compare as pipeline

__all__ = ["Run", "Side", "Verdict", "compare", "exit_status", "load"]

Run: TypeAlias = "str | PathLike[str] | Side"


def compare(
    a: Run,
    b: Run,
    *,
    allow: Collection[str] = (),
    members: Sequence[Run] = (),
    dense: tuple[Run, Run] | None = None,
) -> Verdict:
    """The verdict for a reference `a` and a candidate `b`.

    Args:
        a: the reference: a run's name, or one that was loaded.
        b: the candidate.
        allow: protocol keys, or leading parts of dotted keys, that may differ; the verdict says so.
        members: noise members of `a`: repeats of it, and runs of it whose weights were moved by rounding.
            Without any, those of the bundle that `a` lies in are taken where both runs are given by name.
        dense: runs of single steps of both sides, module by module.

    Raises:
        run-not-found: a name means no run, or more than one.
        run-unreadable, trace-damaged, trace-too-new: a run cannot be read.
        reference-unreadable: the bundle's reference is damaged.
    """
    if not (isinstance(a, Side) or isinstance(b, Side) or members or dense):
        return pipeline.compare(_folder(a), _folder(b), allow)
    both = (load(dense[0]), load(dense[1])) if dense else None
    return judges.judge(load(a), load(b), allow=allow, members=[load(run) for run in members], dense=both)


def load(run: Run) -> Side:
    """A run with its traces, read once to be compared several times.

    Raises:
        run-not-found: the name means no run, or more than one.
        run-unreadable, trace-damaged, trace-too-new: the run cannot be read.
    """
    return run if isinstance(run, Side) else pipeline.side(_folder(run))


def exit_status(verdict: Verdict) -> int:
    """The status with which `repro compare` ends on this verdict."""
    return judges.exit_status(verdict.verdict)


def _folder(run: str | PathLike[str]) -> Path:
    return find_run(fspath(run), Path.cwd())
