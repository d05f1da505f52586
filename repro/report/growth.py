"""How far the runs are apart: distance of the weights step by step, and module by module in dense steps."""

from repro.model.verdict import Envelope, EnvelopeRow, ModuleRow, Replay, Verdict
from repro.report import values
from repro.report.section import Row, Section, columns

OUTERMOST = "(outermost)"
GROWTH = {
    "none": "the weights do not part",
    "rounding": "the distance starts at the size of rounding and grows from there",
    "jump": "the distance jumps by more than rounding grows from one sampled step to the next",
}
_KINDS = {
    "equal": "equal outputs",
    "propagated": "differs because what goes in differs already",
    "rounding": "equal inputs, and a difference that rounding explains",
    "algorithm": "equal inputs, and a difference as another algorithm makes it",
    "precision": "equal inputs, and a difference as another precision makes it",
    "defect": "equal inputs, and a difference that neither rounding nor precision explains",
    "functional": "the difference arises in an operation between modules",
}
_FOLDED = ("propagated", "equal")


def envelope(verdict: Verdict) -> Section:
    """Distance of the weights at the judged steps and at powers of two, beside that of the noise members."""
    found = verdict.envelope
    if found is None:
        return Section("distance", "distance of the weights")
    rows = [_distance(row) for row in found.rows if row.judged or _kept(row.step)]
    last = found.rows[-1:]
    if last and not (last[0].judged or _kept(last[0].step)):
        rows.append(_distance(last[0]))
    titles = columns("step:number", "distance:number", "members:number", "ratio:number", "judged")
    return Section("distance", "distance of the weights", titles, rows, _grows(found))


def modules(verdict: Verdict) -> Section:
    """Rows of the dense steps: where the difference arises first, then the rest folded away."""
    found = verdict.replay
    if found is None:
        return Section("modules", "module by module")
    titles = columns(
        "kind:word",
        "module:key",
        "class",
        "phase",
        "step:number",
        "relative:number",
        "tolerance:number",
        "explained by",
    )
    told = shown(found)
    folded = [_module(row) for row in _ordered(found) if row not in told]
    return Section(
        "modules",
        "module by module",
        titles,
        [_module(row) for row in told],
        _replayed(found),
        folded,
        f"{len(folded)} modules that are equal, or differ only because their inputs do",
    )


def shown(found: Replay) -> list[ModuleRow]:
    """Calls at which a difference arises, the first one on top."""
    return [row for row in _ordered(found) if row.kind not in _FOLDED or row == found.origin]


def place(row: ModuleRow) -> str:
    """A module's name for a sentence."""
    named = row.module or OUTERMOST
    return f"{named} ({row.class_})" if row.class_ else named


def _ordered(found: Replay) -> list[ModuleRow]:
    return sorted(found.rows, key=lambda row: (row != found.origin, row.step, row.n))


def _kept(step: int) -> bool:
    return step & (step - 1) == 0


def _distance(row: EnvelopeRow) -> Row:
    return (
        str(row.step),
        values.size(row.distance),
        values.size(row.envelope),
        values.ratio(row.ratio),
        "yes" if row.judged else "no",
    )


def _grows(found: Envelope) -> list[str]:
    at = f", at step {found.jump}" if found.jump is not None else ""
    said = [f"{GROWTH.get(found.growth, found.growth)}{at}"] if found.growth else []
    if not found.members:
        return [*said, "no noise members were measured, so the curve stands alone and is not judged"]
    ratios = [row.ratio for row in found.rows if row.judged and row.ratio is not None]
    limit = f"{found.factor:g} times the largest distance of {found.members} noise members"
    if not ratios:
        return [*said, f"judged by {limit}: no step from 1 to 16 could be held against it"]
    outside = sum(ratio > found.factor for ratio in ratios)
    worst = f"{outside} of {len(ratios)} outside, the worst at {values.ratio(max(ratios))}"
    return [*said, f"judged at steps 1 to 16 by {limit}: {worst}"]


def _replayed(found: Replay) -> list[str]:
    steps = ", ".join(str(step) for step in found.steps)
    said = [f"steps {steps} on both sides, each from one stored state"] if steps else []
    origin = found.origin
    if origin is not None:
        said.append(f"origin: {place(origin)}, {origin.phase}: {_KINDS.get(origin.kind, origin.kind)}")
    return [*said, *found.notes]


def _module(row: ModuleRow) -> Row:
    return (
        row.kind,
        row.module or OUTERMOST,
        row.class_ or "-",
        row.phase,
        str(row.step),
        values.size(row.relative),
        values.size(row.tolerance),
        ", ".join(row.fits) or "-",
    )
