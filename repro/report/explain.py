"""The likely cause of a divergence in full: what was seen, why it leads there, what else, what pins it."""

from collections.abc import Sequence

from repro.model.record import Json
from repro.model.verdict import Verdict
from repro.report import head, lay, values
from repro.report.advice import onward, run_word
from repro.report.lay import Paint


def explained(verdict: Verdict, *, width: int = 80, colour: bool = False) -> str:
    """All that is known of the cause, ending with a newline."""
    paint = Paint(colour)
    cause = verdict.cause
    parts = _unknown(verdict) if cause is None else _known(verdict, cause)
    if verdict.first is None:
        parts = [("cause", ["none: no difference was found"])]
    lines = [f"{paint('strong', verdict.a)} and {paint('strong', verdict.b)}"]
    for title, sentences in parts:
        lines += ["", paint("strong", f"{title}:"), *lay.points(sentences, max(width, 40))]
    step = onward(verdict)
    lines += ["", paint("strong", "next:"), *lay.points([step.words], width)]
    return "\n".join([*lines, *([f"    {step.command}"] if step.command else [])]) + "\n"


def _known(verdict: Verdict, cause: Json) -> list[tuple[str, list[str]]]:
    parts = [
        (f"cause, {head.sure(cause)} ({cause['code']})", [cause["why"]]),
        ("what was seen", _seen(verdict)),
        ("what led to it", list(cause["because"])),
        ("what differs as well and could have done it too", list(cause["also"])),
        ("what pins it", [cause["pin"]] if cause["pin"] else []),
        ("what changed between these releases of torch", [_change(row) for row in cause.get("changes", [])]),
        ("record next", list(cause.get("next", []))),
        ("source", [cause["source"]] if cause.get("source") else []),
    ]
    return [(title, said) for title, said in parts if said]


def _unknown(verdict: Verdict) -> list[tuple[str, list[str]]]:
    return [
        ("cause", ["unknown: no known cause fits what differs"]),
        ("what was seen", _seen(verdict)),
        ("record next", _to_record(verdict)),
    ]


def _seen(verdict: Verdict) -> list[str]:
    said = [head.first(verdict).words]
    equal = [name for name, signal in verdict.signals.items() if signal.first_step is None]
    said += [f"equal throughout: {', '.join(equal)}"] if equal else []
    origin = verdict.replay.origin if verdict.replay else None
    if origin is not None:
        size = f", relative {values.size(origin.relative)}" if origin.relative is not None else ""
        said.append(f"first module whose inputs are equal and whose outputs are not: {origin.module}{size}")
    return said


def _to_record(verdict: Verdict) -> list[str]:
    """What is missing that could tell more, and how to get it."""
    known: Sequence[tuple[bool, str]] = (
        (
            verdict.replay is None,
            f"single steps from one stored state name the module: `repro replay {run_word(verdict.b)}`",
        ),
        (
            verdict.envelope is None or not verdict.envelope.members,
            "noise members say whether rounding alone can do it: `repro run --make-reference`",
        ),
        (
            verdict.repeatable is None,
            "a repeat on one machine says whether the run repeats at all: `repro run` twice, then compare",
        ),
        (
            not verdict.conditions_that_differ,
            "no condition differs that was recorded: a plain repeat comes first",
        ),
    )
    return [words for holds, words in known if holds]


def _change(row: Json) -> str:
    return f"{row['what']} Pin: {row['pin']}. ({row['id']}; {row['source']})"
