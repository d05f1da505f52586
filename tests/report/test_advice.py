"""The next step: one for every word on top, and always one that can be typed."""

import shlex

import msgspec
import pytest

from repro.compare import EXIT_STATUS
from repro.model.verdict import NUMERICS, OUTCOMES, ProtocolDifference
from repro.report.advice import onward, run_word

from .pages import full, hostile

change = msgspec.structs.replace


@pytest.mark.parametrize("word", EXIT_STATUS)
@pytest.mark.parametrize("numerics", NUMERICS)
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_there_is_a_next_step_for_every_answer(word, numerics, outcome):
    step = onward(change(full(), verdict=word, numerics=numerics, outcome=outcome))
    assert step.words
    assert not step.command or step.command.startswith("repro ")


def test_an_incomparable_pair_is_told_what_to_allow():
    rows = [ProtocolDifference(key="params.lr", a=1, b=2, class_="must-equal")]
    step = onward(change(full(), verdict="incomparable", protocol_differences=rows))
    assert step.command.endswith(" --allow params.lr")


def test_without_members_they_come_first():
    step = onward(change(full(), verdict="inconclusive", numerics="untested", envelope=None))
    assert step.command == "repro run --make-reference"


def test_beyond_rounding_is_replayed_then_explained():
    verdict = change(full(), verdict="beyond-rounding")
    assert onward(change(verdict, replay=None)).command == "repro replay 20261201-081512-digits-a100-9ab0"
    assert onward(verdict).command.endswith("--explain")


def test_seeds_are_counted():
    rows = [msgspec.structs.replace(full().statistics[1], needed=12)]
    verdict = change(full(), verdict="inconclusive", numerics="within-rounding", outcome="inconclusive")
    assert onward(change(verdict, statistics=rows)).command == "repro run --repeat 12"


def test_words_for_a_shell_are_quoted():
    assert run_word("id (label)") == "id"
    assert run_word("/a b/c") == "'/a b/c'"
    command = onward(change(hostile(), verdict="incomplete")).command
    assert shlex.split(command)[:2] == ["repro", "show"]
    assert len(shlex.split(command)) == 3
