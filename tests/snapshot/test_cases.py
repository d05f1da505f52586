"""Every situation of tests/cases/inputs, really made by its make.sh, gets the answer that it asks for."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from repro import project, snapshot
from repro.errors import ReproError
from repro.model.project import Project
from repro.model.snapshot import EvalSet, ParamSet, Snapshot

CASES = Path(__file__).parent.parent / "cases" / "inputs"
SMALL = {"train.py", "params.yaml", "requirements.txt", "eval/small.csv"}


@dataclass
class Want:
    """What must come out.

    Attributes:
        code: error of take_code, `code_says` words in its text; empty when it must succeed.
        eval_code, params_code: the same for the other two.
        warnings: code of each warning with words of its text, for all three.
        members: all files of code.tar, where it is made.
        then: more to check. exit_status: of each error.
    """

    code: str = ""
    eval_code: str = ""
    params_code: str = ""
    says: tuple[str, ...] = ()
    warnings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    members: set[str] | None = None
    then: Callable[["Done"], None] | None = None
    exit_status: int = 2


@dataclass
class Done:
    """What came out of the three parts."""

    root: Path
    project: Project
    into: Path
    results: dict[str, object]
    errors: dict[str, ReproError]

    @property
    def code(self) -> Snapshot:
        found = self.results["code"]
        assert isinstance(found, Snapshot)
        return found


def members(into: Path) -> set[str]:
    import tarfile

    with tarfile.open(into / "code.tar") as tar:
        return {m.name.removeprefix("code/") for m in tar if not m.isdir()}


def detached(done: Done) -> None:
    assert done.code.branch == ""
    assert done.code.commit == git(done.root, "rev-parse", "HEAD") != git(done.root, "rev-parse", "main")
    assert done.code.tree == git(done.root, "rev-parse", "HEAD^{tree}")


def dirty(done: Done) -> None:
    into = done.into.parent / "dirty"
    into.mkdir()
    taken = snapshot.take_code(done.project, into, allow_dirty=True)
    assert members(into) == SMALL | {"helper.py", "local.yaml"}
    assert taken.patch is not None
    assert taken.patch.changed == ["helper.py", "train.py"]
    assert taken.patch.untracked == ["local.yaml"]
    assert taken.tree != git(done.root, "rev-parse", "HEAD^{tree}")
    assert [w.where for w in taken.warnings if w.code == "untracked-left-out"] == ["runs/last.ckpt"]
    big = done.into.parent / "big"
    big.mkdir()
    named = snapshot.take_code(done.project, big, allow_dirty=True, include=["runs/last.ckpt"])
    assert "runs/last.ckpt" in members(big)
    assert named.tree != taken.tree


def nothing_in_second_set(done: Done) -> None:
    other = project.load(done.root, {"eval.path": "eval_empty"})
    with pytest.raises(ReproError) as caught:
        snapshot.take_eval(other, done.into)
    assert caught.value.code == "eval-empty"
    assert "eval_empty has no file" in caught.value.message


def many_with_higher_limit(done: Done) -> None:
    raised = project.load(done.root, {"eval.max_files": 4000})
    into = done.into.parent / "many"
    into.mkdir()
    found = snapshot.take_eval(raised, into)
    assert len(found.files) == 3001
    assert sum(1 for p in (into / "eval").rglob("*.txt")) == 3000


def odd_values(done: Done) -> None:
    params = done.results["params"]
    assert isinstance(params, ParamSet)
    values = params.values
    assert values["opt"] == {
        "wd": "1e-4", "betas": [0.9, 0.999], "lr": "1e-4", "lr2": 0.0001,
        "clip": {"$float": "nan"}, "limit": {"$float": "inf"},
    }  # fmt: skip
    assert (values["country"], values["amp"], values["mask"]) == (False, True, 8)
    assert values["seed"] == {"$int": "12345678901234567890123"}
    written = (done.into / "params.json").read_text()
    json.loads(written, parse_constant=lambda word: pytest.fail(f"{word} in strict JSON"))
    assert (done.into / "params" / "params.yaml").read_bytes() == (done.root / "params.yaml").read_bytes()


def untouched(done: Done) -> None:
    assert (done.root / ".git" / "index.lock").exists()
    assert done.code.tree == git(done.root, "rev-parse", "HEAD^{tree}")


def no_value_anywhere(done: Done) -> None:
    for path in done.into.rglob("*"):
        if path.is_file():
            assert b"madeuptoken" not in path.read_bytes()
            assert b"0123456789abcdef" not in path.read_bytes()


def still_unmerged(done: Done) -> None:
    with pytest.raises(ReproError, match="a merge is not finished"):
        snapshot.take_code(done.project, done.into, allow_dirty=True)


def subfolder(done: Done) -> None:
    assert done.code.subfolder == "projects/vision"
    assert done.code.commit == git(done.root, "rev-parse", "HEAD")


WANT = {
    "case_colliding_names": Want(
        warnings={"case-collision": ("README.md and Readme.md", "Data/a.txt and data/a.txt")},
        members=SMALL | {"README.md", "Readme.md", "Data/a.txt", "data/a.txt"},
    ),
    "detached_head": Want(members=SMALL, then=detached),
    "dirty_tree_big_untracked": Want(
        code="snapshot-dirty",
        says=("1 changed, 1 staged, 2 untracked (60.0 MiB)", "runs/last.ckpt (60.0 MiB)", "--allow-dirty"),
        then=dirty,
    ),
    "eval_empty": Want(
        eval_code="eval-empty",
        says=("eval/data.npz has 0 bytes", "eval/labels.csv has 0 bytes"),
        then=nothing_in_second_set,
    ),
    "eval_many_files": Want(
        eval_code="eval-too-many-files",
        says=("3001 files", "eval.max_files = 3001", "tar -cf eval.tar eval"),
        then=many_with_higher_limit,
    ),
    "eval_header_only": Want(eval_code="eval-empty", says=("eval/small.csv holds no example",)),
    "gitattributes_converts": Want(
        warnings={
            "git-converts": ("line ends: train.py", "$Id$ is filled in: requirements.txt"),
            "export-ignore": ("eval",),
        },
        members=SMALL | {".gitattributes"},
    ),
    "ignored_module": Want(
        code="snapshot-not-packed",
        says=("data/__init__.py: imported at train.py:2; git ignores it", "git add -f data/__init__.py"),
    ),
    "lfs_pointer": Want(
        eval_code="eval-lfs-pointer",
        says=("eval/images.npz is a Git LFS pointer of 133 bytes", "12345678 bytes", "git lfs pull"),
        warnings={"lfs-pointer": ("weights.pt is a Git LFS pointer", "git lfs pull")},
    ),
    "merge_in_progress": Want(
        code="snapshot-unmerged",
        says=("a merge is not finished", "train.py", "git merge --abort"),
        then=still_unmerged,
    ),
    "monorepo_subfolder": Want(
        warnings={
            "monorepo": ("project root projects/vision inside a larger repository",),
            "outside-import": ("common lies outside the project", "projects/vision/train.py:3"),
        },
        members={f"projects/vision/{p}" for p in SMALL} | {"common/stats.py"},
        then=subfolder,
    ),
    "newline_and_dash_names": Want(
        members=SMALL
        | {
            "two\nlines.txt", "tab\there.txt", 'quo"te.txt', "back\\slash.txt", "a -> b.txt", "-rf",
            " lead.txt",
            "trail ", "semi;colon$(x).txt",
        },
    ),
    "no_commits": Want(code="snapshot-no-commit", says=("there is no commit yet; make one, then run again",)),
    "non_ascii_and_long_names": Want(
        members=SMALL
        | {
            "données d'essai/\u00e9t\u00e9.csv", "données d'essai/e\u0301te\u0301.csv", "数据.txt",
            "plan 🗺.md",
            "n" * 200 + ".txt",
        },
    ),
    "params_duplicate_keys": Want(
        params_code="params-duplicate-key",
        says=("params.yaml", "lr on lines 1 and 6", "model.depth on lines 4 and 5"),
    ),
    "params_odd_values": Want(
        warnings={
            "params-text-number": ('base.wd (1e-4) is the text "1e-4"', "opt.lr (1e-4)", "write 1.0e-4"),
            "params-nonfinite": ("opt.clip is not a number", "opt.limit is infinite"),
            "params-yaml-versions": ("country (NO) is false", "amp (on) is true", "mask (010) is 8"),
            "params-date": ("day (2024-01-02)",),
            "params-big-int": ("seed ",),
        },
        members=SMALL,
        then=odd_values,
    ),
    "partial_clone": Want(
        code="snapshot-object-missing", says=("does not hold", "git fetch --refetch"), exit_status=3
    ),
    "read_only_and_locked": Want(members=SMALL, then=untouched),
    "secrets_in_env": Want(
        warnings={"secret-left-out": (".env, deploy/.env.server: left out", "--env")},
        members=SMALL | {".env.example", ".gitignore"},
        then=no_value_anywhere,
    ),
    "secrets_in_settings": Want(
        code="snapshot-secret",
        says=("3 credentials", "wandb/settings:3", "conf/db.yaml:3", "log.py:2"),
        then=no_value_anywhere,
    ),
    "stale_build_products": Want(
        warnings={"stale-build": ("ops/build", "ops/knn_ops.cpython-38", "for the target")},
        members=SMALL | {".gitignore", "ops/setup.py", "ops/knn.cu"},
    ),
    "submodule_not_checked_out": Want(
        code="submodule-missing",
        says=("third_party/shapes", "recorded commit ", "git submodule update --init"),
    ),
    "symlink_outside": Want(
        code="snapshot-link-outside",
        eval_code="eval-link",
        says=(
            "eval/labels.txt -> ../../private.txt points outside the repository",
            "host.txt -> /etc/hostname points outside the repository",
            "eval/broken.bin -> ../missing.bin points nowhere",
        ),
    ),
    "virtualenv_in_tree": Want(
        warnings={"environment-left-out": ("torch_env is a virtual environment",)}, members=SMALL
    ),
}  # fmt: skip
REFUSED = {"error", "ask_or_flag"}


def git(root: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=root, capture_output=True, check=True, text=True).stdout.strip()


def listing(root: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.lstat().st_mtime_ns, p.lstat().st_size) for p in sorted((root / ".git").rglob("*"))}


@pytest.fixture(params=sorted(p.name for p in CASES.iterdir()))
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    case = CASES / request.param
    env = {**os.environ, "N": "3000"}
    subprocess.run(
        ["bash", str(case / "make.sh"), str(tmp_path / "x")], check=True, capture_output=True, env=env
    )
    for line in json.loads((case / "expected.json").read_text())["check"]:
        subprocess.run(["bash", "-c", line], cwd=tmp_path / "x" / "repo", check=True, capture_output=True)
    yield request.param, tmp_path / "x" / "repo"
    subprocess.run(["chmod", "-R", "u+w", str(tmp_path)], check=True)


def take(root: Path, into: Path) -> Done:
    found = project.load(root, {"eval.max_files": 2000})
    done = Done(root, found, into, {}, {})
    for name, part in (
        ("code", snapshot.take_code), ("params", snapshot.take_params), ("eval", snapshot.take_eval),
    ):  # fmt: skip
        try:
            done.results[name] = part(found, into)
        except ReproError as problem:
            done.errors[name] = problem
    return done


def test_every_case_has_a_row() -> None:
    assert set(WANT) == {p.name for p in CASES.iterdir()}


def test_case(made: tuple[str, Path], tmp_path: Path) -> None:
    name, top = made
    want, expected = WANT[name], json.loads((CASES / name / "expected.json").read_text())
    into = tmp_path / "into"
    into.mkdir()
    before = listing(top)
    done = take(top / expected.get("run_in", ""), into)
    assert listing(top) == before, "something was written into the repository"
    assert {k: e.code for k, e in done.errors.items()} == {
        k: c for k, c in (("code", want.code), ("eval", want.eval_code), ("params", want.params_code)) if c
    }
    assert bool(done.errors) == (expected["outcome"] in REFUSED)
    said = "\n".join(line for e in done.errors.values() for line in (e.message, *e.found, *e.tries))
    for words in want.says:
        assert words in said
    check_warnings(done, want, expected["outcome"])
    if want.members is not None:
        assert members(into) == want.members
        assert (
            done.code.num_files == len(want.members) == expected.get("files_in_snapshot", len(want.members))
        )
    for problem in done.errors.values():
        assert problem.exit_status == want.exit_status
        assert problem.tries
    if want.then:
        want.then(done)


def check_warnings(done: Done, want: Want, outcome: str) -> None:
    warned = [
        w for r in done.results.values() if isinstance(r, Snapshot | ParamSet | EvalSet) for w in r.warnings
    ]
    for code, words in want.warnings.items():
        text = "\n".join(w.text for w in warned if w.code == code)
        for word in words:
            assert word in text, code
    if outcome == "ok":
        assert warned == []
