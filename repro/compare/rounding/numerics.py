"""First question: did both runs do the same computation, up to rounding?

The ladder of divergence.md 4: equal bits; else what rounding cannot make; else noise members; else dense
steps from one state; else the a-priori bound of rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from repro.compare.lines.pair import Pair
from repro.compare.rounding import bound, dense, discrete, envelope, whole
from repro.compare.rounding.answer import BEYOND, IDENTICAL, UNTESTED, WITHIN, Answer
from repro.compare.rounding.evaluated import by_evaluations, by_results
from repro.compare.rounding.parted import Parted, parted
from repro.compare.rounding.tolerance import ALGORITHM, ROUNDING
from repro.compare.rounding.unit import Unit, unit_of
from repro.compare.side import Side
from repro.compare.signals.measured import Measured
from repro.model.verdict import Envelope, ModuleRow, Replay

_ORDER = (BEYOND, UNTESTED, WITHIN, IDENTICAL)


@dataclass(frozen=True)
class Numerics:
    """The answer with the curve of distances and the rows of dense steps that are shown beside it."""

    answer: Answer
    envelope: Envelope | None = None
    replay: Replay | None = None


def numerics(
    a: Side,
    b: Side,
    found: Measured,
    *,
    members: Sequence[Side] = (),
    dense_steps: tuple[Side, Side] | None = None,
) -> Numerics:
    """The word for the first question, what it rests on, and why.

    `identical` needs both runs whole and of one length, every value that both recorded equal in every
    bit, and the final weights fingerprinted and equal; a run without recorded steps needs equal metrics
    and evaluation rows.
    """
    unit = unit_of(a, b)
    curve, notes = _curve(a, found, members, unit)
    rows = dense.replay(*dense_steps) if dense_steps else None
    hindrances = whole.hindrances(a, b, found)
    if not hindrances:
        return Numerics(Answer(IDENTICAL, "bits", (whole.what_is_equal(found),)), curve, rows)
    answer = _Judge(a, b, found, unit, curve, rows).answer()
    why = f"not called identical: {'; '.join(hindrances)}"
    return Numerics(replace(answer, said=(why, *answer.said, *notes)), curve, rows)


def _curve(
    a: Side, found: Measured, members: Sequence[Side], unit: Unit
) -> tuple[Envelope | None, tuple[str, ...]]:
    """Distances of the first training's weights beside those of the members; None where there are none."""
    noise = envelope.members_of(a, members, unit)
    apart = envelope.distances(found.rounds[0].values()) if found.rounds else {}
    if not apart:
        return None, noise.notes
    return envelope.envelope(apart, noise, unit), noise.notes


