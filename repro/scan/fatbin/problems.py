"""Sentences about what could not be read, a bounded number of them."""

MOST = 20


class Problems:
    """Collects sentences; beyond the first twenty it only counts."""

    def __init__(self) -> None:
        self._sentences: dict[str, None] = {}
        self._more = 0

    def add(self, sentence: str) -> None:
        """Note one, unless it is noted already."""
        if len(self._sentences) < MOST:
            self._sentences[sentence] = None
        elif sentence not in self._sentences:
            self._more += 1

    def all(self) -> tuple[str, ...]:
        """What was noted, in order."""
        more = (f"and {self._more} more of the kind",) if self._more else ()
        return (*self._sentences, *more)
