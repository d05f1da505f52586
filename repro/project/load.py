"""From a folder to a `Project`: settings file, options, guesses, checks, and the origin of every value."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from repro.errors import ReproError
from repro.model.project import Project
from repro.project.checks import check
from repro.project.decode import Source, decode, keys, unknown_key
from repro.project.files import SETTINGS, find
from repro.project.guess import guess

OPTIONS = Source("the options given", "")


def load(root: Path, overrides: Mapping[str, object] = {}) -> Project:
    """The project in `root`: what its file says, what options change, and what its layout lets us guess.

    Args:
        root: the project's folder; a folder above it is not searched.
        overrides: dotted settings and values from command-line options; None means "not given".

    Raises:
        project-missing: `root` is no folder.
        config-two-files, config-unreadable, config-syntax, config-schema-newer, config-unknown-key,
        config-type, config-value, config-no-command: see `repro explain CODE`.
    """
    root = root.absolute()
    if not root.is_dir():
        raise ReproError(
            "project-missing", f"`{root}` is not a folder", needs="the folder that holds the project"
        )
    source, table = find(root)
    given = {key: _plain(value) for key, value in overrides.items() if value is not None}
    decode(table, source or Source(SETTINGS, ""))
    data = _merged(table, given)
    origins = (
        dict.fromkeys(keys(), "default")
        | dict.fromkeys(_dotted(table), "file")
        | dict.fromkeys(given, "option")
    )
    found = guess(root, data)
    for one in found.guesses:
        data = _with(data, one.key, one.value)
        origins[one.key] = one.origin
    settings = decode(data, source if source and not given else OPTIONS if given else Source(SETTINGS, ""))
    check(settings, lambda key: _place(key, origins, source))
    return Project(
        root=str(root),
        file=source.name if source else "",
        settings=settings,
        origins=origins,
        notes=found.notes,
    )


def _merged(table: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    data = dict(table)
    for key, value in given.items():
        if key not in keys():
            raise unknown_key(key, list(keys()), "options")
        data = _with(data, key, value)
    if given:
        decode(data, OPTIONS)
    return data


def _with(data: Mapping[str, Any], dotted: str, value: Any) -> dict[str, Any]:
    table, _, key = dotted.rpartition(".")
    if not table:
        return {**data, key: value}
    return {**data, table: {**data.get(table, {}), key: value}}


def _dotted(table: Mapping[str, Any]) -> list[str]:
    known = keys()
    return [
        dotted
        for key, value in table.items()
        for dotted in ([key] if key in known else [f"{key}.{inner}" for inner in value])
    ]


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _place(key: str, origins: Mapping[str, str], source: Source | None) -> str:
    origin = origins.get(key, "default")
    return source.at(key) if origin == "file" and source else origin
