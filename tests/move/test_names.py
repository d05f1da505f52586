"""Names and links that import takes stay in the folder, whatever else lies beside them."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro import bundle as bundles
from repro.bundle.assemble import NOT_LISTED
from repro.move import names

_PARTS = st.sampled_from(["a", "b", "c"])
_PLACES = st.lists(_PARTS, min_size=1, max_size=3).map("/".join)
_TEXTS = st.lists(st.sampled_from(["..", "..", "a", "b", "c", "."]), min_size=1, max_size=5).map("/".join)


def _lay(eval_: Path, links: dict[str, str], folders: list[str]) -> list[Path]:
    """Folders, and the links among those given that import takes and the archive's reader lets stand."""
    made: list[Path] = []
    for place in folders:
        (eval_ / place).mkdir(parents=True, exist_ok=True)
    for place, text in links.items():
        path = eval_ / place
        taken = not names.link_fault(f"eval/{place}", text)
        above = [eval_ / parent for parent in Path(place).parents if parent.name]
        if taken and not os.path.lexists(path) and not any(parent.is_symlink() for parent in above):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(text)
            made.append(path)
    return made


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(_PLACES, _TEXTS, max_size=6), st.lists(_PLACES, max_size=4))
def test_no_chain_of_links_leaves_the_evaluation_set(links: dict[str, str], folders: list[str]) -> None:
    with tempfile.TemporaryDirectory() as where:
        eval_ = Path(where).resolve() / "bundle" / "eval"
        eval_.mkdir(parents=True)
        for path in _lay(eval_, links, folders):
            end = Path(os.path.realpath(path))
            assert end == eval_ or eval_ in end.parents, (path, path.readlink())


@given(st.text())
def test_a_fault_is_said_in_words_or_there_is_none(text: str) -> None:
    why = names.fault(text)
    assert why or text.isprintable() or not text.isascii()
    assert not why or " " in why


@pytest.mark.parametrize(
    ("first", "second"),
    [("eval/a", "eval/A"), ("eval/x/a", "Eval/b"), ("\u00e9", "e\u0301"), ("stra\u00dfe", "STRASSE")],
)
def test_collisions(first: str, second: str) -> None:
    assert names.collision([first, second]) is not None
    assert names.collision([first, first]) is None


def test_what_a_manifest_never_lists_is_reserved() -> None:
    """The two rooms know the same names, though neither imports the other."""
    assert set(NOT_LISTED) == set(names.RESERVED)
    assert bundles.left_out(Path("/nonexistent")) == frozenset()
