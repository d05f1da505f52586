"""A bundle as one file, and back: written whole or not at all, read twice before anything is believed."""

from repro.move.names import SUFFIX, THIN_SUFFIX
from repro.move.pack import Packed, Wish, pack, top_of
from repro.move.read import Checked, check, peek
from repro.move.refused import refusing
from repro.move.target import held_before, no_target
from repro.move.unpack import keep_layers, thin_of, unpack

__all__ = [
    "SUFFIX",
    "THIN_SUFFIX",
    "Checked",
    "Packed",
    "Wish",
    "check",
    "held_before",
    "keep_layers",
    "no_target",
    "pack",
    "peek",
    "refusing",
    "thin_of",
    "top_of",
    "unpack",
]
