"""Makes the reference of a bundle: the whole run with its seed checkpoint, noise members, dense steps.

Each part is made aside and renamed when it is whole, and `reference.json` is written last. So a run that was
stopped is gone on with by the same command.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from repro import compare as judges
from repro.bundle import Bundle, Places, Reference, keep_seed, reference_of, seed_of, seed_record
from repro.compare.gate import conditions
from repro.engine.contract import EngineName
from repro.errors import ReproError
from repro.events import Note, Sink, step
from repro.files import alone, folder_aside, write_whole
from repro.model import canonical
from repro.model.reference import ReferenceRecord
from repro.pipeline.compare import side
from repro.pipeline.parts import Wanted, first_other_weights, is_whole, last_step
from repro.pipeline.ready import Ready, ready
from repro.pipeline.seeds import STATE
from repro.run import Plan, RunOptions

MEMBER_STEPS = 64
REPEAT = 0
DENSE = (1, 2, 4, 8, 16)
_GROWTH = 3  # an optimizer keeps up to two numbers more for each weight


@dataclass(frozen=True)
class Wish:
    """What a reference shall have: number of noise members, dense steps, most bytes of states."""

    members: int = 3
    dense: tuple[int, ...] = DENSE
    limit_bytes: int = 4 << 30


def make_reference(
    bundle: Bundle, engine: EngineName, options: RunOptions, wish: Wish, sink: Sink
) -> Reference:
    """The bundle's reference, made on this machine; parts that are whole already are kept.

    Raises:
        reference-no-steps: the program takes no optimizer step. reference-elsewhere: parts were made under
        other conditions. And what `repro.pipeline.run.run` raises.
    """
    with alone(Places(bundle.path).folder / "making"):
        _Maker(ready(bundle, engine, sink, options.host), options, wish, sink).make()
    found = reference_of(bundle.path)
    assert found is not None  # noqa: S101 - just written
    return found


class _Maker:
    def __init__(self, at: Ready, options: RunOptions, wish: Wish, sink: Sink) -> None:
        self._at, self._options, self._wish, self._sink = at, options, wish, sink
        self._places = Places(at.bundle.path)
        self._seed = ""

    def make(self) -> None:
        run = self._run()
        sides = [side(run)]
        steps = last_step(sides[0].traces)
        if not steps:
            raise _no_steps(run)
        sides += [self._member(n, min(MEMBER_STEPS, steps)) for n in range(1, self._wish.members + 1)]
        dense, states = self._dense_steps(steps)
        repeatable = True
        if dense:
            sides.append(self._dense(dense, states))
            repeatable = self._repeats(sides[0], sides[-1], "the run of dense steps")
        members = list(range(1, self._wish.members + 1))
        if not repeatable:
            sides.append(self._member(REPEAT, min(MEMBER_STEPS, steps)))
            self._repeats(sides[0], sides[-1], "a plain repeat of the reference")
            members.insert(0, REPEAT)
        self._write(sides[0], members, steps, dense, states, repeatable)

    def _run(self) -> Path:
        wanted = Wanted(seed="", statuses=("ok",), files=(STATE,))
        run = self._part("run", Plan(save=(0,)), wanted, self._options.label or "reference", must=False)
        state = run / "attempt-1" / STATE
        if not state.is_file():
            raise _no_steps(run)
        self._seed = self._keep(run, state)
        return run

    def _keep(self, run: Path, state: Path) -> str:
        """Digest of the seed checkpoint, made of the state that the run began with."""
        bundle, run_id = self._at.bundle, side(run).run.attempt.run_id
        record = seed_record(bundle.path)
        if record is None or record.run != run_id or seed_of(bundle.path, bundle.manifest.id) is None:
            record = keep_seed(bundle.path, bundle.manifest.id, run_id, state)
        return record.sha256

    def _member(self, number: int, stop: int) -> judges.Side:
        plan = self._seeded(perturb=number or None, stop=stop)
        wanted = Wanted(self._seed, ("ok", "limited"), perturb=number or None, stop=stop)
        return side(self._part(self._places.member(number).name, plan, wanted))

    def _dense(self, dense: tuple[int, ...], states: tuple[int, ...]) -> judges.Side:
        files = tuple(Path("states") / f"step-{n}.safetensors" for n in states)
        wanted = Wanted(self._seed, ("ok", "limited"), stop=dense[-1], dense=dense, files=files)
        plan = self._seeded(dense=dense, save=states, stop=dense[-1])
        return side(self._part("dense", plan, wanted))

    def _seeded(self, **more: object) -> Plan:
        return replace(Plan(seed=self._places.seed()), **more)  # type: ignore[arg-type]

    def _part(self, name: str, plan: Plan, wanted: Wanted, label: str = "", *, must: bool = True) -> Path:
        """Folder of one part, run unless it is whole; `must`: its place is the reference run's own."""
        target = self._places.folder / name
        options = replace(self._options, label=label, plan=plan)
        with step(self._sink, f"reference {name}") as shown:
            shown.cached = is_whole(target, wanted)
            if not shown.cached:
                self._places.record.unlink(missing_ok=True)
                with folder_aside(self._places.folder, name) as aside:
                    run_id = self._at.new_id(options)
                    self._at.perform(aside.path, run_id, options, self._sink)
                    aside.replace(target)
            shown.detail = _told(plan)
        if must:
            self._hold_conditions(target)
        return target

    def _hold_conditions(self, part: Path) -> None:
        """A member that was made on another machine would measure that machine."""
        found = conditions.differing(side(self._places.run), side(part))
        # Files and modules that a run meets after step 64 are none of a member's.
        serious = [c for c in found if c.risk in ("high", "medium") and c.a is not None and c.b is not None]
        if serious:
            raise ReproError(
                "reference-elsewhere",
                f"part `{part.name}` of the reference was made under other conditions than its run",
                found=[f"{c.key}: {c.a} in the run, {c.b} in {part.name}" for c in serious[:8]],
                needs="all parts made on one machine, with the same options",
                done="no reference was written; its parts lie where they were made",
                tries=[f"rm -r {part}      then the same command again, with the same options"],
            )

    def _dense_steps(self, steps: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Dense steps that the run has, and the states that they begin with, inside the limit of bytes."""
        dense = tuple(sorted({n for n in self._wish.dense if 0 < n <= steps}))
        if len(dense) < len(set(self._wish.dense)):
            self._sink(Note("note", f"the run has {steps} steps: dense steps {_list(dense)}"))
        one = self._places.seed().stat().st_size
        most = one * (1 + _GROWTH * sum(n > 1 for n in dense))
        if most > self._wish.limit_bytes and dense[1:]:
            self._sink(
                Note(
                    "warning",
                    f"only step 1 is dense: the states of {len(dense)} steps may take {most / 1e9:.1f} GB, "
                    f"and the limit is {self._wish.limit_bytes / 1e9:.1f} GB (--reference-limit)",
                )
            )
            dense = (1,)
        return dense, tuple(n - 1 for n in dense)

    def _repeats(self, run: judges.Side, part: judges.Side, what: str) -> bool:
        at = first_other_weights(run.traces, part.traces)
        if at is not None:
            said = f"{what} has other weights than the reference run from step {at} on, on one machine"
            self._sink(Note("warning", said))
        return at is None

    def _write(
        self,
        run: judges.Side,
        members: Sequence[int],
        steps: int,
        dense: Sequence[int],
        states: Sequence[int],
        repeatable: bool,
    ) -> None:
        record = ReferenceRecord(
            bundle=self._at.bundle.manifest.id,
            run=run.run.attempt.run_id,
            seed=self._seed,
            members=list(members),
            steps=steps,
            dense=list(dense),
            states=list(states),
            conditions=canonical.digest(run.run.conditions),
            repeatable=repeatable,
        )
        write_whole(self._places.record, canonical.pretty(record))


def _told(plan: Plan) -> str:
    return "; ".join(_facts(plan)) or "the whole training"


def _facts(plan: Plan) -> Iterator[str]:
    if plan.perturb is not None:
        yield f"every weight moved by at most one unit in the last place, seed {plan.perturb}"
    if plan.dense:
        yield f"module by module: steps {_list(plan.dense)}"
    if plan.stop:
        yield f"steps 1 to {plan.stop}"


def _list(steps: Sequence[int]) -> str:
    return ", ".join(map(str, steps)) or "none"


def _no_steps(run: Path) -> ReproError:
    recorder = side(run).run.attempt.recorder
    seen = f"the recorder saw {recorder.get('steps', 0)} steps of an optimizer of torch"
    stopped = recorder.get("stopped")
    return ReproError(
        "reference-no-steps",
        "this program is no training that a reference can be made of",
        found=[seen, *([f"the recorder gave up: {stopped}"] if stopped else []), f"the run lies in `{run}`"],
        needs="a loop that calls `optimizer.step()`",
        done="the run is kept; no reference was written",
        tries=[
            f"repro show {run}",
            "repro run BUNDLE      (runs without a reference are compared by their results)",
        ],
    )
