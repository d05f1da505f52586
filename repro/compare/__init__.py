"""Judges how two runs diverge, from what their records say. Reads no files of a run, needs no torch."""

from repro.compare.judge import compare_many, judge
from repro.compare.side import Side
from repro.compare.words import EXIT_STATUS, exit_status

__all__ = ["EXIT_STATUS", "Side", "compare_many", "exit_status", "judge"]
