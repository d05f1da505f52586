"""Runs one job as a run: a folder of its own, what the host knows, live progress, an honest end."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from repro.engine.contract import Engine, Exit, Job, Stop
from repro.events import Output, Sink
from repro.files import write_whole
from repro.model import canonical
from repro.model.run import Attempt
from repro.run import failures
from repro.run.cards import cards
from repro.run.options import RunOptions
from repro.run.watch import watch


@dataclass(frozen=True)
class Ended:
    """A run that came to an end: its folder, the attempt's folder, and how it ended."""

    folder: Path
    attempt: Path
    record: Attempt
    exit: Exit


def start(
    engine: Engine,
    job: Job,
    folder: Path,
    run_id: str,
    options: RunOptions,
    sink: Sink,
    stop: Stop | None = None,
) -> Ended:
    """Run `job` and read back what its runtime recorded; `stop` lets another thread end it early.

    Raises:
        run-refused: a gate failed before the loop. run-program-failed, run-out-of-memory: it failed.
        run-usage: the runtime did not accept what it was asked. disk-full: the record could not be closed.
    """
    _write_host(engine, job, folder, run_id, options)
    with_stop = (stop,) if stop else ()
    return follow(lambda take: engine.run(job, take, *with_stop), folder, run_id, options, sink, stop)


def follow(
    perform: Callable[[Callable[[bytes], None]], Exit],
    folder: Path,
    run_id: str,
    options: RunOptions,
    sink: Sink,
    stop: Stop | None = None,
) -> Ended:
    """Watch a job that `perform` brings to its end, handing it what takes the output; raises as `start`."""
    said = bytearray()

    def take(data: bytes) -> None:
        said.extend(data)
        del said[: -failures.KEPT_BYTES]
        sink(Output(data))

    with watch(folder, sink):
        ended = perform(take)
    attempt = _newest_attempt(folder)
    if attempt is None:
        raise failures.no_record(ended, bytes(said))
    record = msgspec.json.decode((attempt / "run.json").read_bytes(), type=Attempt)
    if record.status == "running" or (record.status == "ok" and not _closed(folder, options)):
        raise failures.cut_off(ended, attempt, bytes(said))
    if record.status != "ok" and not _ended_by_us(record, options, stop):
        raise failures.failure(record, ended, attempt).concerning(
            run={"id": run_id, "path": str(folder)}, status=record.status, exit_code=record.exit_code
        )
    return Ended(folder, attempt, record, ended)


def _closed(folder: Path, options: RunOptions) -> bool:
    """A run that is no whole run never has a result."""
    return options.plan.partial or (folder / "result.json").is_file()


def _ended_by_us(record: Attempt, options: RunOptions, stop: Stop | None) -> bool:
    limited = record.status == "limited" and bool(options.plan.stop)
    return limited or (record.status == "stopped" and stop is not None and stop.asked)


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
        # Of another machine the record itself tells.
        "cards": [] if options.host else [asdict(card) for card in cards()],
        "mounts": sorted(options.mounts),
    }
    write_whole(folder / "host.json", canonical.pretty(document))


def _newest_attempt(folder: Path) -> Path | None:
    found = [p for p in folder.glob("attempt-*") if (p / "run.json").is_file()]
    return max(found, key=lambda p: int(p.name.split("-")[1]), default=None)
