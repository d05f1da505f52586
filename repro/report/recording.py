"""How a run was recorded, and what it did besides training as it is, in words."""

from collections.abc import Iterable, Sequence

from repro.model.number import from_text
from repro.model.record import Json
from repro.model.run import RunFolder
from repro.model.trace import Trace
from repro.report import values

Fields = list[tuple[str, str]]
_DIGITS = 12


def recording(run: RunFolder, traces: Sequence[Trace] = ()) -> Fields:
    """Named sentences: what the recorder took and left out, where the run began, where we ended it."""
    events = [event for trace in traces for segment in trace.segments for event in segment.events]
    known = (
        ("recorder", _recorder(run.attempt.recorder, events)),
        ("start", _start(run.attempt.plan, events)),
        ("plan", _plan(run.attempt.plan)),
    )
    return [(name, words) for name, words in known if words]


def _recorder(told: Json, events: Sequence[Json]) -> str:
    if not told:
        return ""
    if not told.get("loaded"):
        return "not loaded: nothing of the training was recorded"
    share = told.get("share")
    parts = [f"{values.share(from_text(share))} of the time"] if share else []
    parts += [_thinned(events)] if _named(events, "thinned") else []
    if told.get("stopped"):
        parts.append(f"stopped by a failure of its own: {told['stopped']}; the program went on unrecorded")
    return "; ".join(parts)


def _thinned(events: Sequence[Json]) -> str:
    """What the recorder left out to keep within its budget: the last word for each kind."""
    found = _named(events, "thinned")
    last: Json = {}
    for event in found:
        last |= event
    parts = [f"gradient norm and outputs every {last['stride']} steps"] if last.get("stride") else []
    parts += [f"states every {last['every']} steps"] if last.get("every") else []
    parts += ["batches at sampled steps"] if last.get("batch") else []
    first = found[0].get("step")
    return f"thinned itself from step {first}: {', '.join(parts) or 'fewer values'}"


def _start(plan: Json, events: Sequence[Json]) -> str:
    parts = [f"from the seed checkpoint {str(plan['seed'])[:_DIGITS]}"] if plan.get("seed") else []
    for event in _named(events, "seed-checkpoint"):
        if not event.get("applied"):
            parts.append(f"not applied: {event.get('reason', 'no reason was recorded')}")
        elif event.get("changed"):
            parts.append(f"{event['changed']} tensors were not as the program had made them")
    if plan.get("perturb") is not None:
        parts.append(
            f"every weight moved by at most one unit in the last place (noise member {plan['perturb']})"
        )
    return "; ".join(parts)


def _plan(plan: Json) -> str:
    parts = [f"ended by us after step {plan['stop']}: no whole run"] if plan.get("stop") else []
    if plan.get("dense"):
        steps = ", ".join(map(str, plan["dense"]))
        state = ", each from a stored state" if plan.get("sync") else ""
        parts.append(f"recorded module by module at steps {steps}{state}")
    return "; ".join(parts)


def _named(events: Iterable[Json], what: str) -> list[Json]:
    return [event for event in events if event.get("what") == what]
