"""The part of the settings that travels with the bundle: how to run, what must stay equal."""

from typing import Any

from repro import project as projects
from repro.model.bundle import RunSpec
from repro.model.project import Project
from repro.model.snapshot import ParamSet
from repro.project.protocol import NAMES


def run_spec(project: Project, params: ParamSet, subfolder: str) -> RunSpec:
    """`protocol.json` for a project; names of parameters are replaced by their values.

    Raises:
        config-name-unknown: the protocol names a parameter that the file does not have.
        config-batch: the batch sizes contradict one another.
    """
    settings = project.settings
    return RunSpec(
        name=settings.name,
        command=settings.code.command,
        params_file=params.file.rpartition("/")[2],
        params_path=params.file,
        eval_path=settings.eval.path,
        subfolder=subfolder,
        eval_command=settings.eval.command,
        metrics=settings.eval.metrics,
        rows=settings.eval.rows,
        log=settings.eval.log,
        checkpoint_dir=settings.checkpoint.dir,
        resume=settings.checkpoint.resume,
        protocol=_protocol(project, params),
    )


def _protocol(project: Project, params: ParamSet) -> dict[str, Any]:
    """The table with values, and beside them the names of the parameters that they came from."""
    table = projects.check_names(project.settings, params.values)
    declared = {key: getattr(project.settings.protocol, key) for key in NAMES}
    micro, times = table["micro_batch"], table["accumulation"]
    if table["effective_batch"] is None and micro and times:
        table["effective_batch"] = micro * times
    return {**table, "parameters": {key: name for key, name in declared.items() if isinstance(name, str)}}
