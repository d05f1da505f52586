"""What of the surroundings is recorded at the first step, and what is not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from repro.runtime import lockcheck, variables
from repro.runtime.inside.place import flags, outside, places


@pytest.fixture
def values(record, tmp_path):
    """Conditions of a program that takes in something from everywhere."""
    (tmp_path / "own_features.py").write_text("__version__ = '0.3'\nSCALE = 2.0\n")
    (tmp_path / "scans").mkdir()
    for name in ("b", "a"):
        (tmp_path / "scans" / name).touch()
    for name in ("words.txt", "later.txt", "named.json"):
        (tmp_path / name).write_text("{}")
    env = {"PYTHONPATH": str(tmp_path), "AUG_LEVEL": "3", "WHERE_TO": "the north", "SITE_PASSWORD": "hush"}
    attempt = record("from_outside.py", "named.json", env=env).attempt
    assert attempt.state["recorder"]["steps"] == 2
    assert "hush" not in json.dumps(attempt.json("conditions.json"))
    return attempt.json("conditions.json")["values"] | {"start": attempt.kind("start")[0]}


@pytest.mark.torch
def test_what_comes_from_outside(values):
    assert values["files.words.txt"].endswith("2 bytes")
    assert not [name for name in values if "later" in name or "named" in name]
    assert values["order.listing"] != ""
    assert values["modules.own_features"].startswith("0.3 sha256 ")
    assert values["env.PYTHONPATH"] == "."
    assert values["env.AUG_LEVEL"] == "3"
    assert values["env.WHERE_TO"].startswith("crc32 ")
    assert "env.SITE_PASSWORD" not in values


@pytest.mark.torch
def test_what_torch_was_told(values):
    assert values["seed.torch"] == 11
    assert values["seed.untouched"] is False
    assert (values["loader.workers"], values["loader.batch_size"]) == (0, 4)
    assert values["loader.sampler"] == "RandomSampler"
    assert values["flags.grad_scaler"] is False
    assert values["flags.compiled"] is False
    assert "CPU capability" not in values["torch.build"]
    assert values["sdpa.candidates"].startswith("half: ")


@pytest.mark.torch
def test_what_the_model_is_made_of(values):
    rows = {row["name"]: row for row in values["start"]["modules"]}
    assert rows["1"] == {"name": "1", "class": "Dropout", "says": "p=0.25, inplace=False", "train": True}
    assert rows[""]["class"] == "Sequential"


@pytest.mark.torch
def test_settings_of_both_families_are_told_as_mixed():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import torch\n"
        "from repro.runtime.inside.place.flags import read_flags\n"
        "torch.backends.cuda.matmul.fp32_precision = 'tf32'\n"
        "print(read_flags(torch)['flags.float32_matmul_precision'])\n"
    )
    root = str(Path(flags.__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", program, root], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.split() == ["mixed"]


def test_a_torch_without_a_setting_says_absent():
    class Old:
        @staticmethod
        def is_deterministic():
            return True

    found = flags.read_flags(Old)
    assert found["flags.deterministic_algorithms"] is True
    assert found["flags.cudnn_benchmark"] == "absent"


def test_secrets_and_places_of_ours_are_left_out():
    given = {"TORCH_HOME": "/t", "HF_TOKEN": "x", "TORCH_AUTH": "x", "OMP_NUM_THREADS": "2", "TZ": "UTC"}
    assert variables.environment(given) == {
        "env.OMP_NUM_THREADS": "2",
        "env.TORCH_HOME": "/t",
        "env.TZ": "UTC",
    }


def test_import_path_is_told_from_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = os.pathsep.join(["/inject", "lib", str(tmp_path / "src"), "/elsewhere"])
    assert variables.import_path(words, "/inject") == os.pathsep.join(["lib", "src", "/elsewhere"])


def test_names_hold_on_another_machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert places.told(str(tmp_path / "data" / "x.csv")) == "data/x.csv"
    assert places.told("/mnt/disk/data/x.csv") == "data/x.csv"
    assert places.is_foreign("/proc/self/maps")
    assert places.is_foreign(str(Path(variables.__file__).resolve()))  # the recorder's own
    assert not places.is_foreign(str(tmp_path / "x.csv"))
    assert not places.is_foreign(f"{places.MEMORY}/data/x.csv")


def test_folders_walked_in_another_order_hold_the_same_names(monkeypatch):
    """A walk lists the folders below in the order of their names; where the data lie says nothing."""
    inside = {"a": ["1"], "b": ["2"]}
    found = []
    for top, names in (("/mnt/x", ["a", "b"]), ("/data", ["b", "a"])):
        watch = outside.Watch()
        watch.folders = dict.fromkeys([top, *(f"{top}/{name}" for name in names)])
        told = {top: names, **{f"{top}/{name}": inside[name] for name in names}}
        monkeypatch.setattr(os, "listdir", told.__getitem__)
        found.append(watch.stop())
    assert found[0]["order.listing"] != found[1]["order.listing"]
    assert found[0]["order.listing_sorted"] == found[1]["order.listing_sorted"]


def test_a_folder_has_two_digests(tmp_path, monkeypatch):
    """The same names in another order: another listing, the same sorted one."""
    watch = outside.Watch()
    for name in ("b", "a"):
        (tmp_path / name).touch()
    found = []
    for order in (["a", "b"], ["b", "a"]):
        watch = outside.Watch()
        watch.folders[str(tmp_path)] = None
        monkeypatch.setattr(os, "listdir", lambda _path, order=order: order)
        found.append(watch.stop())
    assert found[0]["order.listing"] != found[1]["order.listing"]
    assert found[0]["order.listing_sorted"] == found[1]["order.listing_sorted"]


def test_large_files_are_told_by_their_ends(tmp_path):
    large = tmp_path / "large.bin"
    large.write_bytes(bytes(outside.WHOLE_BYTES + 1))
    watch = outside.Watch()
    watch.opened(str(large), "rb", 0)
    (told,) = watch.stop().values()
    assert told.endswith("its ends")


def test_files_that_are_written_are_none_that_were_read(tmp_path):
    watch = outside.Watch()
    watch.opened(str(tmp_path / "out.txt"), "w", 0)
    watch.opened(str(tmp_path / "code.py"), "r", 0)
    assert watch.files == {}


def test_packages_that_are_not_the_locked_ones(tmp_path):
    lock, conditions = tmp_path / "requirements.lock", tmp_path / "conditions.json"
    lock.write_text("# head\nnumpy==2.1.0 \\\n    --hash=sha256:0\ntyping_extensions==4.1 \\\n")
    values = {"packages.numpy": "2.2.0", "packages.typing-extensions": "4.1", "packages.new": "1", "x": 1}
    conditions.write_text(json.dumps({"schema": 1, "values": values}))
    lockcheck.add_differences(str(lock), str(conditions))
    found = json.loads(conditions.read_text())["values"]
    assert {k: v for k, v in found.items() if k.startswith("lock.")} == {
        "lock.numpy": "locked 2.1.0, imported 2.2.0",
        "lock.new": "locked none, imported 1",
    }


def test_parameters_are_taken_from_the_command(tmp_path, rt):
    (tmp_path / "p.json").write_text('{"lr": 0.5}')
    (tmp_path / "list.json").write_text("[1]")
    command = [sys.executable, "-c", "pass", "list.json", "--config=p.json"]
    words = rt.record_words(tmp_path / "run", *command)
    subprocess.run(words, cwd=tmp_path, env=rt.environment(), check=True, timeout=120)
    document = rt.Attempt(tmp_path / "run").json("params.json")
    assert (document["values"], document["file"], document["taken_from"]) == (
        {"lr": 0.5},
        "p.json",
        "command",
    )


@pytest.mark.torch
@pytest.mark.parametrize("rank", ["0", "1"])
def test_from_the_first_step_on_no_rank_listens(record, rank):
    done = record("ears.py", env={"RANK": rank, "WORLD_SIZE": "2"})
    assert json.loads(done.out.splitlines()[-1]) == [True]


EARS = """
import builtins, json, sys
sys.path.insert(0, sys.argv[1])
from repro.runtime.inside.place import outside
watch = outside.start()
heard = []
watch.ear.__call__ = lambda _self, event, args: heard.append(event) or outside.Watch.heard(watch, event, args)
{before}
values = watch.stop()
count = len(heard)
id(watch)
open('seen.txt').close()
print(json.dumps([values, count, len(heard)]))
"""


def ears(tmp_path, before):
    """What a watch tells of a program that opens a file, events heard before and after it was stopped."""
    (tmp_path / "seen.txt").write_text("ab")
    root = str(Path(outside.__file__).parents[4])
    words = [sys.executable, "-c", EARS.format(before=before), root]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    return json.loads(done.stdout)


def test_nothing_is_heard_once_the_watch_has_stopped(tmp_path):
    values, before, after = ears(tmp_path, "open('seen.txt').close()")
    assert before == after > 0
    assert list(values) == ["files.seen.txt"]


def test_what_the_watch_could_not_take_in_is_told(tmp_path):
    breaking = "watch.files = None; open('seen.txt').close(); watch.files = {}"
    values, _, _ = ears(tmp_path, breaking)
    assert values == {"outside.unseen": "TypeError"}
