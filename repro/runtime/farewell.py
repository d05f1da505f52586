"""What a program of ours leaves behind when it is ended before its own end: one note a rank, in the cache."""

import glob
import os
import time

from .files import read_json

FAREWELL = "farewell-%d.json"
WAIT_SECONDS = 5.0


class Farewells:
    """Notes in an attempt's cache folder."""

    def __init__(self, cache):
        self.cache = cache
        self.since = None

    def note(self):
        """The note that decides: a refusal first, then the lowest rank's; None when there is none."""
        notes = self._notes()
        refused = [n for n in notes if n.get("status") == "refused"]
        return (refused + notes + [None])[0]

    def over(self):
        """Whether what is left of the program may be ended: every rank has said farewell, or had its time."""
        notes = self._notes()
        if not notes:
            return False
        self.since = self.since or time.monotonic()
        if len(notes) >= max(n.get("world") or 1 for n in notes):
            return True
        return time.monotonic() - self.since > WAIT_SECONDS

    def _notes(self):
        paths = glob.glob(os.path.join(glob.escape(self.cache), FAREWELL.replace("%d", "*")))
        notes = [read_json(path) for path in paths]
        return sorted((n for n in notes if n), key=lambda n: n.get("rank", 0))
