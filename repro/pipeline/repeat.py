"""Runs a bundle several times, one seed a run, under one label: a group for the statistics."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from repro.bundle import Bundle
from repro.engine.contract import EngineName
from repro.errors import ReproError
from repro.events import Sink, step
from repro.model.run import Attempt
from repro.pipeline.ready import Ready, ready
from repro.pipeline.run import How, once
from repro.pipeline.seeds import own_seed, seed_parameter
from repro.run import RunOptions
from repro.snapshot.overrides import split

GROUP = "repeat"


@dataclass(frozen=True)
class Repeated:
    """One run of a series: its seed, its folder, and whether it was there already."""

    seed: str
    folder: Path
    cached: bool


def repeat(
    bundle: Bundle,
    engine: EngineName,
    options: RunOptions,
    seeds: Sequence[str],
    sink: Sink,
    how: How,
) -> list[Repeated]:
    """One whole run for each seed, in their order; runs of that label with such a seed are kept.

    Raises:
        repeat-no-seed: the protocol names no parameter as the seed. And what `repro.pipeline.run.run` raises,
        after which the same command goes on with the seeds that are missing.
    """
    name = seed_parameter(bundle) or _no_seed(bundle)
    options = replace(options, label=options.label or GROUP)
    at = ready(bundle, engine, sink, options.host)
    series = _Series(at, options, how, name, sink)
    done: list[Repeated] = []
    for number, seed in enumerate(seeds, 1):
        with step(sink, f"run {number} of {len(seeds)}") as shown:
            found = series.there(seed)
            shown.cached, shown.detail = found is not None, f"seed {seed}"
            try:
                folder = found or series.run(seed)
            except ReproError as problem:
                problem.done = _so_far(problem.done, len(done), len(seeds))
                problem.tries = (*problem.tries, "the same command again: it goes on with the missing seeds")
                raise
        done.append(Repeated(seed, folder, found is not None))
    return done


def seeds_for(bundle: Bundle, number: int, given: Sequence[str]) -> list[str]:
    """Seeds of a series: those given, else the bundle's own one and the numbers that follow it.

    Raises:
        repeat-no-seed: no seed is known to count from.
        repeat-seeds: other than `number` are given, or one twice.
    """
    if given:
        if len(set(given)) < len(given) or (number and number != len(given)):
            raise ReproError(
                "repeat-seeds",
                "the seeds do not make that many runs",
                found=f"--repeat {number} with {len(given)} seeds, {len(set(given))} of them different",
                needs="each seed once, as many as runs",
                done="nothing was run",
                tries=[f"--seeds {','.join(dict.fromkeys(given))}"],
            )
        return list(given)
    own = own_seed(bundle)
    if not isinstance(own, int) or isinstance(own, bool):
        _no_seed(bundle)
        raise AssertionError
    return [str(own + more) for more in range(number)]


class _Series:
    def __init__(self, at: Ready, options: RunOptions, how: How, name: str, sink: Sink) -> None:
        self._at, self._options, self._how = at, options, how
        self._name, self._sink = name, sink
        self._runs = how.out or at.bundle.path / "runs"
        self._own = str(own_seed(at.bundle))

    def _words(self, seed: str) -> tuple[str, ...]:
        return self._how.sets if seed == self._own else (*self._how.sets, f"{self._name}={seed}")

    def there(self, seed: str) -> Path | None:
        """A whole run of this label with exactly these parameters."""
        packed = self._at.bundle.params.overrides
        wanted = {**packed, **split(self._words(seed))}
        for path in sorted(self._runs.glob("*")):
            record = _record(path)
            if record and record.label == self._options.label and record.overrides == wanted:
                return path
        return None

    def run(self, seed: str) -> Path:
        """One more run, with this seed."""
        how = replace(self._how, sets=self._words(seed))
        return once(self._at, self._options, self._sink, how).folder


def _record(run: Path) -> Attempt | None:
    """The record of a run that is whole."""
    try:
        number = msgspec.json.decode((run / "result.json").read_bytes())["attempt"]
        return msgspec.json.decode((run / f"attempt-{number}" / "run.json").read_bytes(), type=Attempt)
    except (OSError, msgspec.MsgspecError, KeyError, TypeError):
        return None


def _so_far(done: str, whole: int, wanted: int) -> str:
    said = f"{whole} of {wanted} runs of the series are whole, and are kept"
    return f"{done}; {said}" if done else said


def _no_seed(bundle: Bundle) -> str:
    raise ReproError(
        "repeat-no-seed",
        f"bundle `{bundle.path.name}` does not say which parameter is its seed",
        found=f"protocol.seed is {own_seed(bundle)!r}, and no parameter's name",
        needs="`protocol.seed` in repro.toml with the name of a parameter that holds a whole number",
        why="runs that differ in nothing but the seed are what the statistics need",
        done="nothing was run",
        tries=['[protocol] seed = "seed"      in repro.toml, then repro build'],
    )
