import json
import re

import msgspec
import pytest

from repro import report

COLOUR = re.compile(r"\x1b\[\d+m")


def test_text_is_as_checked_in(named_verdict, golden):
    name, verdict = named_verdict
    golden(f"{name}.txt", report.text(verdict, width=80, colour=False))


def test_markdown_is_as_checked_in(named_verdict, golden):
    name, verdict = named_verdict
    golden(f"{name}.md", report.markdown(verdict))


def test_document_is_as_checked_in(named_verdict, golden):
    name, verdict = named_verdict
    golden(f"{name}.json", json.dumps(report.document(verdict), indent=1, allow_nan=False) + "\n")


def test_colour_adds_nothing_but_colour(named_verdict):
    verdict = named_verdict[1]
    coloured = report.text(verdict, width=80, colour=True)
    assert COLOUR.search(coloured)
    assert COLOUR.sub("", coloured) == report.text(verdict, width=80, colour=False)


@pytest.mark.parametrize("width", [80, 100, 120])
def test_lines_keep_within_the_width(named_verdict, width):
    lines = report.text(named_verdict[1], width=width, colour=False).splitlines()
    commands = tuple(f"{' ' * 12}repro {name}" for name in ("compare", "show"))  # to be typed in one piece
    assert [line for line in lines if len(line) > width and not line.startswith(commands)] == []
    assert [line for line in lines if line != line.rstrip()] == []


def test_document_has_the_keys_that_users_depend_on(verdict):
    document = report.document(verdict)
    assert {
        "command",
        "schema",
        "verdict",
        "numerics",
        "outcome",
        "first",
        "signals",
        "protocol_differences",
        "conditions_that_differ",
        "cause",
        "evidence",
        "not_controlled",
        "metrics",
    } <= document.keys()
    assert document["command"] == "compare"
    assert document["first"] == {"signal": "init", "step": 0, "module": ""}
    assert {"first_step", "largest"} <= document["signals"]["loss"].keys()
    assert {"key", "a", "b", "class"} <= document["protocol_differences"][0].keys()
    assert {"code", "why", "pin"} <= document["cause"].keys()


def test_document_holds_every_bit_of_a_metric(verdict):
    row = report.document(verdict)["metrics"][0]
    assert row["a"] == 0.9125
    assert float.fromhex(row["exact"]["difference"]) == 0.91 - 0.9125


def test_numbers_that_json_lacks_become_text(verdict):
    row = msgspec.structs.replace(verdict.metrics[0], a="nan", b="-inf", difference="nan")
    document = report.document(msgspec.structs.replace(verdict, metrics=[row]))
    assert (document["metrics"][0]["a"], document["metrics"][0]["b"]) == ("nan", "-inf")
    json.dumps(document, allow_nan=False)


def test_markdown_cells_are_safe(named_verdict):
    if named_verdict[0] == "learning_rate":
        assert "a \\| b &lt;b>" in report.markdown(named_verdict[1])
