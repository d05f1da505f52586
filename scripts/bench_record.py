"""Times training loops without and with the recorder, and prints what recording costs a step.

For CPU steps of about 2, 10 and 100 ms: the default recorder over a whole short run, its start and its
dense first steps included; snapshots at every step; module replay; and, as what people otherwise use to
watch weights and gradients, TensorBoard with a histogram of each. A bare loop and a watched one take
turns of some steps, so that a machine that gets slower or faster does so for both, and each pair has its
tensors at other places in memory, which alone moves the speed by some percent. Nothing absolute is asserted.
"""

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOOP = str(ROOT / "scripts" / "bench_loop.py")
BOOT = str(ROOT / "repro" / "runtime" / "boot.py")
FIRST = 20
# Seconds of a turn: long enough to fill the caches anew, short enough for a machine that changes its speed.
TURN = 0.2
# Milliseconds a step, width of the model, batch to start from; steps of a whole run, of the costly variants.
SIZES = ((2, 384, 64, 10000, 200), (10, 1024, 128, 5000, 100), (100, 2048, 512, 600, 40))
# Both loops keep the memory that they have freed: else glibc gives the top of the heap back and fetches it
# again at each step, page by page, or does not, as the last large block happens to lie.
STEADY = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 25),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
    "MALLOC_TOP_PAD_": str(1 << 26),
}
HEAD = (
    "   step  watched by              steps   bare ms   more µs   of CPU of clock"
    "  first 20 steps  later steps  own share target"
)
TARGETS = {2: "3 %", 10: "1 %", 100: ""}


@dataclass(frozen=True)
class Took:
    """Seconds of a run's blocks, of its CPUs and of the clock; the recorder's opinion of its share."""

    cpu: tuple[float, ...]
    wall: tuple[float, ...]
    share: float | None = None


@dataclass(frozen=True)
class Row:
    """What a watched run took beside a bare one; seconds a step, but for `first`: of the first 20."""

    bare: float
    more: float
    of_cpu: float
    of_clock: float
    first: float
    later: float
    share: float | None


class Run:
    """A loop in a process of its own, that takes a turn when asked to."""

    def __init__(self, folder: Path, words: list[str], layout: int, how: dict) -> None:
        ask, tell = folder / "ask", folder / "tell"
        os.mkfifo(ask)
        os.mkfifo(tell)
        command = [sys.executable, LOOP, *words, str(layout), str(ask), str(tell)]
        command += ["tensorboard", str(folder)] if how.get("watch") else []
        self.record = folder / "record" if "record" in how else None
        if self.record:
            start = [sys.executable, BOOT, "record", "--out", str(self.record), *how["record"]]
            command = [*start, "--", *command]
        env = {**os.environ, **STEADY, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(command, env=env, stdout=self.log, stderr=self.log)
        self.ask, self.tell = self._reached(ask).open("w", buffering=1), tell.open()
        self.blocks: list[tuple[float, float]] = []

    def _reached(self, pipe: Path) -> Path:
        """The pipe, once the loop reads from it; opening it earlier would wait for ever for one that died."""
        while self.process.poll() is None:
            with contextlib.suppress(OSError):
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                return pipe
            time.sleep(0.05)
        raise self._ended()

    def _ended(self) -> SystemExit:
        self.log.seek(0)
        return SystemExit(f"a loop ended with {self.process.wait()}:\n{self.log.read()[-2000:]}")

    def turn(self, steps: int) -> None:
        """Let it take so many steps."""
        self.ask.write(f"{steps}\n")
        if not (told := self.tell.readline()):
            raise self._ended()
        cpu, wall = told.split()
        self.blocks.append((float(cpu), float(wall)))

    def end(self) -> Took:
        """What it took, once it has ended."""
        self.ask.close()
        self.tell.close()
        if self.process.wait():
            raise self._ended()
        cpu, wall = zip(*self.blocks, strict=True)
        return Took(cpu, wall, self._share())

    def _share(self) -> float | None:
        if not self.record:
            return None
        state = json.loads((self.record / "attempt-1" / "run.json").read_text())
        share = state["recorder"].get("share")
        return None if share is None else float.fromhex(share)


@dataclass(frozen=True)
class Loop:
    """A loop of steps of some size."""

    milliseconds: int
    width: int
    batch: int

    def blocks(self, steps: int) -> list[int]:
        """Steps of each turn: the first ones by themselves, then as many as fill a turn."""
        size = max(1, round(TURN * 1000 / self.milliseconds))
        return [FIRST, *(min(size, steps - at) for at in range(FIRST, steps, size))]

    def together(self, steps: int, *hows: dict) -> list[Took]:
        """Run it in as many ways, in turns, all with their tensors laid out alike."""
        layout = random.randrange(1 << 30)  # noqa: S311 (no secret)
        words = [str(n) for n in (self.width, self.batch)]
        with contextlib.ExitStack() as stack:
            folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in hows]
            runs = [Run(folder, words, layout, how) for folder, how in zip(folders, hows, strict=True)]
            for block in self.blocks(steps):
                for run in random.sample(runs, len(runs)):
                    run.turn(block)
            return [run.end() for run in runs]


