"""Base of all records: frozen, keyword-only, strict about unknown fields."""

from typing import Any

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value that is made once and never changed."""


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """A value read from a file that a newer runtime may have written: unknown fields are passed over."""


Json = dict[str, Any]
