"""States kept and put in place, noise, and runs that are ended after some steps."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.torch

ONE = {"OMP_NUM_THREADS": "1"}


def events(run, what=None):
    found = run.attempt.kind("x")
    return [e for e in found if what in (None, e["what"])]


def result(run):
    return [line for line in run.out.splitlines() if line.startswith(("digest", "twin", "sum"))]


def exact(run):
    """All that says what was computed, without times."""
    keep = [r for r in run.attempt.lines() if r["k"] in ("s", "p", "m", "g")]
    return [{k: v for k, v in r.items() if k != "dt"} for r in keep]


@pytest.fixture(scope="module")
def kept(rt, tmp_path_factory):
    """A run from seed 0 with the states after steps 0, 1 and 4; one for each way to begin."""
    made = {}

    def make(way="plain"):
        if way not in made:
            folder = tmp_path_factory.mktemp(f"kept-{way}")
            program = (sys.executable, str(rt.programs / "start.py"), way, "0")
            words = rt.record_words(folder / "run", *program, options=("--save-state", "0,1,4"))
            done = subprocess.run(
                words, capture_output=True, text=True, cwd=folder, env=rt.environment(**ONE)
            )
            assert done.returncode == 0, done.stderr
            made[way] = SimpleNamespace(out=done.stdout, attempt=rt.Attempt(folder / "run"))
        return made[way]

    return make


def state(run, step=0):
    return str(run.attempt.path / f"states/step-{step}.safetensors")


def header(path):
    with open(path, "rb") as file:
        return json.loads(file.read(int.from_bytes(file.read(8), "little")))


def test_a_state_holds_what_the_trace_names(kept):
    run = kept()
    start = run.attempt.kind("start")[0]
    for step in (0, 1, 4):
        found = header(state(run, step))
        text = found.pop("__metadata__")
        assert json.loads(text["names"]) == [p["name"] for p in start["params"]]
        assert json.loads(text["buffer_names"]) == [p["name"] for p in start["buffers"]]
        shot = next(p for p in run.attempt.kind("p") if p["step"] == step)
        assert json.loads(text["weights"]) == shot["weights"]
        assert found["rng.torch"]["dtype"] == "U8"
        assert text["step"] == str(step)
        assert json.loads(text["python"])[0] == 3
        assert ("s.0.exp_avg" in found) == (step > 0)
        for index, entry in enumerate(start["params"]):
            assert found[f"w.{index}"]["shape"] == entry["shape"]
    assert run.attempt.state["status"] == "ok"
    assert "plan" in run.attempt.state


def test_keeping_states_changes_nothing(record, kept):
    assert exact(record("start.py", "plain", "0", env=ONE)) == exact(kept())


@pytest.mark.parametrize("way", ["plain", "ema", "checked", "lbfgs", "sgd", "scaler"])
def test_a_run_from_its_own_state_is_the_same_run(record, kept, way):
    first = kept(way)
    again = record("start.py", way, "0", out="again", options=("--seed-state", state(first)), env=ONE)
    (event,) = events(again, "seed-checkpoint")
    assert event["applied"]
    assert event["moved"] == 0
    # With `checked` the file that the program loads is made of what the seed replaced.
    assert (event["changed"] == 0) == (way != "checked")
    assert exact(again) == exact(first)
    assert result(again) == result(first)
    assert again.attempt.state["status"] == "ok"
    assert (again.attempt.path.parent / "result.json").exists()


@pytest.mark.parametrize("way", ["plain", "ema", "checked", "lbfgs"])
def test_the_seed_wins_over_what_the_program_made(record, kept, way):
    first = kept(way)
    other = record("start.py", way, "8", out="other", options=("--seed-state", state(first)), env=ONE)
    (event,) = events(other, "seed-checkpoint")
    assert event["applied"]
    assert event["changed"] >= 4
    assert len(event["digest"]) == 64
    mine, theirs = (next(p for p in run.attempt.kind("p") if p["step"] == 0) for run in (first, other))
    assert mine["weights"] == theirs["weights"]
    assert mine["buffers"] == theirs["buffers"]
    if way == "ema":
        assert event["copies"] == 8
        assert result(first)[0] == result(other)[0]


def test_two_machines_start_from_the_same_weights(record, kept):
    first = kept()
    seeded = ("--seed-state", state(first))
    shots = []
    for level in ("default", "avx2"):
        env = dict(ONE, ATEN_CPU_CAPABILITY=level)
        free = record("start.py", "plain", "0", out=f"free-{level}", env=env)
        run = record("start.py", "plain", "0", out=level, options=seeded, env=env)
        shots.append([next(p for p in r.attempt.kind("p") if p["step"] == 0)["weights"] for r in (free, run)])
    assert shots[0][0] != shots[1][0]
    assert shots[0][1] == shots[1][1]


def test_a_training_that_goes_on_elsewhere_is_left_alone(record, kept):
    first = kept()
    again = record("start.py", "resumed", "1", out="resumed", options=("--seed-state", state(first)), env=ONE)
    (event,) = events(again, "seed-checkpoint")
    assert not event["applied"]
    assert "goes on from a checkpoint" in event["reason"]
    assert result(again) == result(record("start.py", "resumed", "1", out="free", env=ONE))


def test_a_state_of_another_program_is_refused(record, kept):
    seeded = ("--seed-state", state(kept()))
    run = record("plain_loop.py", "1", "/dev/null", options=seeded, check=3, env=ONE)
    found = run.attempt.state
    assert (found["status"], found["exit_code"]) == ("refused", 3)
    assert "weight 0: the file has `embed.weight` float32 [10, 8], the program `0.weight`" in found["reason"]
    assert found["reason"] in run.err
    assert not (run.attempt.path.parent / "result.json").exists()


def test_weights_without_a_call_are_refused(record, kept):
    seed = state(kept())
    run = record("functional.py", options=("--seed-state", seed), check=3)
    assert "no module was called between" in run.attempt.state["reason"]
    saved = record("functional.py", out="saved", options=("--save-state", "0,2"))
    assert [e["file"] for e in events(saved, "state-saved")] == [
        f"states/step-{n}.safetensors" for n in (0, 2)
    ]


@pytest.mark.parametrize("content", [b"", b"\x00" * 64, b"PK\x03\x04" * 20, b"\xff" * 8 + b"{}"])
def test_a_file_that_is_no_state_is_refused_before_the_program(record, tmp_path, content):
    (tmp_path / "bad.safetensors").write_bytes(content)
    run = record(
        "start.py", "plain", "0", options=("--seed-state", str(tmp_path / "bad.safetensors")), check=3
    )
    assert run.attempt.state["status"] == "refused"
    assert not run.out


def test_members_differ_by_rounding_only(record, kept):
    seeded = ("--seed-state", state(kept()), "--stop-after", "3")
    shots = []
    for member in ("1", "2", "1"):
        run = record("start.py", "plain", "0", out="m", options=(*seeded, "--perturb", member), env=ONE)
        assert events(run, "perturbed")[0]["member"] == int(member)
        shots.append(exact(run))
    assert shots[0] == shots[2]
    one, two = (next(r for r in rows if r["k"] == "p") for rows in shots[:2])
    assert one["weights"] != two["weights"]
    assert one["buffers"] == two["buffers"]
    base = record("start.py", "plain", "0", out="b", options=seeded, env=ONE)
    zero = next(p for p in base.attempt.kind("p") if p["step"] == 0)
    apart = sum(
        (float.fromhex(a) - float.fromhex(b)) ** 2 for a, b in zip(zero["sketch"], one["sketch"], strict=True)
    )
    distance = (apart / float.fromhex(zero["norm2"])) ** 0.5
    assert 1e-8 < distance < 3e-7


def test_a_limited_run_ends_after_its_step(record):
    run = record("start.py", "plain", "0", "1000", options=("--stop-after", "7"), env=ONE)
    found = run.attempt.state
    assert (found["status"], found["exit_code"], found["plan"]["stop"]) == ("limited", 0, 7)
    assert run.attempt.kind("s")[-1]["step"] == 7
    assert run.attempt.kind("p")[-1]["step"] == 7
    assert run.attempt.kind("end")[0]["status"] == "limited"
    assert events(run, "limit")[0]["step"] == 7
    assert run.attempt.gates()["checkpoint-reload"] == "skipped"
    assert not (run.attempt.path.parent / "result.json").exists()


def test_a_program_that_ends_earlier_is_limited_too(record):
    run = record("start.py", "plain", "0", "3", options=("--stop-after", "7"), env=ONE)
    assert run.attempt.state["status"] == "limited"
    assert not (run.attempt.path.parent / "result.json").exists()


def test_a_program_that_fails_has_failed(record):
    run = record("start.py", "plain", "0", "x", options=("--stop-after", "7"), check=1)
    assert run.attempt.state["status"] == "failed"


def test_nothing_of_a_limited_program_is_left(rt, tmp_path):
    script = tmp_path / "both.sh"
    script.write_text(
        f"{sys.executable} {rt.programs / 'loader_cnn.py'} {tmp_path} 2 1000; echo after; sleep 600\n"
    )
    words = rt.record_words(tmp_path / "run", "sh", str(script), options=("--stop-after", "9"))
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=rt.environment(**ONE))
    assert done.returncode == 0, done.stderr
    assert "after" not in done.stdout
    time.sleep(0.5)
    assert [words for words in map(_words_of, Path("/proc").glob("[0-9]*")) if str(tmp_path) in words] == []


def _words_of(process):
    try:
        return (process / "cmdline").read_text()
    except OSError:
        return ""


def test_an_interrupt_is_still_an_interrupt(rt, tmp_path):
    words = rt.record_words(
        tmp_path / "run",
        sys.executable,
        str(rt.programs / "endless.py"),
        options=("--stop-after", "100000000"),
    )
    with subprocess.Popen(
        words, cwd=tmp_path, env=rt.environment(**ONE), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert rt.Attempt(tmp_path / "run").state["status"] == "stopped"


def test_the_plan_belongs_to_the_first_training(record, kept):
    run = record("two_optimizers.py", out="first", options=("--save-state", "0,3"), env=ONE)
    again = record("two_optimizers.py", out="again", options=("--seed-state", state(run)), env=ONE)
    assert exact(run) == exact(again)
    assert len(again.attempt.kind("start")) == 2
    assert len(events(again, "seed-checkpoint")) == 1


def test_an_unrecorded_run_has_no_trace_and_the_same_results(record):
    run = record("start.py", "plain", "0", out="bare", options=("--unrecorded",), env=ONE)
    assert not list(run.attempt.path.glob("trace-*"))
    assert result(run) == result(record("start.py", "plain", "0", env=ONE))


@pytest.mark.parametrize(
    "words", [("--dense", "0"), ("--stop-after", "x"), ("--save-state", "-1"), ("--perturb", "one")]
)
def test_bad_numbers_are_bad_usage(record, words):
    (option, value) = words
    try:
        record("start.py", "plain", "0", options=(f"{option}={value}",), check=2)
    except IndexError:
        pytest.fail("an attempt was made")


def test_each_rank_has_its_own_state(rt, tmp_path):
    program = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone")

    def run(out, seed, *options):
        words = rt.record_words(
            tmp_path / out, sys.executable, *program, str(rt.programs / "ranks.py"), seed, options=options
        )
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=rt.environment(**ONE))
        assert done.returncode == 0, done.stdout + done.stderr
        return rt.Attempt(tmp_path / out)

    limits = ("--dense", "1,3", "--stop-after", "4")
    first = run("first", "0", *limits, "--save-state", "0,2")
    names = sorted(p.name for p in (first.path / "states").iterdir())
    assert names == [f"step-{n}{r}.safetensors" for n in (0, 2) for r in (".rank-1", "")]
    again = run("again", "9", *limits, "--sync", str(first.path / "states"))
    assert (first.state["status"], again.state["status"]) == ("limited", "limited")
    for rank in (0, 1):
        name = f"trace-{rank}.jsonl"
        assert [r for k in "mg" for r in first.kind(k, name)] == [
            r for k in "mg" for r in again.kind(k, name)
        ]
        assert first.kind("end", name)[0]["status"] == "limited"
