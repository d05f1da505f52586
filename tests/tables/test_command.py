"""`repro gpus`: the list, one card, a name that no card bears."""

import json

import pytest

from repro.cli.ending import end
from repro.cli.main import cli
from repro.report.gpus import card_text
from repro.tables.gpus import all_gpus, gpu_for, members


def _gpus(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = end(cli, ["gpus", *words])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_the_list_has_every_card_with_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = _gpus(capsys)
    assert (status, err) == (0, "")
    (a6000,) = (line for line in out.splitlines() if line.split()[:1] == ["rtx-a6000"])
    assert a6000.split()[:4] == ["rtx-a6000", "8.6", "49140", "768"]
    assert "A6000" in a6000
    flat = " ".join(out.split())
    assert all((gpu.key if gpu.memory_bytes else gpu.product) in flat for gpu in all_gpus())


def test_the_list_as_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = _gpus(capsys, "--json")
    assert status == 0
    document = json.loads(out)
    assert (document["schema"], document["command"]) == (1, "gpus")
    cards = {card["key"]: card for card in document["cards"]}
    assert len(cards) == len(all_gpus())
    l40s = cards["l40s"]
    assert (l40s["capability"], l40s["memory_mib"], l40s["memory_bytes"]) == ("8.9", [46068], 46068 * 2**20)
    assert (cards["h20"]["capability"], cards["h20"]["memory_bytes"]) == ("9.0", None)
    assert all(card["source"] for card in cards.values())


def test_one_card_by_the_words_of_a_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = _gpus(capsys, "NVIDIA", "H100", "80GB", "HBM3")
    assert status == 0
    assert out.splitlines()[0] == "H100 SXM5 80GB: compute capability 9.0 (Hopper GH100)"
    assert "81559 MiB (79.6 GiB)" in out
    assert "fp8 1978.9 TFLOP/s" in out
    assert "source" in out


def test_a_name_of_several_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = _gpus(capsys, "a100", "--json")
    assert status == 0
    document = json.loads(out)
    assert document["card"]["stands_for"] == [card["key"] for card in document["products"]]
    text = card_text(gpu_for("a100"), members(gpu_for("a100")))
    assert "at least 40960 MiB" in text
    assert text.count("a100-") == 4


@pytest.mark.parametrize(
    ("words", "first", "more"),
    [
        (("sm_90",), "card of compute capability 9.0 (Hopper)", "memory    unknown"),
        (
            ("Some New Card (9.0)",),
            "Some New Card: compute capability 9.0 (Hopper)",
            "driver    from R525",
        ),
        (
            ("A100-SXM4-40GB", "MIG", "1g.5gb"),
            "A100 SXM4 40GB MIG: compute capability 8.0",
            "slice     MIG 1g.5gb",
        ),
        (("V100",), "Tesla V100: compute capability 7.0", "R580 is the last branch"),
        (("1080 Ti",), "GeForce GTX 1080 Ti: compute capability 6.1", "tensor    none"),
    ],
)
def test_what_is_not_known_is_said(
    words: tuple[str, ...], first: str, more: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = _gpus(capsys, *words)
    assert status == 0
    assert out.startswith(first)
    assert more in out


def test_an_unknown_name_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = _gpus(capsys, "RTX", "409O")
    assert (status, out) == (2, "")
    assert "error[gpu-unknown]: no card is known as `RTX 409O`" in err
    assert "repro gpus rtx-4090" in err
    status, out, err = _gpus(capsys, "Voodoo", "--json")
    assert (status, err) == (2, "")
    assert json.loads(out)["error"]["code"] == "gpu-unknown"
