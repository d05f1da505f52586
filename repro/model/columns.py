"""One signal of many steps as an array: a value a step, and whether the step has it.

Floats are float64 with one NaN, so that equal bits mean equal values. Fingerprints and digests are uint64.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_HEX = re.compile(r"[0-9a-fA-F]{1,16}")
_WIDTHS = (2, 4, 8, 16)
UNREAD = "unknown"  # what the recorder writes for a tensor that it could not read


@dataclass(frozen=True, eq=False)
class Column:
    """Values of one signal. Where `known` is False a step lacks it, and its value means nothing.

    Attributes:
        values: float64, uint64, int64 or bool. known: bool, of the same length.
    """

    values: Array
    known: Array

    def __len__(self) -> int:
        return len(self.values)

    @property
    def bits(self) -> Array:
        """The values in a form where == tells equal bits: -0.0 is not 0.0, and NaN is NaN."""
        return self.values.view(np.uint64) if self.values.dtype == np.float64 else self.values

    def take(self, places: slice | Array) -> "Column":
        """The steps at these places; a slice copies nothing."""
        return Column(self.values[places], self.known[places])


def absent(count: int) -> Column:
    """A signal that none of `count` steps has; it takes no memory."""
    return Column(np.broadcast_to(np.float64(np.nan), count), np.broadcast_to(np.False_, count))


def whole(values: Array) -> Column:
    """A column that has a value at every step."""
    return Column(values, np.broadcast_to(np.True_, len(values)))


def floats(texts: Sequence[str | None]) -> Column:
    """Column of float.hex() texts.

    Raises:
        ValueError, OverflowError: a text is no such number.
    """
    known, there = _known(texts)
    values = np.full(len(texts), np.nan)
    values[known] = np.fromiter(map(float.fromhex, there), np.float64, len(there))
    values[np.isnan(values)] = np.nan
    return Column(values, known)


def digests(texts: Sequence[str | None]) -> Column:
    """Column of up to 16 hex digits each; any other text is hashed, and `unknown` is no value."""
    known, there = _known([None if text == UNREAD else text for text in texts])
    values = np.zeros(len(texts), np.uint64)
    values[known] = _of_one_width(there) if _is_of_one_width(there) else _one_by_one(there)
    return Column(values, known)


def joined(parts: Sequence[Column]) -> Column:
    """One column after another."""
    kinds = {part.values.dtype for part in parts if part.known.any()} or {parts[0].values.dtype}
    kind = kinds.pop() if len(kinds) == 1 else np.dtype(np.float64)
    # The values of a part without any are filled anew: NaN means nothing to an integer.
    values = [part.values if part.values.dtype == kind else np.zeros(len(part), kind) for part in parts]
    return Column(np.concatenate(values), np.concatenate([part.known for part in parts]))


def _known(texts: Sequence[str | None]) -> tuple[Array, list[str]]:
    there = [text for text in texts if text is not None]
    if len(there) == len(texts):
        return np.broadcast_to(np.True_, len(texts)), there
    return np.fromiter((text is not None for text in texts), np.bool_, len(texts)), there


def _is_of_one_width(texts: list[str]) -> bool:
    return bool(texts) and len(texts[0]) in _WIDTHS and len(set(map(len, texts))) == 1


def _of_one_width(texts: list[str]) -> Array:
    try:
        raw = bytes.fromhex("".join(texts))
    except ValueError:
        raw = b""
    size = len(texts[0]) // 2
    if len(raw) != size * len(texts):  # not all are hex digits
        return _one_by_one(texts)
    return np.frombuffer(raw, f">u{size}").astype(np.uint64)


def _one_by_one(texts: list[str]) -> Array:
    return np.array([_digest(text) for text in texts], np.uint64)


def _digest(text: str) -> int:
    if _HEX.fullmatch(text):
        return int(text, 16)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
