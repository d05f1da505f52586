"""What the trace says after the run: steps, events, device memory, checkpoints."""

import os

from .files import read_lines, sha256_file, write_json
from .hexfloat import hexfloat, unhex
from .schema import SCHEMA

SAVES = "checkpoints.jsonl"
SEEN_PYTHON, SEEN_TORCH = "seen-python", "seen-torch"


class Summary:
    """Counts over every trace file of an attempt."""

    def __init__(self, attempt):
        self.steps = 0
        self.events = []
        self.share = None
        for record in attempt.records():
            kind = record.get("k")
            if kind == "s" and not record.get("skipped"):
                self.steps += 1
            elif kind == "x":
                self.events.append(record)
            elif kind == "end":
                self._take_share(record)
        self.loaded = os.path.exists(os.path.join(attempt.cache, SEEN_PYTHON))
        self.torch = os.path.exists(os.path.join(attempt.cache, SEEN_TORCH))

    def _take_share(self, record):
        share = unhex(record["share"]) if record.get("share") else None
        if share is not None:
            self.share = max(self.share or 0.0, share)

    def recorder(self):
        """The field `recorder` of `run.json`."""
        found = {"loaded": self.loaded, "torch": self.torch, "steps": self.steps}
        if self.share is not None:
            found["share"] = hexfloat(self.share)
        stopped = [e for e in self.events if e.get("what") == "recorder-stopped"]
        if stopped:
            found["stopped"] = stopped[0].get("reason", "")
        return found


def write_memory(attempt, peak_bytes, events):
    """Write `memory.json` from the host's samples and the allocator's figures in the trace."""
    grown = [e for e in events if e.get("what") == "memory"]
    document = {"schema": SCHEMA, "host_bytes": peak_bytes or None}
    if grown:
        for key in ("allocated_bytes", "reserved_bytes"):
            document[key] = max(e.get(key, 0) for e in grown)
        largest = max(grown, key=lambda e: e.get("reserved_bytes", 0))
        document["step"] = largest.get("step")
        document["note"] = (
            "host: largest resident set of one process; device: peaks of torch's allocator, one process"
        )
    else:
        document["note"] = "host: largest resident set of one process; no device figures"
    write_json(attempt.path("memory.json"), document)


def close_checkpoints(attempt):
    """Write `checkpoints.json`; the rows that are saves, in order.

    A program that saves aside and renames is followed by the file's inode; the digest is given for
    files that are still there as they were saved.
    """
    rows = []
    for record in read_lines(os.path.join(attempt.cache, SAVES)):
        row = {k: record.get(k) for k in ("op", "path", "step", "bytes", "tensors", "fingerprint")}
        path = _find_now(record)
        row["path"] = _relative(path or record.get("path") or "", attempt.folder)
        row["sha256"] = sha256_file(path) if path else None
        rows.append(row)
    write_json(attempt.path("checkpoints.json"), {"schema": SCHEMA, "checkpoints": rows})
    return [row for row in rows if row["op"] == "save" and row["sha256"]]


def _relative(path, folder):
    inside = path.startswith(folder + os.sep)
    return os.path.relpath(path, folder) if inside else path


def _find_now(record):
    """Where the saved content lies now: at its path, or renamed in its folder; None when it was replaced."""
    path, wanted = record.get("path") or "", record.get("state")
    if not path or not wanted:
        return None
    if _state(path) == wanted:
        return path
    folder = os.path.dirname(path)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return None
    return next((p for p in (os.path.join(folder, n) for n in names) if _state(p) == wanted), None)


def _state(path):
    try:
        found = os.stat(path)
    except OSError:
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns]
