"""The job that runs an unpacked bundle on this machine, without a container."""

from pathlib import Path

from repro.engine.contract import Job
from repro.run.container import arguments
from repro.run.options import RunOptions


def inplace_job(bundle: Path, python: Path, folder: Path, run_id: str, options: RunOptions) -> Job:
    """The bundle's runtime, started with the environment's own interpreter."""
    mounts = {name: str(path.resolve()) for name, path in options.mounts.items()}
    return Job(
        image="",
        argv=(
            str(python),
            "-m",
            "repro_runtime",
            "run",
            "--bundle",
            str(bundle),
            "--python",
            str(python),
            *arguments(str(folder), run_id, options, "inplace", mounts),
            *options.plan.words(contained=False),
        ),
        env={"PYTHONDONTWRITEBYTECODE": "1", **options.env},
        workdir=str(bundle),
        network=True,
        gpus=options.gpus,
    )
