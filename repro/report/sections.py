"""The parts of a report below its top, in the order in which every form has them."""

from repro.model.curves import Curves
from repro.model.verdict import Verdict
from repro.report import differing, growth, results
from repro.report.section import Section


def sections(verdict: Verdict, curves: Curves | None = None) -> list[Section]:
    """All parts that have something to say."""
    found = [
        differing.conditions(verdict),
        differing.protocol(verdict),
        differing.signals(verdict),
        growth.envelope(verdict),
        growth.modules(verdict),
        results.statistics(verdict),
        results.metrics(verdict),
        results.flips(verdict),
        results.usage(curves),
        Section("open", "not controlled", said=list(verdict.not_controlled)),
        Section("evidence", "evidence", said=list(verdict.evidence)),
    ]
    return [section for section in found if not section.empty]
