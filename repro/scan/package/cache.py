"""What was read of a wheel, kept by its SHA-256: the second look at a lock opens no wheel.

One JSON document a wheel, and one file of names for a torch, in `scan/` of the tool's cache folder. Whatever
is damaged, or was written by another version of the reader, counts as absent.
"""

import re
from pathlib import Path

import msgspec

from repro.files import write_whole
from repro.model.binary import WheelFacts
from repro.scan.elf.exports import Exports, unpack

READER = 1  # counts up whenever the same wheel would give other facts

_SHA256 = re.compile(r"[0-9a-f]{64}")


def facts_for(sha256: str, cache: Path) -> WheelFacts | None:
    """What is known of the wheel, None when it has to be read.

    A torch whose names are gone has to be read as well.
    """
    facts = _facts(sha256, cache)
    if facts is None or (facts.name == "torch" and exports_for(sha256, cache) is None):
        return None
    return facts


def exports_for(sha256: str, cache: Path) -> Exports | None:
    """The names that the torch of this wheel offers, None when they are not known."""
    data = _read(_place(sha256, cache, "exports"))
    return unpack(data) if data else None


def keep(facts: WheelFacts, exports: Exports | None, cache: Path) -> None:
    """Write what was read of a wheel; the names of a torch first, for they are looked for second."""
    if exports is not None:
        write_whole(_place(facts.sha256, cache, "exports"), exports.pack())
    write_whole(_place(facts.sha256, cache, "json"), msgspec.json.encode(facts) + b"\n")


def _facts(sha256: str, cache: Path) -> WheelFacts | None:
    data = _read(_place(sha256, cache, "json"))
    try:
        facts = msgspec.json.decode(data, type=WheelFacts)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return facts if (facts.reader, facts.sha256) == (READER, sha256) else None


def _place(sha256: str, cache: Path, kind: str) -> Path:
    if not _SHA256.fullmatch(sha256):
        raise ValueError(f"no SHA-256 in hex: {sha256!r}")
    return cache / "scan" / f"{sha256}.{kind}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
