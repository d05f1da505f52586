"""The rules, in the order in which findings are told: what stops first comes first."""

from collections.abc import Callable, Iterable

from repro.model.check import Finding, Stack, Target

Rule = Callable[[Stack, Target], Iterable[Finding]]

RULES: tuple[Rule, ...] = ()
