"""Times training loops without and with the recorder, in turns, and prints what recording costs a step.

For CPU steps of about 2, 10 and 100 ms: the default recorder over a whole short run, its start and its
dense first steps included; snapshots at every step; module replay; and, as what people otherwise use to
watch weights and gradients, TensorBoard with a histogram of each. Every figure stands beside the bare
loop of the same turns, as medians of CPU time and of the clock. Nothing absolute is asserted.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOOP = str(ROOT / "scripts" / "bench_loop.py")
BOOT = str(ROOT / "repro" / "runtime" / "boot.py")
# Milliseconds a step, width of the model, batch to start from; steps of a whole run, of the costly variants.
SIZES = ((2, 384, 64, 2000, 200), (10, 1024, 128, 2000, 100), (100, 2048, 512, 200, 20))
HEAD = (
    "   step  watched by              steps   bare ms   with ms    more µs"
    "   of CPU of clock  own share target"
)
TARGETS = {2: "3 %", 10: "1 %", 100: ""}


@dataclass(frozen=True)
class Took:
    """Seconds a step: of this process's CPUs, of the clock; the recorder's own opinion of its share."""

    cpu: float
    wall: float
    share: float | None = None


@dataclass(frozen=True)
class Loop:
    """A loop of steps of some size."""

    milliseconds: int
    width: int
    batch: int

    def run(self, steps: int, *, record: tuple[str, ...] | None = None, watch: bool = False) -> Took:
        """Run it once, bare, under `record` with options, or watched by TensorBoard."""
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, LOOP, str(self.width), str(self.batch), str(steps)]
            words += ["tensorboard", folder] if watch else []
            if record is not None:
                words = [sys.executable, BOOT, "record", "--out", folder, *record, "--", *words]
            env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run(words, capture_output=True, text=True, env=env, check=True)
            told = json.loads(done.stdout.splitlines()[-1])
            return Took(told["cpu"] / steps, told["wall"] / steps, _share(Path(folder), record))


def _share(folder: Path, record: tuple[str, ...] | None) -> float | None:
    if record is None:
        return None
    state = json.loads((folder / "attempt-1" / "run.json").read_text())
    share = state["recorder"].get("share")
    return None if share is None else float.fromhex(share)


def calibrated(milliseconds: int, width: int, batch: int) -> Loop:
    """A loop whose bare step takes about so long on this machine."""
    for _ in range(2):
        took = Loop(milliseconds, width, batch).run(max(20, 400 // milliseconds)).cpu
        batch = max(8, round(batch * milliseconds / (1000 * took)))
    return Loop(milliseconds, width, batch)


def variants(whole: int, few: int) -> Iterator[tuple[str, int, dict]]:
    """Name, steps and keywords for `Loop.run` of each way of watching."""
    dense = ",".join(str(n) for n in range(1, few + 1))
    yield "default", whole, {"record": ()}
    yield "snapshot every step", few, {"record": ("--snapshot-every", "1")}
    yield "module replay", few, {"record": ("--dense", dense)}
    yield "TensorBoard histograms", few, {"watch": True}


def measure(loop: Loop, steps: int, rounds: int, how: dict) -> tuple[Took, Took]:
    """Medians of the bare loop and of the watched one, run in turns."""
    bare, watched = [], []
    for _ in range(rounds):
        bare.append(loop.run(steps))
        watched.append(loop.run(steps, **how))
    return _median(bare), _median(watched)


def _median(runs: list[Took]) -> Took:
    shares = [run.share for run in runs if run.share is not None]
    return Took(
        statistics.median(run.cpu for run in runs),
        statistics.median(run.wall for run in runs),
        statistics.median(shares) if shares else None,
    )


def row(loop: Loop, name: str, steps: int, bare: Took, watched: Took) -> str:
    """One line of the table."""
    extra = (watched.cpu - bare.cpu) * 1e6
    share = "" if watched.share is None else f"{watched.share:7.2%}"
    target = TARGETS[loop.milliseconds] if name == "default" else ""
    of_cpu, of_clock = watched.cpu / bare.cpu - 1, watched.wall / bare.wall - 1
    return (
        f"{loop.milliseconds:4d} ms  {name:23s}{steps:6d}{bare.cpu * 1e3:10.3f}{watched.cpu * 1e3:10.3f}"
        f"{extra:11.1f}{of_cpu:9.1%}{of_clock:9.1%}  {share:8s} {target}".rstrip()
    )


def main() -> None:
    """Measure and print every variant for every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="turns of each pair (default 5)")
    parser.add_argument("--only", type=int, choices=sorted(TARGETS), help="one size, in milliseconds a step")
    parser.add_argument("--default-only", action="store_true", help="the default recorder alone")
    options = parser.parse_args()
    print(HEAD)
    for milliseconds, width, batch, whole, few in SIZES:
        if options.only not in (None, milliseconds):
            continue
        loop = calibrated(milliseconds, width, batch)
        for name, steps, how in variants(whole, few):
            if name == "default" or not options.default_only:
                bare, watched = measure(loop, steps, options.rounds, how)
                print(row(loop, name, steps, bare, watched), flush=True)


if __name__ == "__main__":
    main()
