"""What to type next, chosen by what the verdict leaves open."""

import re
import shlex
from dataclasses import dataclass

from repro.model.verdict import Verdict


@dataclass(frozen=True)
class Step:
    """A sentence, and a command line that can be typed as it stands; empty where nothing is left to do."""

    words: str
    command: str = ""


def onward(verdict: Verdict) -> Step:
    """The next step for a verdict: the first of the rules below that fits."""
    a, b = run_word(verdict.a), run_word(verdict.b)
    if verdict.verdict == "incomparable":
        return _allow(verdict, a, b)
    if verdict.verdict == "incomplete":
        return Step("a run has no result: see how it ended, then run it again", f"repro show {b}")
    if verdict.verdict == "identical":
        return Step("nothing is left to do: both runs are the same in every bit")
    return _numerics(verdict, a, b) or _outcome(verdict, a, b) or Step("nothing is left to do")


def run_word(name: str) -> str:
    """A run's name as `repro compare` takes it: its id without the label, or its path, quoted for a shell."""
    return shlex.quote(re.sub(r" \([^()]*\)$", "", name))


def _allow(verdict: Verdict, a: str, b: str) -> Step:
    refused = [r.key for r in verdict.protocol_differences if r.class_ == "must-equal" and not r.allowed]
    keys = "".join(f" --allow {shlex.quote(key)}" for key in refused)
    words = "make these alike, or name them as what you study, which the verdict will say"
    return Step(words, f"repro compare {a} {b}{keys}") if keys else Step("run both from one bundle")


def _numerics(verdict: Verdict, a: str, b: str) -> Step | None:
    """What the first question still needs: members to judge by, or a replay that finds the module."""
    if verdict.numerics == "untested" and not (verdict.envelope and verdict.envelope.members):
        return Step("measure what rounding alone does: noise members of the reference", _REFERENCE)
    if verdict.numerics == "untested":
        return Step(
            "let single steps decide: run them from the reference's stored state", f"repro replay {b}"
        )
    if verdict.numerics == "beyond-rounding" and verdict.replay is None:
        return Step(
            "find the module: run single steps from the reference's stored state", f"repro replay {b}"
        )
    if verdict.numerics == "beyond-rounding" and verdict.cause:
        return Step("pin what is named, then run again; all that is known of the cause", _explain(a, b))
    return None


def _outcome(verdict: Verdict, a: str, b: str) -> Step | None:
    if verdict.outcome == "diverged":
        return Step("see all that is known of the cause", _explain(a, b))
    if verdict.outcome in ("equivalent", "different-but-equivalent"):
        return None
    if not any(row.declared for row in verdict.metrics) and not verdict.statistics:
        return Step("declare a metric and a margin under [protocol], then build again", "repro build")
    needed = max((row.needed for row in verdict.statistics if row.needed), default=3)
    return Step(
        f"run at least {needed} seeds a side, which can settle whether the results are the same",
        _seeds(needed),
    )


_REFERENCE = "repro run --make-reference"


def _explain(a: str, b: str) -> str:
    return f"repro compare {a} {b} --explain"


def _seeds(count: int) -> str:
    return f"repro run --repeat {count}"
