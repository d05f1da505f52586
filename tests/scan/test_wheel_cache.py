"""A cache that cannot be written costs the next check its time, and no check its answer."""

from pathlib import Path

from repro.events import Event, Note
from repro.scan.package.wheel import scan_wheel

from .wheels import fat, wheel


def test_a_cache_that_cannot_be_written_is_said_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    path = wheel(tmp_path, "knn", "1.0", {"knn/_C.so": fat("two_tu.so")})
    said: list[Event] = []
    facts = scan_wheel(path, tmp_path / "cache", said.append)
    assert [binary.path for binary in facts.binaries] == ["knn/_C.so"]
    (note,) = [event for event in said if isinstance(event, Note)]
    assert note.level == "warning"
    assert path.name in note.text
