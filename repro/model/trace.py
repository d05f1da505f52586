"""What the recorder wrote, read back: steps, snapshots of the state, events.

Steps count optimizer steps from 1; step 0 is the state before the first one. Steps are kept as
columns (`repro.model.steps`); numbers of all other records are float.hex() text as written, so
that equal means equal in every bit.
"""

import msgspec

from repro.model.columns import Column
from repro.model.record import Json, Open
from repro.model.steps import Step, Steps

__all__ = [
    "FORMAT",
    "Column",
    "Evaluation",
    "Gradients",
    "ModuleCall",
    "Seen",
    "Segment",
    "StateSnapshot",
    "Step",
    "Steps",
    "Trace",
]

FORMAT = 2


class StateSnapshot(Open, kw_only=True):
    """Fingerprints of the state after `step`, lists in the order of the start record.

    Attributes:
        weights, buffers, state: 16 hex digits each (divergence.md 2.4); `state` is the optimizer's.
        grads: fingerprints of the gradients as the step left them; `none` where a weight has none.
        norm2: squared norm of the weights. sketch: 32 sums for distances between traces.
        nonfinite: number of weights that are NaN or infinite.
    """

    step: int
    weights: list[str] = []
    buffers: list[str] = []
    state: list[str] = []
    grads: list[str] = []
    norm2: str | None = None
    sketch: list[str] = []
    nonfinite: int = 0


class Evaluation(Open, kw_only=True):
    """Calls of outermost modules without gradients, all between two optimizer steps.

    Attributes:
        step: steps taken before. calls, rows: number of calls, and of examples (first dimension) in them.
        mode: `eval`, `train` (a module in it was in training mode) or `mixed`.
        inputs, outputs: fingerprints, laid out as `batch` and `fwd` of a step; None when not taken.
        norm2, sketch: of the floating-point outputs, as in a snapshot.
        prediction, margin: for each example the place of its largest output, and how far the second
            largest lies below it; empty unless the outputs are one row of scores an example.
    """

    step: int
    calls: int = 0
    rows: int = 0
    mode: str = ""
    inputs: str | None = None
    outputs: str | None = None
    norm2: str | None = None
    sketch: list[str] = []
    prediction: list[int] = []
    margin: list[str] = []


class Seen(Open, kw_only=True):
    """One tensor in a dense record: fingerprint, squared norm and sketch over its elements."""

    f: str
    shape: list[int] = []
    dtype: str = ""
    norm2: str | None = None
    sketch: list[str] = []
    nonfinite: int = 0


class ModuleCall(Open, kw_only=True):
    """One call of one module in a dense step, written when it returns: children come before their parent.

    Attributes:
        n: position in the order in which calls began, from 0, over all micro-batches of the step.
        module: cleaned name; empty for the outermost one. class_: its type's name.
        parent: `n` of the call that it was made in, None for an outermost call.
        leaf: it has no modules of its own.
        weights: fingerprint sum over its own parameters and buffers as they were before the call.
        terms: numbers added up in one element of the output; None when that is not known.
    """

    step: int
    n: int
    module: str
    class_: str = msgspec.field(default="", name="class")
    parent: int | None = None
    leaf: bool = True
    weights: str | None = None
    terms: int | None = None
    inputs: list[Seen] = []
    outputs: list[Seen] = []


class Gradients(Open, kw_only=True):
    """Gradients of a dense step, read after it, in the order of the start record's parameters."""

    step: int
    grads: list[Seen | None] = []


class Segment(Open, kw_only=True):
    """From one `start` record to the next: a run, or the part after a resume."""

    start: Json
    steps: Steps = msgspec.field(default_factory=Steps.empty)
    snapshots: list[StateSnapshot] = []
    events: list[Json] = []
    checkpoints: list[Json] = []
    evaluations: list[Evaluation] = []
    calls: list[ModuleCall] = []
    gradients: list[Gradients] = []
    end: Json | None = None


class Trace(Open, kw_only=True):
    """All segments of one rank. `torn` when the last line was cut off and passed over.

    Attributes:
        file: name of the file it was read from; a second process of the same rank has one of its own.
        notes: how it was read, where that needs a word, as sentences.
    """

    rank: int
    segments: list[Segment]
    torn: bool = False
    file: str = ""
    notes: list[str] = []
