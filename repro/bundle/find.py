"""Finds bundles and runs by path, by name, or by the first letters of an id."""

import os
from collections.abc import Iterator
from pathlib import Path

from repro.errors import ReproError
from repro.model.run import plain_word

HOME = ".repro"
REFERENCE = "reference"


def find_bundle(word: str, start: Path) -> Path:
    """Folder of the bundle that `word` names; empty means the newest below `start/.repro`.

    Raises:
        bundle-not-found: nothing matches, or more than one thing does.
    """
    if word and os.path.isfile(Path(word) / "bundle.json"):  # noqa: PTH113 - False, too, for what is no path
        return Path(word)
    here = known(start)
    if not word and here:
        return here[-1]
    matches = [p for p in here if _matches(p.name, word)]
    if len(matches) == 1:
        return matches[0]
    raise _not_found("bundle-not-found", word, matches or here, "repro build")


def find_run(word: str, start: Path) -> Path:
    """Folder of the run that `word` names: a path, or a run id by its first letters or its label.

    `reference` is the reference run of the bundle that has one.

    Raises:
        run-not-found: nothing matches, or more than one thing does.
    """
    matches = find_runs(word, start)
    if len(matches) == 1:
        return matches[0]
    raise _not_found("run-not-found", word, matches, "repro run")


def find_runs(word: str, start: Path) -> list[Path]:
    """Folders of all runs that `word` means, by path, id, first letters of an id, or label; oldest first.

    Raises:
        run-not-found: there is none.
    """
    if word and os.path.isdir(word) and _is_run(Path(word)):  # noqa: PTH112
        return [Path(word)]
    here = sorted(p for b in _bundles(start) for p in (b / "runs").glob("*") if _is_run(p))
    for means in (_is, _starts, _is_labelled):
        if matches := [p for p in here if word and means(p.name, word)]:
            return matches
    references = [b / "reference" / "run" for b in _bundles(start)] if word == REFERENCE else []
    if matches := [p for p in references if _is_run(p)]:
        return matches
    raise _not_found("run-not-found", word, here[-8:], "repro run")


def find_group(word: str, start: Path) -> list[Path]:
    """Folders of the runs that `word` names: one run, all runs of a label, or several with commas between.

    Raises:
        run-not-found: a part matches nothing, or is the start of more than one run's id.
    """
    parts = [part.strip() for part in word.split(",") if part.strip()]
    if len(parts) > 1:
        found = [path for part in parts for path in find_group(part, start)]
        return list({path.resolve(): path for path in found}.values())
    matches = find_runs(word, start)
    if len(matches) > 1 and all(_is_labelled(path.name, word) for path in matches):
        return matches
    return [find_run(word, start)]


def find_beside(word: str, other: Path, start: Path) -> list[Path]:
    """As `find_group`; but `reference` is that of the bundle that the run `other` lies in, if it has one."""
    own = other.resolve().parent.parent / REFERENCE / "run"
    return [own] if word == REFERENCE and _is_run(own) else find_group(word, start)


def _is(name: str, word: str) -> bool:
    return name == word


def _starts(name: str, word: str) -> bool:
    return name.startswith(word)


def _is_labelled(name: str, word: str) -> bool:
    return bool(plain_word(word)) and name.rpartition(".")[2] == plain_word(word)


def known(start: Path) -> list[Path]:
    """All bundles below the nearest `.repro`, oldest first."""
    return sorted(_bundles(start), key=lambda p: (p / "bundle.json").stat().st_mtime)


def _bundles(start: Path) -> Iterator[Path]:
    for folder in (start, *start.parents):
        if (folder / HOME).is_dir():
            yield from (p.parent for p in (folder / HOME).glob("[!.]*/bundle.json"))
            return


def _matches(name: str, word: str) -> bool:
    title, _, number = name.rpartition("-")
    return word in (name, title) or name.startswith(word) or number.startswith(word.rpartition(":")[2])


def _is_run(path: Path) -> bool:
    return (path / "run.json").is_file() or any(path.glob("attempt-*/run.json"))


def _told(path: Path) -> str:
    """A run's or bundle's name; of a reference run the path, since all have one name."""
    return str(path) if path.parent.name == REFERENCE else path.name


def _not_found(code: str, word: str, seen: list[Path], remedy: str) -> ReproError:
    kind = code.partition("-")[0]
    return ReproError(
        code,
        f"no single {kind} is meant by `{word}`" if word else f"there is no {kind} here yet",
        found=[_told(p) for p in seen[:8]] or f"no {kind} below `{HOME}/`",
        needs=f"a {kind}'s folder, or enough of its name to be the only one" if seen else "",
        tries=[remedy, "repro show"] if seen else [remedy],
    )
