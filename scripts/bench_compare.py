"""Times `repro compare` on two traces of a million steps: the first conversion, and each time after.

Two traces with twelve signals a step are written in the real format, equal up to a step where signals
part one after another. Then `repro compare` runs on them as a user runs it, with pyarrow and without.
Only ratios are asserted, against plain reading of the same files in the same run; the targets are
printed beside what was measured.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TARGET_CPU = 3.0  # seconds, both traces, after the first conversion
TARGET_MEMORY = 1000  # MB, both traces together
TENSORS = 40
PIECE = 20_000
PARTS_AT = {"batch": 0.5, "fwd": 0.5, "loss": 0.55, "gn": 0.6, "rng": 0.75}  # places as parts of the whole

# Hides pyarrow from the child, as if the extra were not installed.
WITHOUT = "import sys; sys.modules['pyarrow'] = None; from repro.cli.main import main; main()"
WITH = "from repro.cli.main import main; main()"
BY_ARROW = "import sys, pyarrow.json as j; print(sum(j.read_json(p).num_rows for p in sys.argv[1:]))"
BY_JSON = "import sys, json; print(sum(len(json.loads(x)) for p in sys.argv[1:] for x in open(p)))"


@dataclass(frozen=True)
class Cost:
    """What a child process took: seconds of CPU and of the clock, greatest memory in MB."""

    cpu: float
    wall: float
    memory: float
    output: str
    code: int


def cost(*argv: str, **env: str) -> Cost:
    """Run a program and measure it alone."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(argv, stdout=out, env={**os.environ, **env})
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        out.seek(0)
        seconds = used.ru_utime + used.ru_stime
        return Cost(seconds, wall, used.ru_maxrss * 1024 / 1e6, out.read().decode(), child.returncode)


def write_run(folder: Path, steps: int, other: bool) -> Path:
    """A run's folder whose trace has so many steps; `other` parts from the first at `PARTS_AT`."""
    attempt = folder / "attempt-1"
    attempt.mkdir(parents=True)
    files = {
        "run.json": {"schema": 1, "attempt": 1, "status": "ok", "run_id": folder.name, "exit_code": 0},
        "conditions.json": {"schema": 1, "values": {"torch.version": "2.13.0"}},
        "metrics.json": {"schema": 1, "values": {"eval_acc": "0x1.8p-1"}, "source": "metrics.json"},
    }
    for name, document in files.items():
        (attempt / name).write_text(json.dumps(document), "utf-8")
    with (attempt / "trace-0.jsonl").open("w", encoding="ascii") as file:
        file.writelines(lines(steps, other))
    result = {"schema": 1, "attempt": 1, "status": "ok", "files": {}}
    (folder / "result.json").write_text(json.dumps(result), "utf-8")
    return attempt / "trace-0.jsonl"


def lines(steps: int, other: bool) -> Iterator[str]:
    """The lines of a trace, with snapshots where the recorder takes them."""
    tensors = [{"name": f"w{n}", "shape": [64, 64], "dtype": "float32"} for n in range(TENSORS)]
    start = {"k": "start", "format": 2, "rank": 0, "world": 1, "torch": "2.13.0", "params": tensors}
    yield json.dumps({**start, "buffers": [], "optimizers": [{"opt": 0, "class": "AdamW"}]}) + "\n"
    yield snapshot(0, 0)
    parts = {name: int(part * steps) if other else steps + 1 for name, part in PARTS_AT.items()}
    for first in range(1, steps + 1, PIECE):
        for step, line in enumerate(rows(first, min(first + PIECE, steps + 1), parts), first):
            yield line
            if step <= 10 or step & (step - 1) == 0 or step % 1000 == 0:
                yield snapshot(step, int(step >= parts["gn"]))
    yield json.dumps({"k": "end", "steps": steps, "share": "0x1p-8", "status": "ok"}) + "\n"


