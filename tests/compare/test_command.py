"""`repro compare` with labels that several runs share."""

import json
from pathlib import Path

import pytest

from repro.cli.ending import end
from repro.cli.main import cli

SPEC = {
    "schema": 1,
    "protocol": {"metric": "acc", "margin": 0.05, "seed": 1, "parameters": {"seed": "seed"}},
}
CLOSE = (0.91, 0.92, 0.915, 0.905, 0.918)


def write_run(bundle: Path, number: int, label: str, seed: int, acc: float) -> str:
    name = f"20260101-00{number:04}-tiny-cpu-{number:06}.{label}"
    folder = bundle / "runs" / name / "attempt-1"
    folder.mkdir(parents=True)
    attempt = {
        "schema": 1,
        "attempt": 1,
        "status": "ok",
        "run_id": name,
        "label": label,
        "bundle": {"id": "abc", "identity": {"tree": "t"}, "protocol": SPEC},
    }
    (folder / "run.json").write_text(json.dumps(attempt))
    (folder.parent / "result.json").write_text('{"schema": 1, "attempt": 1, "status": "ok", "files": {}}')
    (folder / "params.json").write_text(json.dumps({"schema": 1, "file": "p.json", "values": {"seed": seed}}))
    (folder / "metrics.json").write_text(json.dumps({"schema": 1, "values": {"acc": acc.hex()}}))
    return name


@pytest.fixture
def series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Names of runs by label: five of `ref`, five of `same`, three of `worse`, one of `one`."""
    bundle = tmp_path / ".repro" / "tiny-000000000000"
    bundle.mkdir(parents=True)
    (bundle / "bundle.json").write_text('{"id": "abc"}')
    values = {
        "ref": CLOSE,
        "same": [x + 0.001 for x in reversed(CLOSE)],
        "worse": [0.7, 0.72, 0.69],
        "one": [0.914],
    }
    monkeypatch.chdir(tmp_path)
    return {
        label: [write_run(bundle, 10 * place + seed, label, seed, acc) for seed, acc in enumerate(found, 1)]
        for place, (label, found) in enumerate(values.items())
    }


def compared(capsys, *words):
    status = end(cli, ["compare", *words, "--json"])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("label", "word", "status"),
    [("same", "equivalent", 0), ("worse", "diverged", 1), ("one", "inconclusive", 6)],
)
def test_a_shared_label_stands_for_all_its_runs(series, capsys, label, word, status):
    found, said = compared(capsys, "ref", label)
    assert (found, said["verdict"], said["outcome"]) == (status, word, word)
    (row,) = said["statistics"]
    assert row["n"] == [5, len(series[label])]


def test_names_with_commas_are_a_group(series, capsys):
    _, said = compared(capsys, ",".join(series["ref"][:3]), "worse")
    assert said["statistics"][0]["n"] == [3, 3]


def test_each_word_has_its_own_verdict(series, capsys):
    status, said = compared(capsys, "ref", "same", "worse", "one")
    assert status == 6
    assert [one["outcome"] for one in said["comparisons"]] == ["equivalent", "diverged", "inconclusive"]


def test_single_runs_are_compared_as_ever(series, capsys):
    _, said = compared(capsys, series["ref"][0], series["same"][4])
    assert said["statistics"] == []
    assert said["outcome"] == "inconclusive"


def test_a_run_on_both_sides_is_refused(series, capsys):
    status, said = compared(capsys, "ref", series["ref"][1])
    assert (status, said["error"]["code"]) == (2, "compare-overlap")
    assert series["ref"][1] in str(said["error"]["found"])


def test_the_verdict_of_a_group_is_kept_beside_its_first_run(series, capsys, tmp_path):
    compared(capsys, "ref", "same", "--save")
    kept = list(tmp_path.glob(".repro/*/runs/*/verdict-*.json"))
    assert [path.parent.name for path in kept] == [series["same"][0]]
    assert json.loads(kept[0].read_text())["outcome"] == "equivalent"


def test_text_says_what_was_tested(series, capsys):
    end(cli, ["compare", "ref", "worse"])
    said = " ".join(capsys.readouterr().out.split())
    assert "diverged" in said
    assert "the difference is real" in said
    assert "5, 3" in said
