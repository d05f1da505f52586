"""The noise envelope of real training: a change of rounding is inside, a small real change is not.

Two rows of `make bench-envelope`, of which this is the part that fits into a test.
"""

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parent.parent.parent / "scripts" / "bench_envelope.py"
FACTOR = 5


@pytest.mark.torch
@pytest.mark.parametrize("example", ["digits-cnn", "addition-transformer"])
def test_rounding_is_inside_and_one_part_in_a_hundred_of_the_learning_rate_outside(example, tmp_path):
    words = ["--steps", "16", "--only", "all three,lr x 1.01", "--work", str(tmp_path), example]
    done = subprocess.run([sys.executable, BENCH, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rounding, real = done.stdout.splitlines()[1:3]
    assert rounding.startswith("all three")
    assert real.startswith("lr x 1.01")
    assert worst(rounding, "all three") < FACTOR < worst(real, "lr x 1.01")


def worst(line: str, name: str) -> float:
    """Largest distance of steps 1 to 16 in units of the envelope."""
    return float(line.removeprefix(name).split()[2].replace(",", ""))
