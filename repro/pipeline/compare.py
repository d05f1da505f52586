"""Reads two runs and judges how they diverge, with what the bundle around the first one knows of noise."""

from collections.abc import Collection, Sequence
from pathlib import Path

from repro import compare as judges
from repro import trace
from repro.bundle import Reference, bundle_around, reference_of
from repro.compare import groups
from repro.errors import ReproError
from repro.model.verdict import Verdict
from repro.pipeline.parts import first_other_weights, last_step

Dense = tuple[judges.Side, judges.Side]
REFERENCE, REPLAY = "reference", "replay"


def compare(
    a: Path,
    b: Path,
    allow: Collection[str] = (),
    *,
    members: Sequence[Path] = (),
    dense: tuple[Path, Path] | None = None,
) -> Verdict:
    """The verdict for two run folders; `allow` names protocol keys that may differ.

    `members` are runs of the reference moved by rounding, `dense` runs of single steps of both sides. Where
    none are given, those of the bundle that `a` lies in are taken, if `a` is its reference or equal to it.

    Raises:
        run-unreadable, trace-damaged, trace-too-new: a run cannot be read.
        reference-unreadable: the bundle's reference is damaged.
    """
    one, other = side(a), side(b)
    beside, steps = _evidence(a, one, other, members, dense)
    return judges.judge(one, other, allow=allow, members=beside, dense=steps)


def compare_groups(
    a: Sequence[Path],
    b: Sequence[Path],
    allow: Collection[str] = (),
    *,
    members: Sequence[Path] = (),
    dense: tuple[Path, Path] | None = None,
) -> Verdict:
    """One verdict for the runs `a` against the runs `b`, with statistics where a side has more than one.

    Raises:
        compare-overlap: a run stands on both sides. And what `compare` raises.
    """
    if len(a) == len(b) == 1:
        return compare(a[0], b[0], allow, members=members, dense=dense)
    if twice := {path.resolve() for path in a} & {path.resolve() for path in b}:
        raise _overlap(sorted(path.name for path in twice))
    reference, candidates = [side(path) for path in a], [side(path) for path in b]
    one, other = groups.first_pair(reference, candidates)
    beside, steps = _evidence(a[reference.index(one)], one, other, members, dense)
    return groups.judge(reference, candidates, allow=allow, members=beside, dense=steps)


def verdict_file(run: Path, reference: Path) -> Path:
    """Where a verdict on a run is kept, in its folder; a bundle's own reference is called so."""
    own = reference.resolve().parent.name == REFERENCE
    return run / f"verdict-{REFERENCE if own else reference.resolve().name}.json"


def _evidence(
    path: Path,
    one: judges.Side,
    other: judges.Side,
    members: Sequence[Path],
    dense: tuple[Path, Path] | None,
) -> tuple[list[judges.Side], Dense | None]:
    """Noise members of the first run, and dense steps of both: those named, else those of its bundle."""
    known = reference_for(path, one) if not (members and dense) else None
    beside = [side(member) for member in members or (known.members if known else [])]
    return beside, (side(dense[0]), side(dense[1])) if dense else _dense(known, other)


def _overlap(names: list[str]) -> ReproError:
    return ReproError(
        "compare-overlap",
        "a run stands on both sides of the comparison",
        found=names,
        needs="each run on one side only",
        tries=["repro show", "repro compare RUN1,RUN2 RUN3,RUN4"],
    )


def side(path: Path) -> judges.Side:
    """One run with its traces, as the judge takes it."""
    run = trace.read_run(path)
    return judges.Side(run, trace.read_trace(Path(run.folder)))


def reference_for(path: Path, read: judges.Side) -> Reference | None:
    """The reference of the bundle around a run, when its noise members are members of that run too.

    They are of the reference run itself, and of a run whose recorded weights are equal to its in every bit.
    """
    around = bundle_around(Path(read.run.path))
    found = reference_of(around) if around else None
    if found is None or path.resolve() == found.places.run.resolve():
        return found
    own = side(found.places.run)
    equal = last_step(read.traces) > 0 and first_other_weights(own.traces, read.traces) is None
    return found if equal else None


def _dense(known: Reference | None, other: judges.Side) -> Dense | None:
    """The dense steps of a reference beside those of a run: its own, or those of its replay."""
    if known is None or not known.record.dense:
        return None
    if other.run.attempt.plan.get("dense"):
        return side(known.places.dense), other
    replay = Path(other.run.path) / REPLAY
    return (side(known.places.dense), side(replay)) if any(replay.glob("attempt-*/run.json")) else None