def calibrated(milliseconds: int, width: int, batch: int) -> Loop:
    """A loop whose bare step takes about so long on this machine."""
    for _ in range(2):
        steps = max(2 * FIRST, 800 // milliseconds)
        (took,) = Loop(milliseconds, width, batch).together(steps, {})
        batch = max(8, round(batch * milliseconds * (steps - FIRST) / (1000 * sum(took.cpu[1:]))))
    return Loop(milliseconds, width, batch)


def variants(whole: int, few: int) -> Iterator[tuple[str, int, dict]]:
    """Name, steps and way of running of each way of watching."""
    dense = ",".join(str(n) for n in range(1, few + 1))
    yield "default", whole, {"record": ()}
    yield "snapshot every step", few, {"record": ("--snapshot-every", "1")}
    yield "module replay", few, {"record": ("--dense", dense)}
    yield "TensorBoard histograms", few, {"watch": True}


def measure(loop: Loop, steps: int, rounds: int, how: dict) -> Row:
    """Means over rounds of a bare loop beside a watched one."""
    blocks = loop.blocks(steps)
    rows = [_row(*loop.together(steps, {}, how), blocks) for _ in range(rounds)]
    means = {
        name: statistics.mean(getattr(row, name) for row in rows)
        for name in ("bare", "more", "of_cpu", "of_clock", "first", "later")
    }
    shares = [row.share for row in rows if row.share is not None]
    return Row(**means, share=statistics.mean(shares) if shares else None)


def _row(bare: Took, watched: Took, blocks: list[int]) -> Row:
    steps = sum(blocks)
    more = [w - b for w, b in zip(watched.cpu, bare.cpu, strict=True)]
    return Row(
        bare=sum(bare.cpu) / steps,
        more=sum(more) / steps,
        of_cpu=sum(more) / sum(bare.cpu),
        of_clock=sum(watched.wall) / sum(bare.wall) - 1,
        first=more[0],
        later=statistics.median(m / n for m, n in zip(more[1:] or more, blocks[1:] or blocks, strict=True)),
        share=watched.share,
    )


def line(milliseconds: int, name: str, steps: int, row: Row) -> str:
    """One line of the table."""
    share = "" if row.share is None else f"{row.share:7.2%}"
    target = TARGETS[milliseconds] if name == "default" else ""
    return (
        f"{milliseconds:4d} ms  {name:23s}{steps:6d}{row.bare * 1e3:10.3f}{row.more * 1e6:10.1f}"
        f"{row.of_cpu:9.1%}{row.of_clock:9.1%}{row.first * 1e3:13.1f} ms{row.later * 1e6:10.1f} µs"
        f"    {share:8s} {target}".rstrip()
    )


def main() -> None:
    """Measure and print every variant for every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="pairs of runs for each line (default 3)")
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
                print(line(milliseconds, name, steps, measure(loop, steps, options.rounds, how)), flush=True)


if __name__ == "__main__":
    main()
