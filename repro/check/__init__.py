"""Judges a stack against a target: rules over facts, each finding with evidence and a fix."""

from repro.check.examine import examine, verdict_of
from repro.check.known.table import torch_from_table
from repro.check.words.question import questions, read_question, stack_and_target
from repro.check.words.target import target_from_words
from repro.check.words.torch import plain_index, torch_from_words

__all__ = [
    "examine",
    "plain_index",
    "questions",
    "read_question",
    "stack_and_target",
    "target_from_words",
    "torch_from_table",
    "torch_from_words",
    "verdict_of",
]
