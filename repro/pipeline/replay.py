"""Runs single steps here from the reference's stored states, and compares them module by module."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from repro import redact
from repro.bundle import Bundle, Reference, bundle_around, open_bundle, reference_of
from repro.engine.contract import EngineName
from repro.errors import ReproError
from repro.events import Sink, step
from repro.files import folder_aside
from repro.model.record import Open
from repro.model.verdict import Verdict
from repro.pipeline.compare import REPLAY, compare, side
from repro.pipeline.ready import GIVEN, Ready, ready
from repro.run import Plan, RunOptions

_ROUNDING = ("equal", "rounding")


@dataclass(frozen=True)
class Replayed:
    """Dense steps that were run here: folder of that run, steps, and what comparing them says."""

    folder: Path
    steps: tuple[int, ...]
    verdict: Verdict

    @property
    def answer(self) -> Literal["rounding", "beyond", "unknown"]:
        """Whether what differs first is explained by rounding; `unknown` when nothing could be compared."""
        found = self.verdict.replay
        if found is None or not found.rows:
            return "unknown"
        origin = found.origin
        if origin is None or origin.kind in _ROUNDING:
            return "rounding"
        small = origin.relative is not None and origin.tolerance is not None
        return "rounding" if small and _inside(origin.relative, origin.tolerance) else "beyond"


def _inside(relative: float | None, tolerance: float | None) -> bool:
    return relative is not None and tolerance is not None and relative <= tolerance


class _Host(Open, kw_only=True):
    engine: dict[str, object] = {}
    gpus: str = "none"
    mounts: list[str] = []


def replay_bundle(
    bundle: Bundle, engine: EngineName, options: RunOptions, at_step: int, sink: Sink
) -> Replayed:
    """Replay on this machine; the dense run is an ordinary run of the bundle.

    `at_step` 0 takes all dense steps of the reference, else the nearest one at or before it.

    Raises:
        reference-missing: the bundle has none. replay-no-state: no state is stored for that step.
    """
    known = needed(bundle.path)
    steps = chosen(known, at_step)
    at = ready(bundle, engine, sink)
    options = replace(options, label=options.label or REPLAY)
    run_id = at.new_id(options)
    folder = bundle.path / "runs" / run_id
    perform(at, known, folder, run_id, options, steps, sink)
    return Replayed(folder, steps, compare(known.places.run, folder))


def replay_run(
    run: Path, engine: EngineName | None, changes: RunOptions, at_step: int, sink: Sink
) -> Replayed:
    """Replay under the conditions of a run: its engine, variables, parameters, with `changes`.

    `at_step` 0 takes the first step at which the run lies outside the reference. The dense run lies in the
    run's folder, where later comparisons find it.

    Raises:
        replay-no-bundle: the run does not lie in a bundle. replay-mounts: it had mounts that are not given.
    """
    bundle = _bundle_of(run)
    known = needed(bundle.path)
    at_step = at_step or outside(compare(known.places.run, run))
    host = _host(run)
    at = ready(bundle, engine or _engine(host), sink)
    options = _options(run, host, changes)
    folder, steps = replay_beside(at, known, run, options, at_step, sink)
    return Replayed(folder, steps, compare(known.places.run, run))


def replay_beside(
    at: Ready, known: Reference, run: Path, options: RunOptions, at_step: int, sink: Sink
) -> tuple[Path, tuple[int, ...]]:
    """Folder of the dense run made beside `run` with these options, and its steps."""
    steps = chosen(known, at_step)
    target = run / REPLAY
    if (run / GIVEN).is_dir() and not options.params:
        options = replace(options, params=GIVEN)
    with folder_aside(run, REPLAY) as aside:
        if options.params:
            shutil.copytree(run / GIVEN, aside.path / GIVEN)
        perform(at, known, aside.path, f"{at.new_id(options)}", options, steps, sink)
        aside.replace(target)
    return target, steps


def perform(
    at: Ready, known: Reference, folder: Path, run_id: str, options: RunOptions, steps: Sequence[int],
    sink: Sink,
) -> None:  # fmt: skip
    """Run the dense steps in `folder`, each from the reference's stored state."""
    plan = Plan(seed=known.places.seed(), dense=tuple(steps), states=known.places.states, stop=max(steps))
    with step(sink, REPLAY) as shown:
        at.perform(folder, run_id, replace(options, plan=plan), sink)
        shown.detail = f"module by module: steps {', '.join(map(str, steps))}"


