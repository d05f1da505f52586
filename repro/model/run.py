"""What a run left behind: how it was started, how it ended, what it measured.

Written by the runtime, in the container, so unknown fields are passed over.
"""

import re
from typing import Any

from repro.model.record import Json, Open

_LONGEST_WORD = 60


def plain_word(text: str) -> str:
    """`text` as it stands in a run's id, which is the name of a folder and of a container."""
    return re.sub(r"[^A-Za-z0-9_+-]+", "-", text).strip("-").lower()[:_LONGEST_WORD]


class LiveFinding(Open, kw_only=True):
    """What the runtime found about the live card; `rule` is a row of `data/rules/`, `stops` refused a run."""

    rule: str
    found: str = ""
    needed: str = ""
    why: str = ""
    fix: list[str] = []
    stops: bool = False


class Gate(Open, kw_only=True):
    """A check before or after the loop: status is passed, failed, unknown or skipped.

    `allowed`: it failed, and did not stop a bundle that was built with `--allow-incompatible`.
    """

    name: str
    status: str
    reason: str = ""
    evidence: list[str] = []
    findings: list[LiveFinding] = []
    allowed: bool = False


class Attempt(Open, kw_only=True):
    """`run.json` of one attempt.

    Attributes:
        status: running, ok, failed, stopped, refused, or limited (ended by us after the step that was asked).
        exit_code: of the program; None while it runs. `signal` when one ended it.
        started, ended: seconds since 1970, as float.hex() text; recorded only, never compared.
        command: as declared; `argv` as run, with paths of this run's folder as {out}.
        inputs: sha256 of files named on the command line (only without a bundle).
        recorder: {"loaded": bool, "torch": bool, "steps": int, "share": hex}.
        plan: {"seed": sha256 of the seed checkpoint or "", "perturb", "stop", "dense", "sync"}.
        devices: {"driver", "cards": [{"name", "uuid", "capability", "memory_bytes"}]}; empty without a card.
    """

    schema: int
    attempt: int
    status: str
    run_id: str = ""
    label: str = ""
    engine: str = ""
    bundle: Json = {}
    command: list[str] = []
    argv: list[str] = []
    inputs: dict[str, str] = {}
    overrides: dict[str, str] = {}
    environment: dict[str, str] = {}
    exit_code: int | None = None
    signal: str = ""
    started: str = ""
    ended: str = ""
    reason: str = ""
    recorder: Json = {}
    plan: Json = {}
    devices: Json = {}


class Metrics(Open, kw_only=True):
    """`metrics.json` of an attempt: numbers as float.hex() text, and where they were read."""

    schema: int
    values: dict[str, str] = {}
    source: str = ""


class Memory(Open, kw_only=True):
    """`memory.json`: peaks in bytes. `step` is the optimizer step at which the figure last grew.

    `host_bytes` is the largest resident set of any process of the run; the device figures
    are the allocator's, absent on a machine without a GPU.
    """

    schema: int
    host_bytes: int | None = None
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    step: int | None = None
    note: str = ""


class RunFolder(Open, kw_only=True):
    """A run, read from its folder: the attempt that counts, with all that lies beside it.

    Attributes:
        path: absolute path of the run's folder; `folder` of the attempt.
        complete: a result was committed; False means the run did not finish.
        protocol: the bundle's `protocol.json`, empty for a recorded command.
        params: the parameters' values as used, empty when unknown.
        identity: the bundle's identity digests, empty for a recorded command.
        conditions: all that can change a number, by dotted name.
        rows: evaluation rows, one dict an example.
        params_file: name of the file that the values come from, empty when unknown.
        history: by metric the values printed in training, float.hex() text; only where a target is declared.
        files: sha256 of each file of the attempt, by its name there; empty without a result.
    """

    path: str
    folder: str
    complete: bool
    attempt: Attempt
    protocol: Json = {}
    params: Json = {}
    identity: Json = {}
    conditions: dict[str, Any] = {}
    gates: list[Gate] = []
    metrics: Metrics | None = None
    memory: Memory | None = None
    rows: list[Json] = []
    history: dict[str, list[str]] = {}
    params_file: str = ""
    files: dict[str, str] = {}
