"""`run`: the packed program in a fresh folder, with gates before and results after."""

import json
import tarfile

import pytest


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run"


def test_the_whole_way(bundle, folder, rt):
    done = bundle.run(folder, "--label", "first")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "lr 0.25 rows 3\n"
    attempt = rt.Attempt(folder)
    assert attempt.state["bundle"]["name"] == "small"
    assert (attempt.state["status"], attempt.state["engine"]) == ("ok", "inplace")
    assert attempt.json("params.json")["values"] == {"optim": {"lr": 0.25}, "seed": 1}
    assert attempt.json("metrics.json") == {
        "schema": 1,
        "values": {"acc": (0.5).hex(), "lr": (0.25).hex()},
        "source": "out/metrics.json, log.txt",
    }
    rows = attempt.lines("eval.jsonl")
    assert rows == [
        {"id": "7", "prediction": "1", "label": "1", "correct": True, "loss": (0.25).hex()},
        {"id": "8", "prediction": "0", "label": "1", "correct": False, "loss": (1.5).hex()},
    ]
    assert attempt.gates() == {
        "data-format": "passed",
        "reload": "skipped",
        "gpus": "skipped",
        "card": "skipped",
        "checkpoint-reload": "skipped",
        "finite": "skipped",
    }
    # Unchanged code is gone from the working folder, what the program wrote is there.
    assert [p.relative_to(attempt.path).as_posix() for p in attempt.path.glob("work/**/*")] == [
        "work/written.txt"
    ]
    result = json.loads((folder / "result.json").read_text())
    assert {"run.json", "metrics.json", "eval.jsonl", "params.json"} <= set(result["files"])


def test_code_from_the_tar(bundle, folder, tmp_path):
    with tarfile.open(bundle.path / "code.tar", "w") as tar:
        tar.add(bundle.path / "code", "code")
    (bundle.path / "code").rename(tmp_path / "elsewhere")
    done = bundle.run(folder)
    assert done.returncode == 0, done.stderr


def test_set_changes_a_copy_and_is_recorded(bundle, folder, rt):
    done = bundle.run(folder, "--set", "optim.lr=0.125", "--set", "seed=x")
    assert done.stdout == "lr 0.125 rows 3\n"
    attempt = rt.Attempt(folder)
    assert attempt.state["overrides"] == {"optim.lr": "0.125", "seed": "x"}
    assert attempt.json("params.json")["values"] == {"optim": {"lr": 0.125}, "seed": "x"}
    assert json.loads((bundle.path / "params" / "params.json").read_text())["optim"]["lr"] == 0.25


def test_the_parameter_file_is_also_where_the_project_has_it(bundle, folder):
    bundle.write("code/params.json", '{"optim": {"lr": 99}}')
    done = bundle.run(
        folder, "--set", "optim.lr=0.125", command=("python", "train.py", "params.json", "{out}")
    )
    assert done.stdout == "lr 0.125 rows 3\n"


def test_monorepo_subfolder_is_the_working_folder(bundle, folder):
    (bundle.path / "code").rename(bundle.path / "moved")
    (bundle.path / "code" / "team").mkdir(parents=True)
    (bundle.path / "moved").rename(bundle.path / "code" / "team" / "proj")
    bundle.protocol(subfolder="team/proj")
    assert bundle.run(folder).stdout == "lr 0.25 rows 3\n"


def test_links_of_the_evaluation_set_stay_links(bundle, folder):
    (bundle.path / "eval" / "data" / "same.csv").symlink_to("eval.csv")
    (bundle.path / "eval" / "data" / "folder").symlink_to(".")
    code = "import os; print(os.readlink('data/same.csv'), os.path.exists('data/folder/eval.csv'))"
    done = bundle.run(folder, command=("python", "-c", code))
    assert done.stdout == "eval.csv True\n", done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--set", "optim.rate=1"), "no such parameter; there are: optim.lr, seed"),
        (("--set", "lr"), "KEY=VALUE"),
        (("--mount", "code=/nonexistent"), "no such file or folder"),
        (("--mount", "data=/tmp"), "the packed code has"),
        (("--mount", "../up=/tmp"), "inside the working folder"),
    ],
)
def test_wishes_that_cannot_be_followed(bundle, folder, options, said):
    done = bundle.run(folder, *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (folder / "result.json").exists()


def test_set_on_a_yaml_file_says_who_can(bundle, folder):
    bundle.write("params/conf.yaml", "lr: 1\n")
    bundle.protocol(params_file="conf.yaml")
    done = bundle.run(folder, "--set", "lr=2")
    assert done.returncode == 2
    assert "JSON parameter files only" in done.stderr


def test_mount_and_another_command(bundle, folder, tmp_path):
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "file.txt").write_text("from outside")
    done = bundle.run(
        folder, "--mount", f"store/big={tmp_path / 'big'}", command=("cat", "store/big/file.txt")
    )
    assert done.stdout == "from outside"
    assert (tmp_path / "big" / "file.txt").exists()


