"""Runs a bundle once, in a container or in place."""

from dataclasses import dataclass, replace
from pathlib import Path

from repro.bundle import Bundle
from repro.engine.contract import EngineName, Stop
from repro.events import Sink, silent
from repro.pipeline import seeds
from repro.pipeline.ready import Ready, ready
from repro.run import Ended, RunOptions


@dataclass(frozen=True)
class How:
    """How a run is made: parameters to change, where its folder goes, from the seed checkpoint or not."""

    sets: tuple[str, ...] = ()
    out: Path | None = None
    seeded: bool = True


def run(
    bundle: Bundle,
    engine: EngineName,
    options: RunOptions,
    sink: Sink = silent,
    how: How | None = None,
) -> Ended:
    """Run `bundle` and return the finished run.

    Parameters to change are KEY=VALUE, and recorded. The run's folder is made in `how.out`, else in the
    bundle's `runs`. It starts from the bundle's seed checkpoint where it has one.

    Raises:
        params-set, params-set-unknown: an override does not fit the bundle's parameters.
        bundle-damaged: a file is not as it was packed. bundle-not-built: this engine has no image of it.
        seed-damaged: the seed checkpoint is not the one that was made.
        run-refused, run-program-failed, run-out-of-memory: see `repro.run.start`.
    """
    return once(ready(bundle, engine, sink, options.host), options, sink, how or How())


def attach(bundle: Bundle, run_id: str, options: RunOptions, sink: Sink = silent) -> Ended:
    """Follow a run that a lost connection left on another machine, to its end, and bring its record home.

    Raises:
        run-not-there: no container of that run is on that machine. All else as `run`.
    """
    at = ready(bundle, "docker", sink, options.host)
    return at.follow(bundle.path / "runs" / run_id, run_id, options, sink)


def once(
    at: Ready,
    options: RunOptions,
    sink: Sink,
    how: How,
    *,
    stop: Stop | None = None,
    run_id: str = "",
) -> Ended:
    """One run of a bundle that is ready; see `run`."""
    begin = seeds.beginning(at.bundle, how.sets) if how.seeded else seeds.NONE
    options = replace(options, plan=begin.added_to(options.plan))
    run_id = run_id or at.new_id(options)
    folder = (how.out or at.bundle.path / "runs") / run_id
    ended = at.perform(folder, run_id, options, sink, sets=how.sets, stop=stop)
    seeds.kept(at.bundle, begin, ended, sink)
    return ended
