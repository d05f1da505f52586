"""`init` writes what was guessed, reads back equal, and never overwrites."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro import project
from repro.errors import ReproError
from repro.model.project import Code, Eval, Project, Protocol, Settings
from repro.project.decode import keys
from repro.project.init import COMMENTS, render

Make = Callable[..., Path]


def test_written_settings_read_back_equal(make: Make) -> None:
    files = {
        "params.yaml": "seed: 1\nbatch: 4\n",
        "requirements.txt": "torch\n",
        "eval/a.csv": "1\n",
        ".python-version": "3.9",
    }
    root = make(files)
    guessed = project.load(root)
    path = project.write(guessed)
    assert path == root / "repro.toml"
    again = project.load(root)
    assert again.settings == guessed.settings
    assert again.origin("params.file") == "file"
    text = path.read_text()
    assert 'file = "params.yaml"  # guessed from params.yaml' in text
    assert "# margin = 0.01" in text
    assert path.stat().st_mode & 0o777 == 0o644
    assert [p.name for p in root.iterdir() if p.name.startswith(".repro")] == []


def test_every_commented_line_may_be_uncommented(make: Make) -> None:
    text = render(project.load(make()))
    lines = [line.removeprefix("# ") for line in text.splitlines()]
    assert set(tomllib.loads("\n".join(lines))) >= {"code", "eval", "protocol", "targets"}
    assert set(COMMENTS) <= set(keys())


@pytest.mark.parametrize("existing", ["repro.toml", "pyproject.toml", "dangling"])
def test_existing_settings_are_never_overwritten(make: Make, existing: str) -> None:
    root = make()
    guessed = project.load(root)
    if existing == "dangling":
        (root / "repro.toml").symlink_to("elsewhere.toml")
    else:
        text = 'name = "mine"\n' if existing == "repro.toml" else '[tool.repro]\nname = "mine"\n'
        (root / existing).write_text(text)
        guessed = project.load(root)
    before = sorted((p.name, p.is_symlink() or p.read_text()) for p in root.iterdir())
    with pytest.raises(ReproError) as caught:
        project.write(guessed)
    assert (caught.value.code, caught.value.exit_status) == ("config-exists", 2)
    assert sorted((p.name, p.is_symlink() or p.read_text()) for p in root.iterdir()) == before


def test_file_that_appears_meanwhile_is_kept(make: Make) -> None:
    root = make()
    guessed = project.load(root)
    (root / "repro.toml").write_text("")
    with pytest.raises(ReproError):
        project.write(guessed)
    assert (root / "repro.toml").read_text() == ""


TEXT = st.text(st.characters(blacklist_categories=("Cs",)), max_size=15)


@given(
    command=st.lists(TEXT, max_size=4),
    log=st.dictionaries(TEXT, TEXT, max_size=3),
    margin=st.none() | st.floats(0, 1e9),
    seed=st.none() | TEXT | st.integers(-(1 << 62), 1 << 62),
)
def test_any_settings_survive_the_file(
    command: list[str], log: dict[str, str], margin: float | None, seed: object
) -> None:
    import msgspec

    settings = Settings(
        name="x", code=Code(command=command), eval=Eval(log=log), protocol=Protocol(margin=margin, seed=seed)
    )
    text = render(Project(root="/", file="", settings=settings, origins={}))
    assert msgspec.convert(tomllib.loads(text), Settings) == settings