def needed(bundle: Path) -> Reference:
    """The bundle's reference, or the error that says how to make one."""
    found = reference_of(bundle)
    if found is not None:
        return found
    raise ReproError(
        "reference-missing",
        f"bundle `{bundle.name}` has no reference",
        found=f"no `{bundle / 'reference' / 'reference.json'}`",
        needs="the reference run, its noise members and stored states, made where the numbers are trusted",
        done="nothing was run",
        tries=[f"repro run {bundle} --make-reference"],
    )


def chosen(known: Reference, at_step: int) -> tuple[int, ...]:
    """Dense steps to replay: all for 0, else the nearest one at or before that step."""
    dense = known.record.dense
    before = [n for n in dense if n <= at_step]
    steps = tuple(dense) if not at_step else tuple(before[-1:])
    if steps:
        return steps
    raise ReproError(
        "replay-no-state",
        f"step {at_step} cannot be replayed" if at_step else "no step can be replayed",
        found=f"dense steps of the reference: {', '.join(map(str, dense)) or 'none'}",
        needs="a dense step of the reference at or before it",
        done="nothing was run",
        tries=[f"repro run {known.places.bundle} --make-reference --dense 1,{max(at_step, 2)}"],
    )


def outside(verdict: Verdict) -> int:
    """First step of a run that lies outside the envelope, else the first that differs; 0 if none."""
    rows = verdict.envelope.rows if verdict.envelope else []
    factor = verdict.envelope.factor if verdict.envelope else 0.0
    for row in rows:
        if row.judged and row.ratio is not None and row.ratio > factor:
            return max(row.step, 1)
    return max(verdict.first.step, 1) if verdict.first else 0


def _bundle_of(run: Path) -> Bundle:
    around = bundle_around(run)
    if around is not None:
        return open_bundle(around)
    raise ReproError(
        "replay-no-bundle",
        f"run `{run.name}` does not lie in a bundle",
        found=f"`{run.parent}` is not the folder `runs` of a bundle",
        needs="a run of a bundle, which says what to start and has the states to start from",
        done="nothing was run",
        tries=[
            "repro replay BUNDLE",
            "repro record --seed-state FILE --dense N --sync DIR --out DIR -- COMMAND",
        ],
    )


def _host(run: Path) -> _Host:
    try:
        return msgspec.json.decode((run / "host.json").read_bytes(), type=_Host)
    except (OSError, msgspec.MsgspecError):
        return _Host()  # a record that was carried here without it: the options say the rest


def _engine(host: _Host) -> EngineName:
    return "inplace" if host.engine.get("kind") == "inplace" else "docker"


def _options(run: Path, host: _Host, changes: RunOptions) -> RunOptions:
    """Options of the run, with variables and mounts changed, and other cards where some are named."""
    if missing := sorted(set(host.mounts) - set(changes.mounts)):
        raise ReproError(
            "replay-mounts",
            f"run `{run.name}` was shown folders of its machine, and their places are not recorded",
            found=missing,
            needs="the same folders again",
            done="nothing was run",
            tries=[f"repro replay {run} --mount {missing[0]}=FOLDER"],
        )
    recorded = side(run).run.attempt.environment
    if masked := sorted(k for k, v in recorded.items() if redact.MASK in v and k not in changes.env):
        raise ReproError(
            "replay-variables",
            f"run `{run.name}` was given secrets, and their values are not recorded",
            found=masked,
            needs="the same variables again",
            done="nothing was run",
            tries=[f"repro replay {run} --env {masked[0]}=VALUE"],
        )
    return replace(
        changes,
        label=REPLAY,
        env={**recorded, **changes.env},
        gpus=host.gpus if changes.gpus == "none" else changes.gpus,
    )
