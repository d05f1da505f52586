"""What the recorder wrote, read back: steps, snapshots of the state, events.

Steps count optimizer steps from 1; step 0 is the state before the first one.
Numbers are float.hex() text as written, so that equal means equal in every bit.
"""

from repro.model.record import Json, Open

FORMAT = 1


class Step(Open, kw_only=True):
    """One optimizer step.

    Attributes:
        opt: number of the optimizer, in order of creation.
        loss: sum of the values `backward` was called on since the last step, unscaled.
        nb: number of backward calls (micro-batches).
        gn: norm over parameters of the gradients, read after the step.
        lr: learning rate of each parameter group, absent when as at the step before.
        idx: running hash of the sample stream consumed so far, 16 hex digits.
        batch: fingerprint of the tensors of the batches of this step.
        rng: digests of the generators' states: torch, python, numpy.
        dt: seconds since the step before.
    """

    step: int
    opt: int = 0
    loss: str | None = None
    nb: int = 0
    gn: str | None = None
    lr: list[str] | None = None
    idx: str | None = None
    batch: str | None = None
    rng: dict[str, str] = {}
    skipped: bool = False
    dt: str | None = None


class StateSnapshot(Open, kw_only=True):
    """Fingerprints of the state after `step`, lists in the order of the start record.

    Attributes:
        weights, buffers, state: 16 hex digits each (divergence.md 2.4); `state` is the optimizer's.
        norm2: squared norm of the weights. sketch: 32 sums for distances between traces.
        nonfinite: number of weights that are NaN or infinite.
    """

    step: int
    weights: list[str] = []
    buffers: list[str] = []
    state: list[str] = []
    norm2: str | None = None
    sketch: list[str] = []
    nonfinite: int = 0


class Segment(Open, kw_only=True):
    """From one `start` record to the next: a run, or the part after a resume."""

    start: Json
    steps: list[Step] = []
    snapshots: list[StateSnapshot] = []
    events: list[Json] = []
    checkpoints: list[Json] = []
    end: Json | None = None


class Trace(Open, kw_only=True):
    """All segments of one rank. `torn` when the last line was cut off and passed over.

    Attributes:
        file: name of the file it was read from; a second process of the same rank has one of its own.
    """

    rank: int
    segments: list[Segment]
    torn: bool = False
    file: str = ""
