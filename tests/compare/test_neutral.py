"""What was written with and without the recorder, piece by piece."""

import pytest

from repro.compare.neutral import beside

SAME = {
    "out/net.pt": {"tensor net/data/0": "aa", "net/data.pkl": "bb"},
    "log.txt": {"line 1": "done in 1.5 s"},
}


def wrote(**pieces: str) -> dict[str, dict[str, str]]:
    return {**SAME, "out/m.json": pieces}


def test_equal_pieces_are_equal() -> None:
    found = beside(wrote(acc="0.5"), wrote(acc="0.5"))
    assert (found.answer, [row.compared for row in found.files]) == ("equal", [1, 1, 2])


def test_another_value_differs_even_when_the_clock_does_not_repeat() -> None:
    found = beside(wrote(acc="0.5", t="1"), wrote(acc="0.6", t="2"), wrote(acc="0.6", t="3"))
    assert found.answer == "differs"
    assert next(row for row in found.files if row.name == "out/m.json").differ == ["acc"]


def test_what_does_not_repeat_is_left_out_and_counted() -> None:
    found = beside(wrote(acc="0.5", t="1"), wrote(acc="0.5", t="2"), wrote(acc="0.5", t="3"))
    assert (found.answer, found.files[1].unrepeatable) == ("equal", ["t"])


@pytest.mark.parametrize(
    ("recorded", "answer"), [("loss 0.5 in 1.5 s", "equal"), ("loss 0.6 in 1.5 s", "differs")]
)
def test_of_a_line_only_the_words_that_do_not_repeat_are_left_out(recorded: str, answer: str) -> None:
    lines = ({"out/log": {"line 1": text}} for text in (recorded, "loss 0.5 in 2.5 s", "loss 0.5 in 3.5 s"))
    assert beside(*lines).answer == answer


def test_tensors_that_do_not_repeat_prove_nothing() -> None:
    sides = ({"out/net.pt": {"tensor a": value}, "out/b": {"whole": "x"}} for value in ("1", "2", "3"))
    assert beside(*sides).answer == "unknown"


def test_a_file_that_only_one_run_left_differs() -> None:
    assert beside(wrote(acc="1"), SAME).answer == "differs"
    assert beside(SAME, wrote(acc="1"), wrote(acc="1")).answer == "differs"


def test_printed_lines_alone_are_no_proof() -> None:
    assert beside({"log.txt": {"line 1": "x"}}, {"log.txt": {"line 1": "x"}}).answer == "unknown"


def test_another_exit_status_differs() -> None:
    assert beside(SAME, SAME, statuses=(1, 0)).answer == "differs"
