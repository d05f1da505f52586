"""Writes small run folders in the real format (docs/formats.md)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

START = {
    "k": "start",
    "format": 2,
    "rank": 0,
    "world": 1,
    "pid": 7,
    "torch": "2.13.0",
    "optimizers": [{"opt": 0, "class": "SGD", "groups": [{}], "params": [0]}],
    "params": [{"name": "w", "shape": [2], "dtype": "float32"}],
    "buffers": [],
}


def trace_lines(steps: int) -> list[dict[str, Any]]:
    """A whole trace of that many steps."""
    lines: list[dict[str, Any]] = [START, {"k": "p", "step": 0, "weights": [f"{0:016x}"]}]
    for n in range(1, steps + 1):
        lines.append(
            {
                "k": "s",
                "step": n,
                "loss": (1 / n).hex(),
                "nb": 1,
                "gn": (2.0 / n).hex(),
                "rng": {"torch": f"{n:016x}"},
            }
        )
        lines.append({"k": "p", "step": n, "weights": [f"{n:016x}"], "state": []})
    return [*lines, {"k": "end", "steps": steps, "share": (0.01).hex(), "status": "ok"}]


def write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


WriteRun = Callable[..., Path]


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """A run's folder: `write_run(name, steps=3, attempts=1, result=1, **fields of run.json)`."""

    def write(
        name: str = "r1", *, steps: int = 3, attempts: int = 1, result: int | None = 1, **fields: Any
    ) -> Path:
        run = tmp_path / name
        for number in range(1, attempts + 1):
            folder = run / f"attempt-{number}"
            folder.mkdir(parents=True)
            state = {"schema": 1, "attempt": number, "status": "ok", "run_id": name, "exit_code": 0, **fields}
            (folder / "run.json").write_text(json.dumps(state), "utf-8")
            (folder / "conditions.json").write_text(
                '{"schema":1,"values":{"torch.version":"2.13.0"}}', "utf-8"
            )
            (folder / "metrics.json").write_text(
                '{"schema":1,"values":{"acc":"0x1.8p-1"},"source":"x"}', "utf-8"
            )
            write_lines(folder / "trace-0.jsonl", trace_lines(steps))
        if result is not None:
            document = {"schema": 1, "attempt": result, "status": "ok", "files": {"run.json": "00"}}
            (run / "result.json").write_text(json.dumps(document), "utf-8")
        return run

    return write
