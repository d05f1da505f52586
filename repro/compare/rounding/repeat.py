"""Whether a run repeats on one machine: two runs under equal conditions, of what was asked for equally."""

from collections.abc import Sequence

from repro.compare.side import Side
from repro.compare.signals.measured import Measured
from repro.model.run import RunFolder
from repro.model.verdict import Condition, ProtocolDifference

_NAMES = ("label", "engine", "name", "plan.stop")  # what a run is called, and how long it was watched
_MACHINE = ("cpu.model", "device.name", "platform.machine")
SAID = "the run does not repeat on one machine: all that was asked for and every condition is equal"


def repeatable(
    a: Side,
    b: Side,
    found: Measured,
    gate: Sequence[ProtocolDifference],
    conditions: Sequence[Condition],
    numerics: str,
) -> bool | None:
    """True for equal, False for unequal runs of one thing on one machine; None for any others."""
    if a.run.path == b.run.path or not _one_machine(a.run, b.run):
        return None
    if any(row.key not in _NAMES for row in gate) or any(_matters(row) for row in conditions):
        return None
    if found.differs:
        return False
    return True if numerics == "identical" else None


def _one_machine(a: RunFolder, b: RunFolder) -> bool:
    known = [name for name in _MACHINE if name in a.conditions and name in b.conditions]
    return bool(known) and all(a.conditions[name] == b.conditions[name] for name in known)


def _matters(row: Condition) -> bool:
    """Seeds that nobody gave differ because of the run itself: no condition it was put under."""
    return row.risk != "none" and not row.key.startswith("seed.")
