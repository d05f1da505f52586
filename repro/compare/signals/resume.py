"""Says how well a training that was resumed goes on from the one before: what was restored, and what was not.

Source of the words: divergence.md 2.8.
"""

from collections.abc import Callable, Sequence

from repro.compare.lines.pair import Pair
from repro.compare.lines.timeline import Joint, Timeline
from repro.compare.signals import walk as signals
from repro.model.trace import StateSnapshot

# What was not restored when this differs first, in causal order.
_NOT_RESTORED = {
    "samples": "data order not restored",
    "rng": "RNG not restored",
    "update": "optimizer or learning rates not restored",
}
_STATE: dict[str, Callable[[StateSnapshot], list[str]]] = {
    "optimizer": lambda shot: shot.state,
    "buffers": lambda shot: shot.buffers,
}


def told(line: Timeline, joint: Joint, other: Timeline | None) -> str:
    """How `line` goes on from a joint: a phrase such as "resumed at step 10, bitwise over 5 steps".

    It is held against the other run, where that had the same weights there and went on without
    a break, else against what the same process had done before it was stopped.
    """
    words = f"resumed at step {joint.step}"
    reference, name = _reference(joint, other)
    if reference is None:
        return f"{words}; whether bitwise is unknown, since nothing recorded goes on from that state unbroken"
    if lost := _lost_state(reference, joint):
        return f"{words}, {' and '.join(lost)} not restored"
    pair = Pair.of(reference, line).after(joint.step)
    first = signals.first_of(signals.measure(pair))
    if first is not None:
        lost_there = _NOT_RESTORED.get(first.signal, "something was not restored")
        return f"{words}, {lost_there} ({first.signal} differs first, at step {first.step}, from {name})"
    return f"{words}, bitwise over the {len(pair.steps)} steps in common with {name}"


def unplaced(line: Timeline, earlier: Sequence[Timeline]) -> list[str]:
    """What to say of a training that goes on from none of the earlier ones."""
    if not earlier:
        return []
    state = line.first_state
    if state is None or not state.weights:
        return ["its first state was not recorded, so whether it was resumed is unknown"]
    if any(_same_weights(base.first_state, state) for base in earlier):
        return [
            "it started from zero, in the state that an earlier training started from: nothing was resumed"
        ]
    return [
        "it started from a state that no earlier training was seen in: another model, or an unknown state"
    ]


def _reference(joint: Joint, other: Timeline | None) -> tuple[Timeline | None, str]:
    goes_on = (
        other is not None and other.last > joint.step and all(j.step != joint.step for j in other.joints)
    )
    if other is not None and goes_on and _same_weights(other.snapshots.get(joint.step), joint.state):
        return other, "the other run"
    if joint.before is not None and joint.before.last > joint.step:
        return joint.before, "what was done twice"
    return None, ""


def _same_weights(x: StateSnapshot | None, y: StateSnapshot | None) -> bool:
    return x is not None and y is not None and bool(x.weights) and x.weights == y.weights


def _lost_state(reference: Timeline, joint: Joint) -> list[str]:
    before = reference.snapshots.get(joint.step)
    if before is None or joint.state is None:
        return []
    return [name for name, part in _STATE.items() if part(before) != part(joint.state)]
