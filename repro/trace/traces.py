"""Finds and reads the traces of an attempt."""

import re
from pathlib import Path

from repro.model.trace import Trace
from repro.trace import cache

_NAME = re.compile(r"trace-(?P<rank>\d+)(?:\.(?P<part>\d+))?\.jsonl")


def read_trace(attempt: Path) -> list[Trace]:
    """The traces of an attempt, one for each process that trained, by rank and then by part.

    A last line that cannot be read was cut by a kill: it is passed over and the trace is `torn`.
    Records of an unknown kind are passed over; a run without torch has no trace, which is an
    empty list, and an empty file is a trace without segments.

    Raises:
        trace-too-new, trace-too-old: a recorder with another format wrote it.
        trace-damaged: a line before the last cannot be read, the file has no beginning, or steps are
            repeated or out of order within one segment.
    """
    found = [(match, path) for path in attempt.glob("trace-*.jsonl") if (match := _NAME.fullmatch(path.name))]
    found.sort(key=lambda pair: (int(pair[0]["rank"]), int(pair[0]["part"] or 1)))
    return [cache.read(path, int(match["rank"])) for match, path in found]
