import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from repro import run as runs
from repro.engine.contract import EngineInfo, Exit, Job, Stop
from repro.engine.fake import FakeEngine
from repro.errors import ReproError
from repro.events import Output, Progress, silent
from repro.run import RunOptions
from repro.run.watch import watch


@dataclass
class RecordingEngine(FakeEngine):
    """Plays a container whose runtime left `record` behind."""

    record: dict[str, object] | None = None
    log: str = ""
    committed: bool = True
    ended: Exit = field(default_factory=lambda: Exit(0))

    def run(self, job: Job, output: Callable[[bytes], None], stop: Stop | None = None) -> Exit:
        folder = next(bind.host for bind in job.binds if bind.inside == "/out")
        if self.record is not None:
            (folder / "attempt-1").mkdir()
            (folder / "attempt-1" / "run.json").write_text(
                json.dumps({"schema": 1, "attempt": 1, **self.record})
            )
            (folder / "attempt-1" / "log.txt").write_text(self.log)
            if self.record["status"] == "ok" and self.committed:
                (folder / "result.json").write_text('{"schema": 1, "attempt": 1, "status": "ok"}')
        output(self.log.encode())
        return self.ended


def _start(engine: RecordingEngine, folder: Path, options: RunOptions | None = None) -> runs.Ended:
    options = options or RunOptions(label="x", order="R-77")
    job = runs.container_job("sha256:i", folder, "id-1", options, "fake")
    return runs.start(engine, job, folder, "id-1", options, silent)


def test_a_finished_run_is_read_back(tmp_path: Path) -> None:
    ended = _start(RecordingEngine(record={"status": "ok", "exit_code": 0, "label": "x"}), tmp_path)
    assert ended.record.status == "ok"
    host = json.loads((tmp_path / "host.json").read_text())
    assert (host["order"], host["run_id"], host["engine"]["kind"]) == ("R-77", "id-1", "fake")


def test_without_a_result_a_run_did_not_end_well(tmp_path: Path) -> None:
    engine = RecordingEngine(record={"status": "ok", "exit_code": 0}, committed=False, log="saved\n")
    with pytest.raises(ReproError, match="cut off before its record was closed") as caught:
        _start(engine, tmp_path)
    assert (caught.value.code, caught.value.found) == ("run-program-failed", ("saved",))


@pytest.mark.parametrize(
    ("record", "ended", "code", "exit_status"),
    [
        ({"status": "failed", "exit_code": 7}, Exit(7), "run-program-failed", 4),
        ({"status": "failed", "exit_code": 1, "signal": "SIGSEGV"}, Exit(139), "run-program-failed", 4),
        ({"status": "running"}, Exit(137, oom=True), "run-out-of-memory", 4),
        ({"status": "refused", "reason": "eval/a.csv is altered"}, Exit(3), "run-refused", 3),
        (None, Exit(2), "run-usage", 2),
        (None, Exit(125), "run-refused", 3),
    ],
)
def test_each_bad_end_has_its_error(
    tmp_path: Path, record: dict[str, object] | None, ended: Exit, code: str, exit_status: int
) -> None:
    engine = RecordingEngine(record=record, ended=ended, log="line one\nTypeError: no\n")
    with pytest.raises(ReproError) as caught:
        _start(engine, tmp_path)
    assert (caught.value.code, caught.value.exit_status) == (code, exit_status)
    if record and record["status"] == "failed":
        assert "TypeError: no" in caught.value.found


def test_the_container_gets_only_what_was_asked(tmp_path: Path) -> None:
    options = RunOptions(
        label="avx2", order="R-77", params="given", env={"A": "b"}, mounts={"data": tmp_path}, gpus="all"
    )
    job = runs.container_job("sha256:i", tmp_path, "id-1", options, "docker")
    assert not job.network
    assert job.read_only
    assert [(b.inside, b.writable) for b in job.binds] == [("/out", True), ("/mnt/data", False)]
    assert "R-77" not in repr(job)
    words = " ".join(job.argv)
    for part in (
        "--params /out/given",
        "--mount data=/mnt/data",
        "--label avx2",
        "--env-note A=b",
        "--out /out",
    ):
        assert part in words


def test_values_of_secret_variables_are_not_written_down(tmp_path: Path) -> None:
    env = {"HF_TOKEN": "swordfish", "OMP_NUM_THREADS": "2", "STORE": "s3://me:swordfish@host.invalid"}
    job = runs.container_job("sha256:i", tmp_path, "id-1", RunOptions(env=env), "docker")
    assert job.env == env
    words = " ".join(job.argv)
    assert "swordfish" not in words
    assert "--env-note HF_TOKEN=**** --env-note OMP_NUM_THREADS=2 --env-note STORE=s3://****@" in words


def test_run_ids_sort_by_time_and_keep_the_label() -> None:
    first, second = (runs.new_run_id("my net", "NVIDIA A100-SXM4-80GB", "try 1") for _ in range(2))
    assert first != second
    assert first.split("-", 2)[2].startswith("my-net-nvidia-a100-sxm4-80gb-")
    assert first.endswith(".try-1")


def test_watching_reports_the_newest_whole_line(tmp_path: Path) -> None:
    attempt = tmp_path / "attempt-1"
    attempt.mkdir()
    row = {"step": 12, "loss": (2.5).hex(), "dt": (0.004).hex()}
    (attempt / "progress.jsonl").write_text(json.dumps(row) + '\n{"step": 13, "lo')
    seen: list[Progress] = []
    with watch(tmp_path, lambda e: seen.append(e) if isinstance(e, Progress) else None):
        import time

        deadline = time.monotonic() + 20
        while not seen and time.monotonic() < deadline:
            time.sleep(0.05)
    assert seen[0].done == 12
    assert "loss 2.5" in seen[0].what
    assert "4.0 ms" in seen[0].what


def test_an_engine_that_dies_leaves_no_result(tmp_path: Path) -> None:
    class Dying(RecordingEngine):
        def info(self) -> EngineInfo:
            return EngineInfo("fake", "0", "")

        def run(self, job: Job, output: Callable[[bytes], None], stop: Stop | None = None) -> Exit:
            raise KeyboardInterrupt

    said: list[Output] = []
    options = RunOptions()
    job = runs.container_job("sha256:i", tmp_path, "id-1", options, "fake")
    with pytest.raises(KeyboardInterrupt):
        runs.start(
            Dying(),
            job,
            tmp_path,
            "id-1",
            options,
            lambda e: said.append(e) if isinstance(e, Output) else None,
        )
    assert not (tmp_path / "result.json").exists()
