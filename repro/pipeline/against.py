"""Runs a bundle beside a reference, cheap questions first: 16 steps, a replayed one, then the training."""

from dataclasses import dataclass, replace
from pathlib import Path

from repro import report
from repro.bundle import Bundle, find_run
from repro.compare.rounding.watch import Alarm
from repro.engine.contract import EngineName
from repro.errors import ReproError
from repro.events import Note, Sink, step
from repro.files import write_whole
from repro.model import canonical
from repro.model.verdict import Verdict
from repro.pipeline.compare import REFERENCE, compare, reference_for, side, verdict_file
from repro.pipeline.follow import STOPS, Beside, Follower
from repro.pipeline.ready import Ready, ready
from repro.pipeline.replay import needed, outside, replay_beside
from repro.pipeline.run import How, once
from repro.run import Ended, RunOptions

FIRST_STEPS = 16


@dataclass(frozen=True)
class Judged:
    """A run beside its reference: the last that was run, the verdict on it, that of the first steps.

    `kept` is the file with the verdict; `stopped` says why it was ended early, empty when it was not.
    """

    ended: Ended
    verdict: Verdict
    first: Verdict
    kept: Path
    stopped: str = ""


def against(
    bundle: Bundle,
    engine: EngineName,
    options: RunOptions,
    word: str,
    stop_on: str,
    sink: Sink,
    how: How,
) -> Judged:
    """Run 16 steps, tell the numerics, replay the first step outside, then train in full, watched.

    `word` is `reference` for the bundle's own, or a run. The verdict is kept beside the run.

    Raises:
        reference-missing: the bundle has none. And what `repro.pipeline.run.run` raises.
    """
    beside = _beside(bundle, word, stop_on)
    at = ready(bundle, engine, sink, options.host)
    first, early = _first_steps(at, beside, options, sink, how)
    if early.numerics == "beyond-rounding":
        _replay(at, beside, options, first.folder, early, sink)
        early = compare(beside.run, first.folder)
    kept = _keep(first.folder, beside, early)
    if early.numerics in STOPS[stop_on] or (stop_on != "never" and early.outcome == "diverged"):
        why = f"the first {FIRST_STEPS} steps are {early.numerics}: the training was not started"
        sink(Note("warning", why))
        return Judged(first, early, early, kept, why)
    ended, alarm = _train(at, beside, options, sink, how)
    with step(sink, "compare"):
        verdict = compare(beside.run, ended.folder)
    kept = _keep(ended.folder, beside, verdict)
    return Judged(ended, verdict, early, kept, f"step {alarm.step}: {alarm.text}" if alarm else "")


def _beside(bundle: Bundle, word: str, stop_on: str) -> Beside:
    if word == REFERENCE:
        known = needed(bundle.path)
        return Beside(known.places.run, known, stop_on)
    path = find_run(word, Path.cwd())
    return Beside(path, reference_for(path, side(path)), stop_on)


def _first_steps(
    at: Ready,
    beside: Beside,
    options: RunOptions,
    sink: Sink,
    how: How,
) -> tuple[Ended, Verdict]:
    short = replace(
        options,
        label=f"{options.label}-first" if options.label else "first",
        plan=replace(options.plan, stop=FIRST_STEPS),
    )
    with step(sink, f"steps 1 to {FIRST_STEPS}") as shown:
        ended = once(at, short, sink, how)
        verdict = compare(beside.run, ended.folder)
        shown.detail = f"numerics: {_numerics(verdict)}"
    return ended, verdict


def _numerics(verdict: Verdict) -> str:
    rows = [row for row in (verdict.envelope.rows if verdict.envelope else []) if row.judged and row.ratio]
    worst = max(rows, key=lambda row: row.ratio or 0.0, default=None)
    first = verdict.first
    where = f", first in {first.signal} at step {first.step}" if first else ", equal in every bit so far"
    beside = f", at most {worst.ratio:.3g} times the noise envelope (step {worst.step})" if worst else ""
    return f"{verdict.numerics}{where}{beside}"


def _replay(at: Ready, beside: Beside, options: RunOptions, run: Path, verdict: Verdict, sink: Sink) -> None:
    """Replay the first step outside beside the run; its origin is told, and found by later comparisons."""
    known = beside.reference
    if known is None or not known.record.dense:
        sink(Note("note", "no step was replayed: the reference has no dense steps"))
        return
    try:
        _, steps = replay_beside(at, known, run, options, outside(verdict) or 1, sink)
    except ReproError as problem:
        # The answer of the first steps stands without it, and a rented hour must not end here.
        sink(Note("warning", f"the replay failed: {problem.message}"))
        return
    found = compare(beside.run, run).replay
    origin = found.origin if found else None
    if origin is None:
        sink(Note("note", f"replay of step {steps[-1]}: no module differs when it starts from equal numbers"))
        return
    module = origin.module or "the outermost module"
    text = (
        f"replay of step {origin.step}: arises in {module} ({origin.class_}, {origin.phase}): {origin.kind}"
    )
    sink(Note("warning", text))


def _train(
    at: Ready,
    beside: Beside,
    options: RunOptions,
    sink: Sink,
    how: How,
) -> tuple[Ended, Alarm | None]:
    run_id = at.new_id(options)
    follower = Follower(beside, (how.out or at.bundle.path / "runs") / run_id, sink)
    with follower.following():
        ended = once(at, options, sink, how, stop=follower.stop, run_id=run_id)
    return ended, (follower.doom if ended.record.status == "stopped" else None)


def _keep(run: Path, beside: Beside, verdict: Verdict) -> Path:
    file = verdict_file(run, beside.run)
    write_whole(file, canonical.pretty(report.document(verdict)))
    return file
