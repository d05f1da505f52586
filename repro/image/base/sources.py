"""Where base images come from: official ones by name, Debian suites and their packages for our own."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from repro.errors import ReproError
from repro.image.naming import short_version


@cache
def bases() -> dict[str, Any]:
    """The table of base images."""
    return tomllib.loads((files("repro") / "image" / "base" / "bases.toml").read_text("utf-8"))


def official(python: str) -> str:
    """The official image's name for `3.11`; raises base-python-unset without a version."""
    if not python:
        raise ReproError(
            "base-python-unset",
            "neither a base image nor a Python version is asked for",
            needs="`python` or `base` below [dependencies]",
            tries=['add `python = "3.11"` below [dependencies] in repro.toml'],
        )
    return f"python:{python}-{bases()['official'].get(short_version(python), 'slim-bookworm')}"