def rows(first: int, stop: int, parts: dict[str, int]) -> Iterator[str]:
    """Step records; the same numbers give the same values, but for those from `parts` on."""
    draw = np.random.default_rng(first)
    number = np.arange(first, stop)
    loss = (2.0 + draw.random(stop - first)) * (1 + 2.0**-30 * (number >= parts["loss"]))
    gn = (5.0 + draw.random(stop - first)) * (1 + 2.0**-30 * (number >= parts["gn"]))
    rate = 1e-3 * (1 - number / 2e6)
    prints = draw.integers(0, 2**63, (6, stop - first), np.uint64)
    for row, name in enumerate(("idx", "batch", "fwd", "rng", "rng", "rng")):
        prints[row] += (number >= parts.get(name, stop)).astype(np.uint64)
    for n, x, g, lr, dt, (idx, batch, fwd, r, s, t) in zip(
        number, loss, gn, rate, draw.random(stop - first), prints.T.tolist(), strict=True
    ):
        yield (
            f'{{"k":"s","step":{n},"opt":0,"loss":"{float(x).hex()}","nb":1,"gn":"{float(g).hex()}",'
            f'"lr":["{float(lr).hex()}"],"idx":"{idx:016x}","batch":"{batch:016x}","fwd":"{fwd:016x}",'
            f'"rng":{{"torch":"{r & 0xFFFFFFFF:08x}","python":"{s & 0xFFFFFFFF:08x}",'
            f'"numpy":"{t & 0xFFFFFFFF:08x}"}},"dt":"{float(dt).hex()}"}}\n'
        )


def snapshot(step: int, salt: int) -> str:
    """Fingerprints of the state after a step."""
    prints = [
        f"{(step * 7919 + n * 104729 + salt) * 0x9E3779B97F4A7C15 % 2**64:016x}" for n in range(TENSORS)
    ]
    record = {"k": "p", "step": step, "weights": prints, "buffers": [], "state": prints, "grads": prints}
    return (
        json.dumps({**record, "norm2": "0x1p+4", "sketch": [float(n + salt).hex() for n in range(32)]}) + "\n"
    )


def main() -> None:
    """Write, compare, print, assert ratios."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=1_000_000)
    options.add_argument("--folder", type=Path, help="work there and keep it; default a temporary folder")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        measure(chosen.folder or Path(temporary), chosen.steps)


def measure(folder: Path, steps: int) -> None:
    """All figures for two traces of that many steps."""
    started = time.process_time()
    runs = [folder / "r1", folder / "r2"]
    traces = [str(write_run(run, steps, other=run is runs[1])) for run in runs]
    size = sum(Path(trace).stat().st_size for trace in traces) / 1e6
    written = time.process_time() - started
    print(f"two traces of {steps:,} steps, 12 signals: {size:.0f} MB, written in {written:.1f} s of CPU")
    words = ("compare", "--json", *map(str, runs))
    cache = {"REPRO_CACHE": str(folder / "cache")}
    python = sys.executable
    table = {
        "plain reading, json": cost(python, "-c", BY_JSON, *traces),
        "plain reading, pyarrow": cost(python, "-c", BY_ARROW, *traces),
        "compare without pyarrow": cost(python, "-c", WITHOUT, *words, **cache),
        "compare, first conversion": cost(python, "-c", WITH, *words, **cache),
        "compare after it": cost(python, "-c", WITH, *words, **cache),
    }
    for name, one in table.items():
        print(f"  {name:<26} {one.cpu:6.2f} s CPU {one.wall:6.2f} s clock {one.memory:6.0f} MB")
    kept = sum(file.stat().st_size for file in (folder / "cache").rglob("*") if file.is_file()) / 1e6
    print(f"  tables kept: {kept:.0f} MB")
    last = table["compare after it"]
    print(f"  targets: {last.cpu:.2f} of {TARGET_CPU} s CPU, {last.memory:.0f} of {TARGET_MEMORY} MB")
    if broken := [said for said, holds in laws(table) if not holds]:
        sys.exit("not as it should be: " + "; ".join(broken))


def laws(table: dict[str, Cost]) -> Iterator[tuple[str, bool]]:
    """What must hold on any machine: the answers, and ratios to plain reading in the same run."""
    plain, last = table["plain reading, json"].cpu, table["compare after it"].cpu
    answers = [json.loads(one.output) for name, one in table.items() if name.startswith("compare")]
    for answer in answers:
        firsts = {name: signal["first_step"] for name, signal in answer["signals"].items()}
        yield (
            f"signals first differ at {firsts}",
            firsts["samples"] == firsts["forward"] == answer["first"]["step"],
        )
    told = [{key: value for key, value in answer.items() if key != "evidence"} for answer in answers]
    yield "the ways of reading give other answers", told[0] == told[1] == told[2]
    yield f"a kept table saves little: {last / plain:.2f} of plain reading", last < 0.6 * plain
    ratio = table["compare, first conversion"].cpu / plain
    yield f"the conversion takes {ratio:.1f} times plain reading", ratio < 4


if __name__ == "__main__":
    main()
