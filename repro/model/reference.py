"""What a bundle keeps of its reference: the seed checkpoint, and what was run beside it."""

from repro.model.record import Record


class SeedRecord(Record, kw_only=True):
    """`seed/state.json`: digest and size of `state.safetensors`, the bundle's id, the run that it is of."""

    schema: int = 1
    bundle: str
    run: str
    sha256: str
    bytes: int


class ReferenceRecord(Record, kw_only=True):
    """`reference/reference.json`, written when all parts are whole.

    Attributes:
        bundle, run: ids of the bundle and of the reference run. seed: digest of the seed checkpoint.
        members: numbers of the noise members; 0 is a plain repeat. steps: optimizer steps of the run.
        dense: steps recorded module by module; states: steps whose states are kept for them.
        conditions: digest of the conditions that the reference ran under.
        repeatable: whether the dense run, or the plain repeat, had the reference's weights in every bit.
    """

    schema: int = 1
    bundle: str
    run: str
    seed: str
    members: list[int]
    steps: int
    dense: list[int]
    states: list[int]
    conditions: str
    repeatable: bool
