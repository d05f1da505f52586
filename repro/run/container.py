"""The job that runs a bundle's image."""

from pathlib import Path

from repro import redact
from repro.engine.contract import Bind, Job
from repro.run.options import RunOptions

OUT = "/out"


def container_job(image: str, folder: Path, run_id: str, options: RunOptions, engine: str) -> Job:
    """One container: no network unless asked, the run's folder as its only writable place."""
    mounts = {name: Bind(path.resolve(), f"/mnt/{name}") for name, path in options.mounts.items()}
    return Job(
        image=image,
        argv=(
            "run",
            *arguments(OUT, run_id, options, engine, {n: b.inside for n, b in mounts.items()}),
            *options.plan.words(contained=True),
        ),
        env=options.env,
        binds=(Bind(folder, OUT, writable=True), *mounts.values(), *options.plan.binds()),
        network=options.network,
        shm_bytes=options.shm_bytes,
        gpus=options.gpus,
        labels={"dev.reprobundle.run": run_id},
        name=f"repro-{run_id}",
    )


def arguments(out: str, run_id: str, options: RunOptions, engine: str, mounts: dict[str, str]) -> list[str]:
    """The runtime's own options for this run."""
    words = ["--out", out, "--run-id", run_id, "--engine", engine]
    words += ["--label", options.label] if options.label else []
    words += ["--snapshot-every", str(options.snapshot_every)] if options.snapshot_every else []
    words += ["--params", f"{out}/{options.params}"] if options.params else []
    words += ["--gpus", options.gpus] if options.gpus not in ("", "none") else []
    words += ["--gpu-count", str(options.gpu_count)] if options.gpu_count else []
    for name, inside in mounts.items():
        words += ["--mount", f"{name}={inside}"]
    for key, value in options.env.items():
        words += ["--env-note", f"{key}={redact.setting(key, value)}"]
    return words
