"""Read a pull's message stream: bytes fetched of all layers together, and why it failed."""

from collections.abc import Iterable, Mapping
from typing import Any

from repro.engine import failures
from repro.events import Progress, Sink


class PullLog:
    """Adds up the layers of one pull."""

    def __init__(self, reference: str, sink: Sink) -> None:
        self._reference = reference
        self._sink = sink
        self._layers: dict[str, tuple[int, int]] = {}

    def read(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """Take in all messages; raises base-not-found, registry-unreachable or disk-full."""
        said = ""
        # Read to the end even after an error: only then does the SDK let go of the connection.
        for message in messages:
            said = said or str(message.get("error", ""))
            detail = message.get("progressDetail") or {}
            if message.get("status") == "Downloading" and "total" in detail:
                self._layers[str(message.get("id"))] = (int(detail.get("current", 0)), int(detail["total"]))
                self._tell()
        if said:
            raise failures.pull_failed(self._reference, said)

    def _tell(self) -> None:
        done = sum(current for current, _total in self._layers.values())
        total = sum(total for _current, total in self._layers.values())
        self._sink(Progress(f"pull {self._reference}", done, total, "B"))
