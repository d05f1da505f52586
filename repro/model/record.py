"""Base of all records: frozen, strict about unknown fields.

msgspec does not inherit `kw_only`, so every record says it again.
"""

from typing import Any, dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True)  # for type checkers only
class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value that is made once and never changed."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Open(msgspec.Struct, frozen=True, kw_only=True):
    """A value read from a file that a newer runtime may have written: unknown fields are passed over."""


Json = dict[str, Any]
