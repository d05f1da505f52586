"""Lays the tensors of one run in the order of another one that has the same tensors by name.

Lists in a trace follow the optimizers' order, which parameter groups change. A fingerprint holds the
tensor's position: of a tensor of one block, up to 32 768 elements, it can be taken out again; a larger one is
not compared.
"""

import math
from dataclasses import replace

import msgspec

from repro.compare.lines.timeline import Timeline
from repro.model.columns import UNREAD
from repro.model.record import Json
from repro.model.trace import StateSnapshot

_BLOCK = 32768
_WORD = 1 << 64
_DIGITS = 16
SAID = "its tensors come in another order: compared by name, those above 32768 elements not at all"


def laid_like(line: Timeline, other: Timeline) -> Timeline:
    """`line` with its weights in the order of `other`; `line` itself where nothing is to be done."""
    here, there = (_names(each.start) for each in (line, other))
    if here == there or sorted(here) != sorted(there) or len(set(here)) < len(here):
        return line
    moves = [here.index(name) for name in there]
    sizes = [math.prod(row.get("shape") or []) for row in line.start.get("params", [])]
    start = {**line.start, "params": [line.start["params"][place] for place in moves]}
    shots = {n: _moved(shot, moves, sizes) for n, shot in line.snapshots.items()}
    return replace(line, start=start, snapshots=shots, notes=[*line.notes, SAID])


def _names(start: Json) -> list[str]:
    return [str(row.get("name")) for row in start.get("params", [])]


def _moved(shot: StateSnapshot, moves: list[int], sizes: list[int]) -> StateSnapshot:
    """Sums over all weights one after another, such as the sketch, have no meaning in another order."""
    return msgspec.structs.replace(
        shot,
        weights=_salted(shot.weights, moves, sizes),
        grads=_salted(shot.grads, moves, sizes),
        state=[shot.state[place] for place in moves] if len(shot.state) == len(moves) else [],
        sketch=[],
    )


def _salted(prints: list[str], moves: list[int], sizes: list[int]) -> list[str]:
    if len(prints) != len(moves):
        return []
    return [_at(prints[old], old, new, sizes[old]) for new, old in enumerate(moves)]


def _at(text: str, old: int, new: int, size: int) -> str:
    """The fingerprint as it would be at another position."""
    if old == new or len(text) != _DIGITS:
        return text
    if size > _BLOCK:
        return UNREAD
    alone = int(text, 16) * pow(2 * old + 1, -1, _WORD)
    return f"{alone * (2 * new + 1) % _WORD:016x}"
