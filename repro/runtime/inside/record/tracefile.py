"""The trace on disk: JSON lines, only ever appended to, one file a process.

Lines are gathered and handed to the kernel each second or when 64 KB have come together, so a kill
costs the last second at most. The file is locked: a second living process of the same rank takes the
next name, a later one goes on in the same file.
"""

import fcntl
import json
import os
import sys
import time

BUFFER_BYTES = 64 * 1024
FLUSH_SECONDS = 1.0


# One encoder for all: making it takes longer than a record.
_text = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def rank_and_world():
    """This process's rank and the number of ranks, from torch.distributed or its launcher's variables."""
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
    except (AttributeError, RuntimeError):
        pass
    try:
        return int(os.environ.get("RANK") or 0), int(os.environ.get("WORLD_SIZE") or 1)
    except ValueError:
        return 0, 1


class TraceFile:
    """`trace-RANK.jsonl`, or `trace-RANK.2.jsonl` and so on while others hold the first."""

    def __init__(self, folder, rank):
        number = 1
        while True:
            name = "trace-%d.jsonl" % rank if number == 1 else "trace-%d.%d.jsonl" % (rank, number)
            self.fd = os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            if _locked(self.fd):
                break
            os.close(self.fd)
            number += 1
        self.first_of_rank = number == 1
        self.lines, self.size = [], 0
        self.flushed = time.monotonic()
        _drop_torn_tail(self.fd)

    def write(self, record):
        """Add one record, or the text of one."""
        line = ((record if type(record) is str else _text(record)) + "\n").encode("utf-8")
        self.lines.append(line)
        self.size += len(line)
        if self.size >= BUFFER_BYTES or time.monotonic() - self.flushed >= FLUSH_SECONDS:
            self.flush()

    def flush(self, sync=False):
        """Hand all lines to the kernel; with `sync`, to the disk."""
        data, self.lines, self.size = b"".join(self.lines), [], 0
        while data:
            data = data[os.write(self.fd, data) :]
        if sync:
            os.fsync(self.fd)
        self.flushed = time.monotonic()


def _locked(fd):
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: nothing can be told, and one process is the rule.
        return True


def _drop_torn_tail(fd):
    """Cut what an earlier, killed process left of its last line."""
    size = os.fstat(fd).st_size
    tail = os.pread(fd, 1 << 20, max(0, size - (1 << 20)))
    kept = tail.rfind(b"\n") + 1
    if kept != len(tail):
        os.ftruncate(fd, size - len(tail) + kept)