@dataclass(frozen=True)
class _Judge:
    """All that is known of two runs which are not identical."""

    a: Side
    b: Side
    found: Measured
    unit: Unit
    curve: Envelope | None
    rows: Replay | None

    def answer(self) -> Answer:
        """The worse of what training and evaluation show."""
        apart = parted(self.found)
        training = self._training(apart) if apart else self._equal_so_far()
        evaluated = self._evaluation(equal=apart is None)
        if evaluated is None or training.word == BEYOND:
            return training
        if not apart and self.found.differs:
            return evaluated.also(*training.said)
        worse = min((training, evaluated), key=lambda answer: _ORDER.index(answer.word))
        other = evaluated if worse is training else training
        return worse.also(*other.said)

    def _equal_so_far(self) -> Answer:
        last = min((pair.last for pair in self.found.pairs.values()), default=0)
        if not last:
            return Answer(UNTESTED)
        said = f"identical until step {last}"
        if self.found.alone or last < bound.LAST or self.found.differs:
            return Answer(UNTESTED, "none", (said,))
        return Answer(
            WITHIN, "bits", (f"{said}: steps 1 to {bound.LAST}, which decide, are equal in every bit",)
        )

    def _evaluation(self, equal: bool) -> Answer | None:
        answer = by_evaluations(self.found.pairs.values(), self.unit)
        return answer or (by_results(self.found, self.unit) if equal and self.found.ends_equal() else None)

    def _training(self, apart: Parted) -> Answer:
        said = [f"identical until step {apart.seen - 1}"] if apart.seen > 1 else []
        sizes = bound.sizes(apart.pairs, apart.step, self.unit)
        kinds = discrete.differences(apart.pairs, max(apart.step, bound.LAST))
        if kinds:
            reason = f"what rounding cannot make: {kinds[0]}"
            answer = Answer(BEYOND, "bits", (reason,))
        else:
            answer = self._judged(apart, sizes)
        answer = self._with_replay(answer)
        return replace(answer, said=(*said, *_discrete_notes(apart.pairs), *answer.said))

    def _judged(self, apart: Parted, sizes: Sequence[bound.Size]) -> Answer:
        """By members where there are enough, else by the bound; runs that part after step 16 by the bound."""
        if unsized := self._without_size(apart, sizes):
            return unsized
        by_bound = bound.by_bound(sizes, apart.step, self.unit, whole.enough(self.a, self.b, apart.pairs))
        if apart.first and self.curve and apart.step <= bound.LAST:
            if answer := envelope.by_members(self.curve):
                return self._held(answer, apart, sizes)
            by_bound = by_bound.also(*envelope.why_no_answer(self.curve))
        drawn = discrete.drawn_otherwise(apart.pairs)
        if drawn is not None and by_bound.word == UNTESTED and any(size.times > 1 for size in sizes):
            said = f"random numbers were drawn otherwise from step {drawn} on, with what was computed"
            return Answer(BEYOND, "bound", (*by_bound.said, said))
        return by_bound

    def _without_size(self, apart: Parted, sizes: Sequence[bound.Size]) -> Answer | None:
        """The answer where every number that both runs recorded is equal; None where one is not."""
        if any(size.value for size in sizes):
            return None
        if apart.computed:
            names = ", ".join(apart.computed)
            said = f"what differs ({names}) was recorded without a size, and every number is equal"
            return Answer(UNTESTED, "none", (said, bound.BETTER))
        word = WITHIN if whole.enough(self.a, self.b, apart.pairs) else UNTESTED
        return Answer(word, "bits", ("nothing that was computed differs in any bit",))

    def _held(self, answer: Answer, apart: Parted, sizes: Sequence[bound.Size]) -> Answer:
        """An answer by members that the rest of the record does not gainsay."""
        if answer.word != WITHIN or self.curve is None:
            return answer
        if wide := self._wide_members():
            return Answer(UNTESTED, "members", (*answer.said, wide))
        seen = [size for size in sizes if size.signal != "weights"]
        if beyond := bound.parted_beyond(seen, apart.step):
            more = f"the weights have hardly moved yet, and {beyond}: no answer by members"
            return Answer(UNTESTED, "members", (*answer.said, more))
        if not whole.enough(self.a, self.b, apart.pairs):
            last = max(row.step for row in self.curve.rows)
            more = f"the runs have only {last} of the {bound.LAST} steps in common"
            return Answer(UNTESTED, "members", (*answer.said, more))
        return answer

    def _wide_members(self) -> str:
        """Said where the members themselves are apart by more than rounding as soon as they move."""
        spread = envelope.spread_at_first(self.curve) if self.curve else None
        if spread is None or spread[1] <= bound.far_for_weights(
            self.found.rounds[0].values(), spread[0], self.unit
        ):
            return ""
        return (
            f"the members are {spread[1]:.1e} apart at step {spread[0]}: the reference does not repeat up to "
            "rounding, and staying inside their spread shows no equal computation"
        )

    def _with_replay(self, answer: Answer) -> Answer:
        origins = dense.origins(self.rows) if self.rows else []
        if not origins:
            return answer
        kinds = {dense.size(row) for row in origins}
        named = _named(origins[0])
        if not kinds - {ROUNDING}:
            said = f"dense steps from one state: {named}, and every origin is of rounding's size"
            better = answer.basis in ("bound", "none") and answer.word == UNTESTED
            return Answer(WITHIN, "replay", (said, *answer.said)) if better else answer.also(said)
        said = f"dense steps from one state: {named}"
        if answer.word == BEYOND:
            return answer.also(said)
        if kinds <= {ROUNDING, ALGORITHM}:
            more = (
                "more than rounding in that module, though another algorithm for the same thing explains it"
            )
            return Answer(UNTESTED, answer.basis, (*answer.said, said, more))
        return Answer(BEYOND, "replay", (*answer.said, said))


def _named(row: ModuleRow) -> str:
    relative = "" if row.relative is None else f", {row.relative:.1e} apart"
    allowed = "" if row.tolerance is None else f" where rounding explains {row.tolerance:.1e}"
    where = "with equal inputs" if row.kind != "functional" else "in an operation between modules"
    place = f"{row.module or 'the model'} ({row.phase})"
    return f"at step {row.step} the difference arises in {place}, {where}{relative}{allowed}"


def _discrete_notes(pairs: Sequence[Pair]) -> list[str]:
    drawn, renumbered = discrete.drawn_otherwise(pairs), discrete.renumbered(pairs)
    said = []
    if drawn is not None:
        said.append(f"the state of a random generator differs from step {drawn} on")
    if renumbered is not None:
        said.append(
            f"the numbers of the samples differ from step {renumbered} on: not comparable number by number"
        )
    return said
