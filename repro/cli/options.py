"""Options that several commands share."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from repro.cli.answer import Answer

project_folder = click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="[PROJECT]"
)
engine = click.option(
    "--engine",
    type=click.Choice(["docker", "inplace"]),
    default="docker",
    show_default=True,
    envvar="REPRO_ENGINE",
    help="A container engine, or this machine itself (a venv; no isolation).",
)
allow_dirty = click.option(
    "--allow-dirty",
    is_flag=True,
    help="Pack a tree that differs from the commit; the difference is stored and changes the id.",
)
include = click.option(
    "--include", multiple=True, metavar="PATH", help="Pack this untracked file or sibling folder too."
)
python = click.option(
    "--python", metavar="X.Y", default="", help="Python of the target, instead of the settings' own."
)
sets = click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help="Change a parameter; the change is recorded."
)

gpus = click.option(
    "--gpus",
    default="none",
    show_default=True,
    metavar="none|all|IDS",
    help="Cards for the container: all, or indices or UUIDs with commas.",
)
mounts = click.option(
    "--mount",
    "mounts",
    multiple=True,
    metavar="NAME=FOLDER",
    help="Show a host folder as NAME in the program's working folder, read-only.",
)

insecure = click.option(
    "--insecure", is_flag=True, help="Allow plain http to a registry that is not on this machine."
)
keys = click.option(
    "--key",
    "keys",
    multiple=True,
    envvar="REPRO_KEYS",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.pub",
    help="Public key that must have signed the bundle, or one of several; REPRO_KEYS: files, `:` between.",
)


def answers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--json`, `--quiet`, `--verbose`, `--traceback`; the command gets `answer` in their place."""

    @click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document on standard output.")
    @click.option("-q", "--quiet", is_flag=True, help="Show only warnings, errors and the answer.")
    @click.option("-v", "--verbose", is_flag=True, help="Show what the programs behind the steps print.")
    @click.option("--traceback", is_flag=True, help="Show where in the tool an error arose.")
    @functools.wraps(function)
    def wrapped(*args: Any, as_json: bool, quiet: bool, verbose: bool, traceback: bool, **kwargs: Any) -> Any:
        del traceback  # `repro.cli.ending` looks for the word itself
        return function(*args, answer=Answer(as_json=as_json, quiet=quiet, verbose=verbose), **kwargs)

    return wrapped


def pairs(words: tuple[str, ...], option: str) -> dict[str, str]:
    """KEY=VALUE words as a table; a word without `=` is a usage error."""
    table = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key:
            raise click.UsageError(f"{option} takes KEY=VALUE, not `{word}`")
        table[key] = value
    return table


def folders(words: tuple[str, ...]) -> dict[str, Path]:
    """NAME=FOLDER words of `--mount` as a table."""
    return {name: Path(folder) for name, folder in pairs(words, "--mount").items()}


def numbers(text: str, option: str, least: int = 1) -> tuple[int, ...]:
    """Whole numbers of at least `least` with commas between, in ascending order, each once."""
    try:
        found = sorted({int(word) for word in text.split(",")})
    except ValueError:
        found = [least - 1]
    if found[0] < least:
        raise click.UsageError(
            f"{option} takes whole numbers from {least} on with commas between, not `{text}`"
        )
    return tuple(found)


def overrides(**given: str) -> dict[str, object]:
    """Settings that options replace, by dotted key; empty ones are left out."""
    return {key.replace("__", "."): value for key, value in given.items() if value}
