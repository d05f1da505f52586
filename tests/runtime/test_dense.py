"""Steps recorded module by module: what is seen, that nothing is changed, and where two machines part."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.torch

ONE = {"OMP_NUM_THREADS": "1"}
BUNDLES = Path(__file__).parents[2] / "bundles"


def records(run, *kinds):
    keep = [r for r in run.attempt.lines() if r["k"] in kinds]
    return [{k: v for k, v in r.items() if k != "dt"} for r in keep]


def calls(run, step):
    return sorted((r for r in records(run, "m") if r["step"] == step), key=lambda r: r["n"])


def prints(seen):
    return [one["f"] for one in seen]


@pytest.mark.parametrize("way", ["plain", "lbfgs", "scaler"])
def test_a_dense_run_is_the_same_run(record, way):
    bare = record("start.py", way, "0", out="bare", env=ONE)
    dense = record("start.py", way, "0", out="dense", options=("--dense", "1,2,3,7"), env=ONE)
    assert dense.out == bare.out
    assert records(dense, "s", "p") == records(bare, "s", "p")
    assert [g["step"] for g in records(dense, "g")] == [1, 2, 3, 7]
    assert {m["step"] for m in records(dense, "m")} == {1, 2, 3, 7}
    assert dense.attempt.state["status"] == "limited"
    for step in (1, 2, 3, 7):
        numbers = [m["n"] for m in calls(dense, step)]
        assert numbers == list(range(len(numbers)))
    shots = {p["step"]: p for p in records(dense, "p")}
    weight = dense.attempt.kind("start")[0]["params"][0]
    assert records(dense, "g")[0]["grads"][0]["shape"] == weight["shape"]
    # Fingerprints of gradients differ from those of a snapshot by the salt only; the first one's is 0.
    assert [g["grads"][0]["f"] for g in records(dense, "g")] == [shots[s]["grads"][0] for s in (1, 2, 3, 7)]


@pytest.mark.parametrize("way", ["plain", "lbfgs"])
def test_steps_from_stored_states_are_those_steps(record, way):
    first = record(
        "start.py", way, "0", out="first", options=("--save-state", "0,1,4", "--dense", "1,2,5"), env=ONE
    )
    folder = str(first.attempt.path / "states")
    options = ("--dense", "1,2,5", "--sync", folder, "--stop-after", "5")
    # Another seed: weights, optimizer state and generators are others until the states are put in place.
    other = record("start.py", way, "8", out="other", options=options, env=ONE)
    loaded = [e for e in other.attempt.kind("x") if e["what"] == "state-loaded"]
    assert [(e["step"], e["file"]) for e in loaded] == [(n, f"step-{n}.safetensors") for n in (0, 1, 4)]
    assert loaded[0]["changed"] > 0
    assert records(other, "m", "g") == records(first, "m", "g")
    mine, theirs = ({p["step"]: p for p in records(run, "p")} for run in (first, other))
    for step in (1, 2, 5):
        assert mine[step] == theirs[step]
    assert other.attempt.state["plan"]["sync"]


def test_a_missing_state_ends_the_run(record, tmp_path):
    (tmp_path / "none").mkdir()
    run = record(
        "start.py", "plain", "0", options=("--dense", "3", "--sync", str(tmp_path / "none")), check=3
    )
    assert "step-2.safetensors` cannot be read" in run.attempt.state["reason"]
    assert run.attempt.kind("s")[-1]["step"] == 2


@pytest.fixture(scope="module")
def kinds(rt, tmp_path_factory):
    made = {}

    def make(way, *options):
        if (way, options) not in made:
            folder = tmp_path_factory.mktemp("kinds")
            words = rt.record_words(
                folder / "run", sys.executable, str(rt.programs / "kinds.py"), way, options=options
            )
            done = subprocess.run(
                words, capture_output=True, text=True, cwd=folder, env=rt.environment(**ONE)
            )
            assert done.returncode == 0, done.stdout + done.stderr
            made[way, options] = SimpleNamespace(out=done.stdout, attempt=rt.Attempt(folder / "run"))
        return made[way, options]

    return make


def test_modules_of_many_kinds(kinds):
    run = kinds("", "--dense", "2")
    found = calls(run, 2)
    half = len(found) // 2
    names = [m["module"] for m in found]
    assert names[:half] == names[half:]
    # Forward passes repeated by backward and the frozen teacher's are not there; what raised has no record.
    assert names[:half] == [
        "", "conv", "group", "act", "pool", "again", "again.0", "again.1", "norm", "attend", "scaled",
        "moody.inner", "soft", "MSELoss",
    ]  # fmt: skip
    by_name = {m["module"]: m for m in found[:half]}
    terms = {name: m["terms"] for name, m in by_name.items()}
    wanted = {
        "conv": 18,
        "group": 64,
        "pool": 4,
        "again.0": 32,
        "norm": 6,
        "soft": 6,
        "scaled": 6,
        "attend": None,
    }
    assert {name: terms[name] for name in wanted} == wanted
    # It works in place: what went in is what came out before it.
    assert prints(by_name["act"]["inputs"]) == prints(by_name["group"]["outputs"])
    assert prints(by_name["act"]["outputs"]) == prints(by_name["pool"]["inputs"])
    assert prints(by_name["act"]["inputs"]) != prints(by_name["act"]["outputs"])
    whole = by_name[""]
    assert [one["shape"] for one in whole["inputs"]] == [[5, 4, 4, 4], [6]]
    assert [one["shape"] for one in whole["outputs"]] == [[5, 6], [5, 6], [5, 1, 1]]
    assert (whole["parent"], whole["leaf"], whole["class"]) == (None, False, "Kinds")
    assert by_name["again.0"]["parent"] == by_name["again"]["n"]
    assert by_name["conv"]["weights"] != by_name["group"]["weights"]
    assert by_name["act"]["weights"] is None
    assert by_name["MSELoss"]["parent"] is None


def test_hooks_are_gone_and_nothing_is_changed(kinds):
    bare, dense = kinds(""), kinds("", "--dense", "2")
    assert dense.out == bare.out


def test_compiled_code_is_left_alone(kinds):
    bare, dense = kinds("compiled"), kinds("compiled", "--dense", "2,3")
    assert dense.out == bare.out
    events = [e for e in dense.attempt.kind("x") if e["what"] == "modules-unknown"]
    assert {(e["step"], e["reason"], tuple(e["modules"])) for e in events} == {
        (step, reason, (name,))
        for step in (2, 3)
        for reason, name in (("compiled", "again"), ("compiled in place", "pool"))
    }
    names = {m["module"] for m in calls(dense, 2)}
    assert "again" in names
    assert not names & {"again.0", "again.1", "pool"}


def origins(first, second, step):
    """Leaf modules whose outputs differ although all that went in is equal."""
    found = []
    for one, other in zip(calls(first, step), calls(second, step), strict=True):
        fed = prints(one["inputs"]) == prints(other["inputs"]) and one["weights"] == other["weights"]
        if fed and one["leaf"] and prints(one["outputs"]) != prints(other["outputs"]):
            found.append(one["module"])
    return found


@pytest.fixture
def bundle_steps(rt, tmp_path):
    def run(name, out, options, **env):
        command = (sys.executable, "train.py", "--params", "params.json", "--out", "{out}")
        words = rt.record_words(tmp_path / out, *command, options=options)
        done = subprocess.run(
            words, capture_output=True, text=True, cwd=BUNDLES / name, env=rt.environment(**ONE, **env)
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return SimpleNamespace(attempt=rt.Attempt(tmp_path / out))

    return run


@pytest.mark.parametrize(
    ("name", "first", "variable", "value"),
    [
        ("digits-cnn", "conv1", "ONEDNN_MAX_CPU_ISA", "SSE41"),
        ("digits-cnn", "fc", "MKL_CBWR", "COMPATIBLE"),
        ("addition-transformer", "blocks.0.qkv", "MKL_CBWR", "COMPATIBLE"),
    ],
)
def test_the_first_module_that_parts(bundle_steps, name, first, variable, value):
    dense = ("--dense", "1,4", "--stop-after", "4")
    reference = bundle_steps(name, "reference", (*dense, "--save-state", "0,3"))
    states = str(reference.attempt.path / "states")
    candidate = bundle_steps(name, "candidate", (*dense, "--sync", states), **{variable: value})
    for step in (1, 4):
        assert origins(reference, candidate, step)[0] == first
