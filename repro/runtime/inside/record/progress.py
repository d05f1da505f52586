"""Lines for a watcher who does not want to read the trace: at most one a second."""

import json
import os
import time

from ...hexfloat import hexfloat

SECONDS = 1.0


class Progress:
    """Appends to `progress.jsonl`; silent where another process does."""

    def __init__(self, attempt):
        self.began = self.shown = time.monotonic()
        self.fd = None
        if attempt is not None:
            path = os.path.join(attempt, "progress.jsonl")
            self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            self.shown -= SECONDS

    def show(self, step):
        """Tell of a step, unless one was told of within the last second."""
        now = time.monotonic()
        if self.fd is None or now - self.shown < SECONDS:
            return
        self.shown = now
        line = {
            "step": step["step"],
            "loss": step.get("loss"),
            "dt": step.get("dt"),
            "t": hexfloat(now - self.began),
        }
        os.write(self.fd, (json.dumps(line) + "\n").encode("ascii"))
