"""`repro compare` with its forms: text, Markdown, a page, the cause in full."""

import json
from pathlib import Path

import pytest

from repro.cli.ending import end
from repro.cli.main import cli

LOSSES = {"one": (2.0, 1.0, 0.5, 0.25), "other": (2.0, 1.0, 0.625, 0.375), "third": (2.0, 1.0, 0.5, 0.25)}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs of four steps each; `other` differs from step 3 on."""
    for name, losses in LOSSES.items():
        folder = tmp_path / name / "attempt-1"
        folder.mkdir(parents=True)
        attempt = {
            "schema": 1,
            "attempt": 1,
            "status": "ok",
            "run_id": name,
            "started": (0.0).hex(),
            "ended": (3.5).hex(),
            "recorder": {"loaded": True, "torch": True, "steps": 4, "share": (0.005).hex()},
        }
        (folder / "run.json").write_text(json.dumps(attempt))
        (folder.parent / "result.json").write_text('{"schema": 1, "attempt": 1, "status": "ok", "files": {}}')
        start = {
            "k": "start",
            "format": 2,
            "rank": 0,
            "world": 1,
            "optimizers": [],
            "params": [],
            "buffers": [],
        }
        steps = [
            {"k": "s", "step": number, "opt": 0, "nb": 1, "loss": loss.hex(), "dt": (0.25).hex()}
            for number, loss in enumerate(losses, 1)
        ]
        end_ = {"k": "end", "steps": 4, "share": (0.005).hex(), "status": "ok"}
        lines = [json.dumps(record) for record in (start, *steps, end_)]
        (folder / "trace-0.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_page_is_written_whole_and_the_answer_is_as_without_it(runs, capsys):
    bare = end(cli, ["compare", "one", "other"])
    without = capsys.readouterr().out
    status = end(cli, ["compare", "one", "other", "--html", "out/page.html"])
    said = capsys.readouterr()
    assert (status, said.out) == (bare, without)
    assert "out/page.html" in said.err
    page = (runs / "out" / "page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert "Difference of the losses" in page
    assert [path.name for path in (runs / "out").iterdir()] == ["page.html"]  # nothing half-written stays
    again = end(cli, ["compare", "one", "other", "--html", "out/again.html", "--json"])
    assert again == status
    assert json.loads(capsys.readouterr().out)["first"]["step"] == 3
    assert (runs / "out" / "again.html").read_text("utf-8") == page


def test_several_runs_share_one_page(runs, capsys):
    end(cli, ["compare", "one", "other", "third", "--html", "page.html"])
    page = (runs / "page.html").read_text("utf-8")
    assert page.count("<article") == 2
    assert "2 runs beside one" in page


def test_a_page_that_cannot_be_written_is_an_error_with_its_place(runs, capsys):
    (runs / "taken").write_text("")
    assert end(cli, ["compare", "one", "other", "--html", "taken/page.html"]) not in (0, 1, 6, 7, 70)
    assert "taken" in capsys.readouterr().err
    assert end(cli, ["compare", "one", "other", "--html", str(runs)]) == 2


def test_time_stands_in_text_and_markdown(runs, capsys):
    end(cli, ["compare", "one", "other"])
    assert "3.5 s" in capsys.readouterr().out
    end(cli, ["compare", "one", "other", "--markdown"])
    assert "| time | 3.5 s | 3.5 s |" in capsys.readouterr().out


def test_the_cause_in_full(runs, capsys):
    end(cli, ["compare", "one", "other", "--explain"])
    said = capsys.readouterr().out
    assert "loss differs at step 3" in said
    assert "cause" in said
    assert "next:" in said


def test_every_cause_explains_itself(capsys):
    from repro.check.finding import rule_rows
    from repro.compare.causes.rules import rules
    from repro.errors import kinds

    codes = {rule.code for rule in rules()}
    assert not codes & (kinds().keys() | rule_rows().keys())
    assert end(cli, ["explain", "--json"]) == 0
    assert codes <= set(json.loads(capsys.readouterr().out)["codes"])
    for code in codes:
        assert end(cli, ["explain", code]) == 0
        said = capsys.readouterr().out
        assert said.startswith(f"{code}  (a cause")
        assert "{" not in said
        assert "source: " in said