def test_checkpoint_without_a_value(bundle, folder):
    done = bundle.run(folder, command=("python", "train.py", "{checkpoint}"))
    assert done.returncode == 2
    assert "{checkpoint}" in done.stderr


def test_evaluation_command_runs_after_a_good_run_only(bundle, folder, rt, tmp_path):
    words = ["python", "-c", "import sys; print('evaluating', sys.argv[1])", "{eval}"]
    bundle.protocol(eval_command=words)
    done = bundle.run(folder)
    assert done.stdout.endswith(f"evaluating {rt.Attempt(folder).path}/work/data/eval.csv\n")
    bundle.write("code/train.py", "raise SystemExit(9)")
    done = bundle.run(tmp_path / "bad")
    assert done.returncode == 9
    assert done.stdout == ""


def test_pattern_in_the_log_may_be_wrong_without_losing_the_run(bundle, folder, rt):
    bundle.protocol(log={"rows": r"rows (\S)x*", "word": r"(lr)"})
    assert bundle.run(folder).returncode == 0
    state = rt.Attempt(folder).state
    assert state["status"] == "ok"
    assert "which is no number" in state["reason"]


DAMAGED = {
    "changed": "a,b\n1,2\n3,5\n",
    "shorter": "a,b\n",
    "gone": None,
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_evaluation_file_refuses(bundle, folder, rt, kind):
    path = bundle.path / "eval" / "data" / "eval.csv"
    path.unlink()
    if DAMAGED[kind] is not None:
        path.write_text(DAMAGED[kind])
    done = bundle.run(folder)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "data-format" in done.stderr
    attempt = rt.Attempt(folder)
    assert attempt.state["status"] == "refused"
    assert attempt.gates()["data-format"] == "failed"
    assert "data/eval.csv" in attempt.json("gates.json")["gates"][0]["evidence"][0]
    assert not (folder / "result.json").exists()


ILL_FORMED = {
    "x.json": b"{",
    "x.jsonl": b"{}\n{\n",
    "x.csv": b"a,b\n1\n",
    "x.npz": b"no zip",
    "x.npy": b"no numpy",
    "x.png": b"no image",
    "x.gz": b"\x1f\x8bnot really",
    "x.txt": b"",
    "y.npz": b"version https://git-lfs.github.com/spec/v1\n",
}


@pytest.mark.parametrize("name", ILL_FORMED)
def test_content_that_does_not_fit_its_suffix(bundle, folder, rt, name):
    bundle.eval_set({"data/eval.csv": "a,b\n1,2\n3,4\n", f"data/{name}": ILL_FORMED[name]}, path="data")
    bundle.protocol(eval_path="data")
    assert bundle.run(folder).returncode == 3
    (row,) = [g for g in rt.Attempt(folder).json("gates.json")["gates"] if g["status"] == "failed"]
    assert [e.split(":")[0] for e in row["evidence"]] == [f"data/{name}"]


def test_single_evaluation_file_named_relative_to_its_path(bundle, folder):
    (bundle.path / "eval" / "data" / "eval.csv").rename(bundle.path / "eval" / "eval.csv")
    document = json.loads((bundle.path / "eval.json").read_text())
    document["files"][0]["path"] = "eval.csv"
    bundle.document("eval.json", **document)
    assert bundle.run(folder).stdout == "lr 0.25 rows 3\n"


@pytest.mark.torch
def test_weight_files_in_the_code_must_open(bundle, folder, rt, tmp_path):
    import torch

    torch.save({"w": torch.ones(3)}, bundle.path / "code" / "good.pt")
    assert bundle.run(folder).returncode == 0
    assert rt.Attempt(folder).gates()["reload"] == "passed"
    data = (bundle.path / "code" / "good.pt").read_bytes()
    bundle.write("code/bad.pt", data[: len(data) // 2])
    done = bundle.run(tmp_path / "second")
    assert done.returncode == 3
    assert "bad.pt" in done.stderr


def test_safetensors_header(bundle, folder, rt, tmp_path):
    header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    whole = len(header).to_bytes(8, "little") + header + b"\0\0\0\0"
    bundle.write("code/w.safetensors", whole)
    assert bundle.run(folder).returncode == 0
    assert rt.Attempt(folder).gates()["reload"] == "passed"
    bundle.write("code/w.safetensors", whole[:-1])
    assert bundle.run(tmp_path / "second").returncode == 3
