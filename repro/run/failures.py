"""Why a run did not end well: what its record says, what it wrote last, and what would help."""

import errno
import os
import re
import shutil
from pathlib import Path

import msgspec

from repro.engine.contract import Exit
from repro.errors import ReproError
from repro.files import raise_if_full
from repro.model.record import Open
from repro.model.run import Attempt, Gate

KEPT_BYTES = 8192
_LAST_LINES = 15
_LINE = 400
# Control characters, and escape sequences of terminals, which a program's last lines may hold.
_UNSEEN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_NO_ROOM_BYTES = 1 << 16

# What programs say when a container is less than the machine they were written on. First match wins.
_HINTS = (
    (
        r"No space left on device|Disk quota exceeded",
        "free some space on the disk of the run's folder, or give /dev/shm more: --shm-size",
    ),
    (
        r"name resolution|Name or service not known|Network is unreachable|resolve host|Failed to resolve",
        "it wants the network, and a run has none: put the data into the project, or repro run --network",
    ),
    (r"Read-only file system", "let it write below {out} or in its working folder: all else is read-only"),
    (r"Bus error|insufficient shared memory|out of shared memory", "give /dev/shm more room: --shm-size"),
    (r"CUDA out of memory|OutOfMemoryError", "halve the micro-batch and double accumulation"),
)


class _Gates(Open, kw_only=True):
    gates: list[Gate] = []


def no_record(ended: Exit, said: bytes) -> ReproError:
    """The error for a runtime that stopped before it had made an attempt; `said` is what it wrote."""
    return ReproError(
        "run-usage" if ended.status == 2 else "run-refused",
        "the run ended before it had a record",
        found=[f"exit status {ended.status}", *_lines(said)],
        needs="a bundle whose runtime starts, and an output folder that it can write",
        done="nothing was kept",
        tries=["repro doctor", "repro verify"],
    )


def cut_off(ended: Exit, attempt: Path, said: bytes) -> ReproError:
    """The error for an attempt whose record was not closed: no space, no memory, or an end from outside."""
    full = os.strerror(errno.ENOSPC)
    if full in said.decode("utf-8", "replace") or shutil.disk_usage(attempt).free < _NO_ROOM_BYTES:
        try:
            raise_if_full(OSError(errno.ENOSPC, full), attempt)
        except ReproError as error:
            return error
    if ended.oom:
        return _out_of_memory(attempt, _lines(said))
    return ReproError(
        "run-program-failed",
        f"the run was cut off before its record was closed: exit status {ended.status}",
        found=_lines(said) or "it wrote nothing",
        done=f"the record up to there is kept in `{attempt}`, and never taken for a finished run",
        tries=[f"repro show {attempt.parent}", "repro run BUNDLE      (again)"],
    )


def failure(record: Attempt, ended: Exit, attempt: Path) -> ReproError:
    """The error for an attempt that says itself that it did not end well."""
    last = _lines(_end_of(attempt / "log.txt"))
    if record.status == "refused":
        return _refused(record, attempt)
    if ended.oom:
        return _out_of_memory(attempt, last)
    status = record.exit_code if record.exit_code is not None else ended.status
    how = f"ended by {record.signal}" if record.signal else f"exit status {status}"
    return ReproError(
        "run-program-failed",
        f"the program did not finish: {how}",
        found=last or "it wrote nothing",
        done=f"the record up to there is kept in `{attempt}`",
        tries=[*_hint(last), f"less {attempt / 'log.txt'}"],
    )


def _refused(record: Attempt, attempt: Path) -> ReproError:
    """A failed gate; where it is about the live card, with what was needed and what would help."""
    gates = _gates(attempt)
    if record.plan and not any(gate.status == "failed" and not gate.allowed for gate in gates):
        return _seed_refused(record, attempt)
    stopping = [f for gate in gates for f in gate.findings if f.stops]
    fixes = [fix for f in stopping for fix in f.fix] + [f"repro explain {f.rule}" for f in stopping]
    return ReproError(
        "run-refused",
        "a gate failed, the program was not started",
        found=record.reason or "see gates.json",
        needs=[f.needed for f in stopping if f.needed],
        why="; ".join(dict.fromkeys(f.why for f in stopping if f.why)),
        done=f"the record is kept in `{attempt}`",
        tries=list(dict.fromkeys(fixes)) or [f"repro show {attempt.parent}", "repro verify"],
    )


def _seed_refused(record: Attempt, attempt: Path) -> ReproError:
    return ReproError(
        "seed-refused",
        "the program cannot start from the state that it was given",
        found=record.reason or "see log.txt",
        needs="a model of the same names, shapes and types as the one that the state was made of",
        done=f"no step was trained; the record is kept in `{attempt}`",
        tries=["repro run BUNDLE --no-seed-checkpoint", f"less {attempt / 'log.txt'}"],
    )


def _gates(attempt: Path) -> list[Gate]:
    try:
        return msgspec.json.decode((attempt / "gates.json").read_bytes(), type=_Gates).gates
    except (OSError, msgspec.MsgspecError):
        return []  # the record's own reason is told in any case


def _out_of_memory(attempt: Path, last: list[str]) -> ReproError:
    return ReproError(
        "run-out-of-memory",
        "the program ran out of memory and was killed",
        found=last,
        done=f"the record is kept in `{attempt}`",
        tries=["give the container more memory, or halve the micro-batch and double accumulation"],
    )


def _hint(last: list[str]) -> list[str]:
    text = "\n".join(last)
    return [tip for pattern, tip in _HINTS if re.search(pattern, text, re.IGNORECASE)][:1]


def _end_of(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - KEPT_BYTES))
        return file.read()


def _lines(said: bytes) -> list[str]:
    """The last lines, each cut to what a screen can hold, without what would move its cursor."""
    lines = _UNSEEN.sub("", said[-KEPT_BYTES:].decode("utf-8", "replace")).strip().splitlines()
    return [line if len(line) <= _LINE else f"{line[:_LINE]} …" for line in lines[-_LAST_LINES:]]
