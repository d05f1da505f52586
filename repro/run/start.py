"""Runs one job as a run: a folder of its own, what the host knows, live progress, an honest end."""

from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from repro.engine.contract import Engine, Exit, Job
from repro.errors import ReproError
from repro.events import Output, Sink
from repro.files import write_whole
from repro.model import canonical
from repro.model.run import Attempt
from repro.run.cards import cards
from repro.run.options import RunOptions
from repro.run.watch import watch

_LAST_LINES = 15


@dataclass(frozen=True)
class Ended:
    """A run that came to an end: its folder, the attempt's folder, and how it ended."""

    folder: Path
    attempt: Path
    record: Attempt
    exit: Exit


def start(engine: Engine, job: Job, folder: Path, run_id: str, options: RunOptions, sink: Sink) -> Ended:
    """Run `job` and read back what its runtime recorded.

    Raises:
        run-refused: a gate failed before the loop. run-program-failed, run-out-of-memory: it failed.
        run-usage: the runtime did not accept what it was asked.
    """
    _write_host(engine, job, folder, run_id, options)
    with watch(folder, sink):
        ended = engine.run(job, lambda data: sink(Output(data)))
    attempt = _newest_attempt(folder)
    if attempt is None:
        raise _no_record(ended, folder)
    record = msgspec.json.decode((attempt / "run.json").read_bytes(), type=Attempt)
    if record.status != "ok":
        raise _failure(record, ended, attempt)
    return Ended(folder, attempt, record, ended)


def _write_host(engine: Engine, job: Job, folder: Path, run_id: str, options: RunOptions) -> None:
    info = engine.info()
    document = {
        "schema": 1,
        "run_id": run_id,
        "label": options.label,
        "order": options.order,
        "engine": {
            "kind": info.kind,
            "version": info.version,
            "rootless": info.rootless,
            "facts": dict(info.facts),
        },
        "image": job.image,
        "network": job.network,
        "gpus": job.gpus,
        "cards": [asdict(card) for card in cards()],
        "mounts": sorted(options.mounts),
    }
    write_whole(folder / "host.json", canonical.pretty(document))


def _newest_attempt(folder: Path) -> Path | None:
    found = [p for p in folder.glob("attempt-*") if (p / "run.json").is_file()]
    return max(found, key=lambda p: int(p.name.split("-")[1]), default=None)


def _no_record(ended: Exit, folder: Path) -> ReproError:
    code = "run-usage" if ended.status == 2 else "run-refused"
    return ReproError(
        code,
        "the run ended before it had a record",
        found=f"exit status {ended.status}; the reason stands in the lines above",
        needs="a bundle whose runtime starts, and an output folder that it can write",
        done=f"`{folder.name}` holds no attempt",
        tries=["repro doctor", "repro verify"],
    )


def _failure(record: Attempt, ended: Exit, attempt: Path) -> ReproError:
    last = _last_lines(attempt / "log.txt")
    if record.status == "refused":
        return ReproError(
            "run-refused",
            "a gate failed, the program was not started",
            found=record.reason or "see gates.json",
            done=f"the record is kept in `{attempt}`",
            tries=[f"repro show {attempt.parent}", "repro verify"],
        )
    if ended.oom:
        return ReproError(
            "run-out-of-memory",
            "the program ran out of memory and was killed",
            found=last,
            done=f"the record is kept in `{attempt}`",
            tries=["give the container more memory, or halve the micro-batch and double accumulation"],
        )
    how = (
        f"ended by {record.signal}"
        if record.signal
        else f"exit status {record.exit_code if record.exit_code is not None else ended.status}"
    )
    return ReproError(
        "run-program-failed",
        f"the program did not finish: {how}",
        found=last or "it wrote nothing",
        done=f"the record up to there is kept in `{attempt}`",
        tries=[f"less {attempt / 'log.txt'}"],
    )


def _last_lines(path: Path) -> list[str]:
    if not path.is_file():
        return []
    return path.read_bytes()[-8192:].decode("utf-8", "replace").strip().splitlines()[-_LAST_LINES:]
