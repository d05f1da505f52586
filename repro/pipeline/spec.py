"""The part of the settings that travels with the bundle: how to run, what must stay equal."""

from typing import Any

import msgspec

from repro import project as projects
from repro.model.bundle import RunSpec
from repro.model.project import Project
from repro.model.snapshot import ParamSet

_NAMED = ("seed", "micro_batch", "accumulation")


def run_spec(project: Project, params: ParamSet, subfolder: str) -> RunSpec:
    """`protocol.json` for a project; names of parameters are replaced by their values.

    Raises:
        config-unknown-parameter: the protocol names a parameter that the file does not have.
    """
    settings = project.settings
    projects.check_names(settings, params.values)
    return RunSpec(
        name=settings.name,
        command=settings.code.command,
        params_file=params.file.rpartition("/")[2],
        eval_path=settings.eval.path,
        subfolder=subfolder,
        eval_command=settings.eval.command,
        metrics=settings.eval.metrics,
        rows=settings.eval.rows,
        log=settings.eval.log,
        checkpoint_dir=settings.checkpoint.dir,
        resume=settings.checkpoint.resume,
        protocol=_protocol(msgspec.structs.asdict(settings.protocol), params.values),
    )


def _protocol(table: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    named = {key: _value(table[key], values) for key in _NAMED}
    if table["effective_batch"] is None and all(isinstance(named[k], int) for k in ("micro_batch", "accumulation")):
        named["effective_batch"] = named["micro_batch"] * named["accumulation"]
    return {**table, **named, "parameters": {key: table[key] for key in _NAMED if isinstance(table[key], str)}}


def _value(name: str | int | None, values: dict[str, Any]) -> Any:
    if not isinstance(name, str):
        return name
    found: Any = values
    for part in name.split("."):
        found = found[part]
    return found
