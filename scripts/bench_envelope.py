"""How the noise envelope answers to changes whose nature is known: rounding must be inside, the rest outside.

Both examples run 64 steps from one seed checkpoint: a reference, three noise members, and once for each
variant below. The judge of `repro compare` is then asked. Printed are distances of the weights in units of
the envelope, so that figures of different machines can be held against each other; no time is judged.

A recorded fact, such as another learning rate, can settle a verdict before any member is asked. So the
envelope's own word must be right as well, but where a variant says that the envelope cannot see it.

    python scripts/bench_envelope.py [--steps N] [--only WORD,...] [--work DIR] [EXAMPLE ...]

Exit status 1 when an answer is not the one that its variant demands. Needs torch in this interpreter.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro import api
from repro.compare.rounding.envelope import by_members

ROOT = Path(__file__).resolve().parent.parent
ALTERED = ROOT / "scripts" / "altered.py"
CNN, TRANSFORMER = "digits-cnn", "addition-transformer"
MEMBERS = 3
INSIDE, OUTSIDE, ANY = "inside", "outside", "-"
# Equal in every bit is inside as well: a processor without AVX-512 computes the same with and without a cap.
ANSWERS = {INSIDE: ("within-rounding", "identical"), OUTSIDE: ("beyond-rounding",)}
_SIMD = {"ATEN_CPU_CAPABILITY": "avx2"}
_ONEDNN = {"ONEDNN_MAX_CPU_ISA": "AVX2"}
_MKL = {"MKL_CBWR": "COMPATIBLE"}


@dataclass(frozen=True)
class Variant:
    """One change: of the environment, of parameters (a number with `lr` multiplies it), or of torch itself.

    `demanded` is what has to be said of it; ANY for what is measured and not judged. `unseen`: examples in
    which the envelope alone hides it, and the verdict has to come from elsewhere.
    """

    name: str
    demanded: str
    env: dict[str, str] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    lr: float = 1.0
    altered: str = ""
    examples: tuple[str, ...] = (CNN, TRANSFORMER)
    unseen: tuple[str, ...] = ()

    def changed(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters of its run."""
        return {**params, **self.params, "lr": params["lr"] * self.lr}

    @property
    def allow(self) -> list[str]:
        """What differs on purpose, as for `--allow`."""
        keys = [*self.params, *(["lr"] if self.lr != 1 else [])]
        return [f"params.{key}" for key in keys] + (["command"] if self.altered else [])


VARIANTS = (
    Variant("ATen at AVX2", INSIDE, env=_SIMD),
    Variant("ATen without SIMD", INSIDE, env={"ATEN_CPU_CAPABILITY": "default"}),
    Variant("oneDNN at AVX2", INSIDE, env=_ONEDNN),
    Variant("MKL compatible", INSIDE, env=_MKL),
    Variant("all three", INSIDE, env={**_SIMD, **_ONEDNN, **_MKL}),
    Variant("2 threads", INSIDE, env={"OMP_NUM_THREADS": "2"}),
    Variant("bf16 autocast", OUTSIDE, params={"precision": "bf16"}, examples=(TRANSFORMER,)),
    Variant("micro-batch 16 x 2", OUTSIDE, params={"micro_batch": 16, "accumulate": 2}, examples=(CNN,)),
    Variant("TF32-style inputs", OUTSIDE, altered="tf32-inputs"),
    Variant("lr x 1.01", OUTSIDE, lr=1.01),
    # Warm-up makes the transformer's first steps so small that this moves its weights less than noise does.
    Variant("lr x 1.0001", OUTSIDE, lr=1.0001, unseen=(TRANSFORMER,)),
    Variant("another seed", OUTSIDE, params={"seed": 1}),
    Variant("lr x 1.000002", ANY, lr=1.000002),
    Variant("norm eps x 1.001", ANY, altered="norm-eps"),
    Variant("oneDNN off", ANY, altered="no-onednn"),
)
SAME = Variant("reference", INSIDE)


@dataclass(frozen=True)
class Row:
    """What was said of a variant; distances in units of the envelope, None where it is not known.

    `members` is the word of the envelope alone, `answer` that of the verdict.
    """

    example: str
    variant: Variant
    first: float | None
    eighth: float | None
    worst: float | None
    members: str
    answer: str

    @property
    def ok(self) -> bool:
        """Whether the words are what the variant demands."""
        wanted = ANSWERS.get(self.variant.demanded, (self.members, self.answer))
        return self.answer in wanted and (self.members in wanted or self.example in self.variant.unseen)


