"""Markdown that renders as it is meant to, whatever the words in it."""

import re

import pytest

from repro import report

from .pages import HOSTILE, curves, full, hostile


def _cells(line: str) -> int:
    """Cells of a row as GitHub splits them: at bars that no backslash stands before."""
    return len(re.sub(r"\\.", "", line).strip("|").split("|"))


@pytest.mark.parametrize("verdict", [full(), hostile()], ids=["full", "hostile"])
def test_every_row_has_as_many_cells_as_its_head(verdict):
    lines = report.markdown(verdict, curves()).splitlines()
    rules = [place for place, line in enumerate(lines) if re.fullmatch(r"\|( --- \|)+", line)]
    assert len(rules) >= 9
    for place in rules:
        wanted = lines[place].count("---")
        assert _cells(lines[place - 1]) == wanted
        for line in lines[place + 1 :]:
            if not line.startswith("|"):
                break
            assert _cells(line) == wanted, line


def test_hostile_words_open_nothing():
    text = report.markdown(hostile(), curves())
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)  # without code spans, in which nothing is alive
    outside = outside.replace("<details><summary>", "").replace("</summary>", "").replace("</details>", "")
    assert "<" not in outside
    assert not re.search(r"(?<!\\)\]\(", outside)
    assert HOSTILE not in outside


def test_rows_that_only_pass_a_difference_on_are_folded():
    text = report.markdown(full(), curves())
    folded = text[text.index("<details>") : text.index("</details>")]
    assert "8 modules" in folded
    assert "`features.bn1`" in folded
    assert "`features.conv1`" not in folded
