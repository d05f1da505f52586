"""Canonical JSON: the same record gives the same bytes, and so the same digest, everywhere."""

from typing import Any

import msgspec

from repro.files import sha256_bytes


def encode(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces.

    NaN and infinity must have been turned into text before (see `repro.model.number`),
    since JSON cannot hold them.
    """
    return msgspec.json.encode(msgspec.to_builtins(value), order="deterministic")


def digest(value: Any) -> str:
    """Hex SHA-256 of the canonical form."""
    return sha256_bytes(encode(value))


def pretty(value: Any) -> bytes:
    """Indented JSON for files that people read; ends with a newline."""
    return msgspec.json.format(encode(value), indent=1) + b"\n"


def is_pretty(data: bytes) -> bool:
    """Whether these bytes are what `pretty` writes: one form for one content, no key twice."""
    try:
        return pretty(msgspec.json.decode(data)) == data
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