class Bench:
    """All runs of one example, below a folder."""

    def __init__(self, example: str, work: Path, steps: int) -> None:
        self._example, self._steps = example, steps
        self._script = ROOT / "bundles" / example / "train.py"
        self._work = work / example
        self._params = json.loads(self._script.with_name("params.json").read_text())

    def rows(self, variants: list[Variant]) -> list[Row]:
        """A row for each variant, in their order."""
        reference = self._run("reference", SAME, "--save-state", "0")
        seed = ["--seed-state", str(reference / "attempt-1" / "states" / "step-0.safetensors")]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            numbers = [str(number) for number in range(1, MEMBERS + 1)]
            moved = [pool.submit(self._run, f"member-{n}", SAME, *seed, "--perturb", n) for n in numbers]
            runs = [pool.submit(self._run, v.name.replace(" ", "-"), v, *seed) for v in variants]
            members = [api.load(run.result()) for run in moved]
            base = api.load(reference)
            done = [api.load(run.result()) for run in runs]
        return [self._row(*each, base, members) for each in zip(variants, done, strict=True)]

    def _row(self, variant: Variant, run: api.Side, base: api.Side, members: list[api.Side]) -> Row:
        verdict = api.compare(base, run, allow=variant.allow, members=members)
        curve = verdict.envelope
        ratios = {row.step: row.ratio for row in curve.rows if row.judged} if curve else {}
        known = [ratio for ratio in ratios.values() if ratio is not None]
        alone = by_members(curve) if curve else None
        # What was allowed must have been all that differs, or the runs could not be held against each other.
        answer = verdict.verdict if verdict.verdict == "incomparable" else verdict.numerics
        return Row(
            self._example,
            variant,
            ratios.get(1),
            ratios.get(8),
            max(known, default=None),
            alone.word if alone else "no answer",
            answer,
        )

    def _run(self, name: str, variant: Variant, *plan: str) -> Path:
        """Folder of a recorded run, started in a folder that holds its parameters and nothing else."""
        place = self._work / name
        place.mkdir(parents=True)
        (place / "params.json").write_text(json.dumps(variant.changed(self._params)))
        script = [*([str(ALTERED), variant.altered] if variant.altered else []), str(self._script)]
        record = [sys.executable, "-m", "repro", "record", "--out", "run", "--label", name]
        record += ["--params", "params.json", "--stop-after", str(self._steps), *plan]
        words = [*record, "--", sys.executable, *script, "--params", "params.json", "--out", "{out}"]
        env = _environment(variant.env)
        done = subprocess.run(words, cwd=place, env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name}: exit status {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
        return place / "run"


def _environment(more: dict[str, str]) -> dict[str, str]:
    """This process's surroundings without what would steer the runs, on one thread."""
    steering = ("REPRO_", "ATEN_", "ONEDNN_", "DNNL_", "MKL_", "OMP_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
    return {**kept, "OMP_NUM_THREADS": "1", **more}


def _told(value: float | None) -> str:
    return "?" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _table(example: str, rows: list[Row]) -> str:
    head = (example, "step 1", "step 8", "worst", "by members", "verdict", "demanded", "")
    lines = [
        (
            row.variant.name,
            _told(row.first),
            _told(row.eighth),
            _told(row.worst),
            row.members,
            row.answer,
            row.variant.demanded,
            "ok" if row.ok else "WRONG",
        )
        for row in rows
    ]
    form = "{:21} {:>9} {:>9} {:>9}  {:16} {:16} {:9} {}"
    return "\n".join(form.format(*line).rstrip() for line in (head, *lines))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=64, help="steps of every run; 16 are judged")
    parser.add_argument(
        "--only", default="", metavar="WORD,...", help="variants that have one of these words"
    )
    parser.add_argument("--work", type=Path, help="folder where the runs are kept")
    parser.add_argument("examples", nargs="*", metavar="EXAMPLE", help=f"default: {CNN} {TRANSFORMER}")
    return parser.parse_args()


def main() -> int:
    """Run, judge, print."""
    asked = _options()
    words = [word for word in asked.only.split(",") if word]
    chosen = [v for v in VARIANTS if not words or any(word in v.name for word in words)]
    wrong = 0
    with tempfile.TemporaryDirectory() as own:
        for example in asked.examples or (CNN, TRANSFORMER):
            variants = [variant for variant in chosen if example in variant.examples]
            rows = Bench(example, asked.work or Path(own), asked.steps).rows(variants)
            wrong += sum(not row.ok for row in rows)
            print(_table(example, rows), end="\n\n", flush=True)
    print(f"wrong answers: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
