"""Public bug reports as questions: each gets an answer that is not wrong, for the reason that was found.

The table has facts alone, in our own words; what a report leaves open was chosen to fit it. `accept` are the
right answers in the casebook's words, `rule` is the one that must say why.
"""

import json
from pathlib import Path

import pytest

from repro.check import examine, read_question, stack_and_target

WORDS = {
    "runs": "ok",
    "runs-after-jit": "risky",
    "risky": "risky",
    "will-fail": "incompatible",
    "unknown": "unknown",
}
TABLE = Path(__file__).parent.parent / "cases" / "compat" / "cousins.jsonl"
ROWS = [json.loads(line) for line in TABLE.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_report(row):
    report = examine(*stack_and_target(read_question(row)))
    assert WORDS[report.verdict] in row["accept"], report.findings
    assert "rule" not in row or row["rule"] in {found.rule for found in report.findings}


def test_every_report_is_named_once_by_id_and_says_where_it_is_from():
    assert len({row["id"] for row in ROWS}) == len(ROWS) == 331
    assert all(row["source"].partition("#")[2].isdigit() and "/" in row["source"] for row in ROWS)
