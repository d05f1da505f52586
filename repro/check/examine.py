"""One stack on one target: all rules are asked, the verdict is the worst outcome of their findings."""

from msgspec.structs import replace

from repro.check.code.containers import fits
from repro.check.finding import rule_rows
from repro.check.rules.chosen import chosen_files
from repro.check.rules.order import RULES
from repro.model.check import Finding, Fit, Stack, Target, TargetReport

# Worst first.
_ORDER: tuple[Fit, ...] = ("will-fail", "unknown", "risky", "runs-after-jit", "runs")


def examine(stack: Stack, target: Target) -> TargetReport:
    """The verdict for `target`, with every finding."""
    findings = [found for rule in RULES for found in rule(stack, target)]
    loaded = {facts.path for facts in chosen_files(stack, target)}
    return TargetReport(
        gpu=target.gpu or target.asked,
        name=target.name,
        capability=target.capability,
        driver=target.driver,
        verdict=verdict_of(findings),
        findings=findings,
        files=[replace(fit, loaded=fit.path in loaded) for fit in fits(stack.binaries, target)],
    )


def verdict_of(findings: list[Finding]) -> Fit:
    """The worst outcome that any finding allows; `runs` without one."""
    outcomes = [rule_rows()[f.rule].outcome for f in findings]
    return min(outcomes, key=_ORDER.index, default="runs")
