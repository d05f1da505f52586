"""What of a repository is packed, and from where: commit, working tree, submodules, beside the project."""

import hashlib
import io
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repro.errors import ReproError
from repro.model.canonical import pretty

Make = Callable[[str], Any]


def refused(repo: Any, code: str, **options: Any) -> str:
    with pytest.raises(ReproError) as caught:
        repo.take(**options)
    problem = caught.value
    assert problem.code == code
    assert problem.exit_status in (2, 3)
    return "\n".join([problem.message, *problem.found, *problem.needs, *problem.tries])


def test_content_comes_from_the_commit_with_modes_and_links(repo: Any) -> None:
    repo.write("run.sh", "#!/bin/sh\n", 0o755)
    (repo.path / "latest.py").symlink_to("train.py")
    commit = repo.commit()
    taken = repo.take()
    members = taken.members()
    assert members["run.sh"].mode == 0o755
    assert members["train.py"].mode == 0o644
    assert members["latest.py"].issym()
    assert members["latest.py"].linkname == "train.py"
    assert (taken.record.commit, taken.record.branch) == (commit, "main")
    assert taken.record.tree == repo.git("rev-parse", "HEAD^{tree}")
    assert taken.record.code_sha256 == hashlib.sha256(taken.tar_bytes()).hexdigest()
    assert (taken.into / "snapshot.json").read_bytes() == pretty(taken.record)


def test_variables_of_a_ci_system_are_not_trusted(repo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = repo.take().record
    for name, value in {
        "GITHUB_SHA": "0" * 40, "CI_COMMIT_SHA": "1" * 40, "GIT_DIR": "/nonexistent", "GIT_WORK_TREE": "/",
        "GIT_INDEX_FILE": "/nonexistent", "GIT_OBJECT_DIRECTORY": "/nonexistent",
        "GIT_EXTERNAL_DIFF": "false",
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.bare", "GIT_CONFIG_VALUE_0": "true",
        "GIT_CEILING_DIRECTORIES": str(repo.path.parent), "GIT_NAMESPACE": "x", "LC_ALL": "de_DE.UTF-8",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert repo.take().record == plain


def test_programs_that_a_repository_names_are_not_started(repo: Any) -> None:
    trap = repo.write("../trap.sh", f"#!/bin/sh\ntouch {repo.path.parent}/sprung\ncat\n", 0o755)
    repo.write(".gitattributes", "*.py filter=trap diff=trap\n")
    repo.commit()
    for key in (
        "core.fsmonitor",
        "filter.trap.clean",
        "filter.trap.smudge",
        "diff.external",
        "diff.trap.textconv",
    ):
        repo.git("config", key, str(trap))
    repo.write("train.py", "print('changed')\n")
    taken = repo.take(allow_dirty=True)
    assert taken.read("train.py") == b"print('changed')\n"
    assert not (repo.path.parent / "sprung").exists()


def test_repository_is_left_byte_for_byte(repo: Any) -> None:
    repo.write("train.py", "print('changed')\n")
    repo.write("new.py", "x = 1\n")
    (repo.path / ".git" / "index.lock").touch()
    before = {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in (repo.path / ".git").rglob("*")}
    repo.take(allow_dirty=True)
    assert {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in (repo.path / ".git").rglob("*")} == before


def test_patch_rebuilds_the_packed_tree(repo: Any, tmp_path: Path) -> None:
    repo.write("gone.bin", bytes(range(256)))
    repo.write("data.bin", bytes(range(256)))
    repo.commit()
    (repo.path / "gone.bin").unlink()
    repo.write("data.bin", bytes(reversed(range(256))))
    repo.write("tool.sh", "#!/bin/sh\n", 0o755)
    (repo.path / "link").symlink_to("train.py")
    taken = repo.take(allow_dirty=True)
    clone = tmp_path / "clone"
    repo.git("clone", "-q", str(repo.path), str(clone))
    repo.git("apply", "--index", str(taken.into / "dirty.patch"), cwd=clone)
    assert repo.git("write-tree", cwd=clone) == taken.record.tree
    assert "gone.bin" not in taken.members()
    assert taken.members()["tool.sh"].mode == 0o755
    patch = (taken.into / "dirty.patch").read_bytes()
    assert taken.record.patch.sha256 == hashlib.sha256(patch).hexdigest()
    assert (taken.record.patch.changed, taken.record.patch.untracked) == (
        ["data.bin", "gone.bin"],
        ["link", "tool.sh"],
    )


def test_two_dirty_trees_never_share_an_id(repo: Any) -> None:
    seen = [repo.take().record]
    for content in ("a = 1\n", "a = 2\n"):
        repo.write("extra.py", content)
        seen.append(repo.take(allow_dirty=True).record)
    assert len({r.tree for r in seen}) == len({r.code_sha256 for r in seen}) == 3
    assert seen[1].patch.sha256 != seen[2].patch.sha256
    assert seen[0].patch is None


def test_new_settings_file_is_the_next_thing_to_commit(repo: Any) -> None:
    repo.write("repro.toml", "schema = 1\n")
    assert "git add repro.toml && git commit" in refused(repo, "snapshot-dirty")


def test_changes_that_git_was_told_to_overlook_are_seen(repo: Any) -> None:
    repo.git("update-index", "--assume-unchanged", "train.py")
    repo.write("train.py", "print('other')\n")
    assert repo.git("status", "--porcelain") == ""
    assert "changed    train.py" in refused(repo, "snapshot-dirty")
    assert repo.take(allow_dirty=True).read("train.py") == b"print('other')\n"


def test_caches_and_build_products_do_not_count(repo: Any) -> None:
    repo.write("__pycache__/train.cpython-311.pyc", b"\0")
    repo.write(".repro/case-1/bundle.json", "{}")
    repo.write("ops/knn.so", b"\x7fELF")
    taken = repo.take()
    assert taken.record.patch is None
    assert "ops/knn.so" in taken.texts("stale-build")
    assert set(taken.members()) == {"train.py", "params.json"}
    repo.write("extra.py", "x = 1\n")
    assert "ops/knn.so" not in repo.take(allow_dirty=True).members()
    assert "ops/knn.so" in repo.take(allow_dirty=True, include=["ops/knn.so"]).members()


def test_compiled_file_in_the_commit_is_packed_and_named(repo: Any) -> None:
    repo.write("ops/knn.so", b"\x7fELF")
    repo.commit()
    taken = repo.take()
    assert "ops/knn.so" in taken.members()
    assert "compiled for one machine" in taken.texts("build-product-tracked")


def test_ignored_files_are_never_packed_even_when_named(repo: Any) -> None:
    repo.write(".gitignore", "cache.txt\n")
    repo.commit()
    repo.write("cache.txt", "x")
    repo.write("extra.py", "x = 1\n")
    assert "cache.txt" not in repo.take(allow_dirty=True).members()
    assert "cache.txt" in refused(repo, "snapshot-include", allow_dirty=True, include=["cache.txt"])


def test_names_that_are_not_utf8_keep_their_bytes(repo: Any) -> None:
    name = b"caf\xe9.txt"
    Path(os.fsdecode(os.fsencode(repo.path) + b"/" + name)).write_text("x")
    repo.commit()
    assert os.fsdecode(name) in repo.take().members()
    Path(os.fsdecode(os.fsencode(repo.path) + b"/new" + name)).write_text("x")
    taken = repo.take(allow_dirty=True)
    assert taken.record.patch.untracked == ["newcaf\\xe9.txt"]


def test_nested_repository_is_left_out_and_said(repo: Any, new_repo: Make) -> None:
    inner = new_repo("inner")
    subprocess.run(["cp", "-r", str(inner.path), str(repo.path / "vendored")], check=True)
    taken = repo.take()
    assert "vendored is a repository of its own" in taken.texts("nested-repository")
    assert set(taken.members()) == {"train.py", "params.json"}


def test_folder_without_repository(tmp_path: Path, repo: Any) -> None:
    lone = tmp_path / "lone"
    lone.mkdir()
    repo.path = lone
    assert "git init" in refused(repo, "not-a-repository")


def test_untracked_folder_of_a_repository(repo: Any) -> None:
    repo.write("sub/train.py", "x")
    assert "sub" in refused(repo, "snapshot-nothing-tracked", folder="sub")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_repository_of_another_user(repo: Any) -> None:
    for path in (repo.path, *repo.path.rglob("*")):
        os.chown(path, 4321, 4321, follow_symlinks=False)
    said = refused(repo, "git-dubious-ownership")
    assert f"git config --global --add safe.directory {repo.path}" in said
    assert "user 4321" in said


def with_submodule(repo: Any, new_repo: Make) -> Any:
    inner, lib = new_repo("inner"), new_repo("lib")
    lib.git("submodule", "--quiet", "add", str(inner.path), "deep")
    lib.commit()
    repo.git("submodule", "--quiet", "add", str(lib.path), "third_party/lib")
    repo.git("submodule", "--quiet", "update", "--init", "--recursive")
    repo.commit()
    return lib


def test_nested_submodules_are_packed_by_commit(repo: Any, new_repo: Make) -> None:
    lib = with_submodule(repo, new_repo)
    taken = repo.take()
    assert {"third_party/lib/train.py", "third_party/lib/deep/train.py"} <= set(taken.members())
    paths = {s.path: s.commit for s in taken.record.submodules}
    assert paths == {
        "third_party/lib": lib.git("rev-parse", "HEAD"),
        "third_party/lib/deep": repo.git("rev-parse", "HEAD", cwd=repo.path / "third_party/lib/deep"),
    }
    assert taken.record.tree == repo.git("rev-parse", "HEAD^{tree}")


@pytest.mark.parametrize("inside", ["third_party/lib", "third_party/lib/deep"])
def test_changed_submodule_is_refused_even_when_dirty_is_allowed(
    repo: Any, new_repo: Make, inside: str
) -> None:
    with_submodule(repo, new_repo)
    repo.write(f"{inside}/train.py", "print('changed')\n")
    assert f"{inside}/train.py" in refused(repo, "submodule-dirty", allow_dirty=True)


def test_moved_submodule_is_refused(repo: Any, new_repo: Make) -> None:
    with_submodule(repo, new_repo)
    repo.git("commit", "-q", "--allow-empty", "-m", "on", cwd=repo.path / "third_party/lib")
    assert "third_party/lib" in refused(repo, "submodule-dirty", allow_dirty=True)


def test_nested_submodule_that_is_not_checked_out(repo: Any, new_repo: Make) -> None:
    with_submodule(repo, new_repo)
    repo.git("submodule", "--quiet", "deinit", "-f", "deep", cwd=repo.path / "third_party/lib")
    said = refused(repo, "submodule-missing")
    assert "third_party/lib/deep" in said
    assert "--recursive" in said


def test_fetched_lfs_file_is_packed_as_the_real_one(repo: Any) -> None:
    real = b"weights" * 1000
    digest = hashlib.sha256(real).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(real)}\n"
    repo.write("weights.pt", pointer)
    repo.commit()
    assert "7000 bytes" in repo.take().texts("lfs-pointer")
    repo.write("weights.pt", real)
    taken = repo.take()
    assert taken.read("weights.pt") == real
    assert "lfs-pointer" not in taken.codes
    assert taken.record.tree != repo.git("rev-parse", "HEAD^{tree}")
    repo.write("weights.pt", b"other" * 1400)
    refused(repo, "snapshot-dirty")


def test_link_out_of_the_repository_is_copied_when_named(repo: Any, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("words\n")
    (repo.path / "vocab.txt").symlink_to("../vocab.txt")
    repo.commit()
    assert "vocab.txt -> ../vocab.txt" in refused(repo, "snapshot-link-outside")
    taken = repo.take(include=["vocab.txt"])
    assert taken.read("vocab.txt") == b"words\n"
    assert "link-copied" in taken.codes


def test_link_to_nowhere_is_said(repo: Any) -> None:
    (repo.path / "latest").symlink_to("runs/7")
    repo.commit()
    assert "latest points to runs/7" in repo.take().texts("link-broken")


def monorepo(repo: Any, program: str, **files: str) -> None:
    repo.write("projects/vision/train.py", program)
    repo.write("projects/audio/big.txt", "x")
    for name, content in files.items():
        repo.write(name.replace("__", "/") + ".py", content)
    repo.commit()


@pytest.mark.parametrize(
    ("program", "needed"),
    [
        ("from common import stats\n", {"common/stats.py", "shared/base.py"}),
        ("import common.stats as s\n", {"common/stats.py", "shared/base.py"}),
        ("def f():\n    import tool\n", {"tool.py"}),
        (
            "import sys\nsys.path.append('../../common')\nimport stats\n",
            {"common/stats.py", "shared/base.py"},
        ),
        ("from ...common import stats\n", {"common/stats.py", "shared/base.py"}),
        ("from projects.lib import util\n", {"projects/lib/util.py"}),
        ("import torch, json\nfrom projects.vision import model\n", set()),
        ("text = 'common'\n# import common\n", set()),
    ],
)
def test_what_a_subfolder_imports_from_beside_it_is_packed(repo: Any, program: str, needed: set[str]) -> None:
    monorepo(
        repo, program, common__stats="from shared import base\n", shared__base="B = 1\n", tool="T = 1\n",
        projects__lib__util="U = 1\n", projects__vision__model="M = 1\n", json="J = 1\n",
    )  # fmt: skip
    taken = repo.take(folder="projects/vision")
    own = {"projects/vision/train.py", "projects/vision/model.py"}
    assert set(taken.members()) == own | needed
    assert ("outside-import" in taken.codes) == bool(needed)
    assert taken.record.subfolder == "projects/vision"
    if not needed:
        assert taken.record.tree == repo.git("rev-parse", "HEAD:projects/vision")


def test_only_the_project_and_what_it_needs_must_be_clean(repo: Any) -> None:
    monorepo(repo, "from common import stats\n", common__stats="MEAN = 1\n")
    repo.write("projects/audio/big.txt", "changed")
    repo.take(folder="projects/vision")
    repo.write("common/stats.py", "MEAN = 2\n")
    assert "common/stats.py" in refused(repo, "snapshot-dirty", folder="projects/vision")
    taken = repo.take(folder="projects/vision", allow_dirty=True)
    assert taken.read("common/stats.py") == b"MEAN = 2\n"
    assert b"audio" not in (taken.into / "dirty.patch").read_bytes()


def test_folder_beside_the_project_by_name(repo: Any) -> None:
    monorepo(repo, "print(1)\n", assets__table="A = 1\n")
    for name in ("../../assets", "assets"):
        assert "assets/table.py" in repo.take(folder="projects/vision", include=[name]).members()
    refused(repo, "snapshot-include", folder="projects/vision", include=["../../nowhere"])


def test_second_working_tree_and_shallow_clone(repo: Any, tmp_path: Path) -> None:
    repo.write("train.py", "print('second')\n")
    repo.commit()
    whole = repo.take().record
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "HEAD")
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    for name in ("tree", "shallow"):
        repo.path = tmp_path / name
        found = repo.take().record
        assert (found.commit, found.tree, found.code_sha256) == (whole.commit, whole.tree, whole.code_sha256)
        repo.write("new.py", "x = 1\n")
        assert "new.py" in repo.take(allow_dirty=True).members()


def test_repository_with_longer_ids(repo: Any, tmp_path: Path) -> None:
    repo.path = tmp_path / "long"
    repo.path.mkdir()
    repo.git("init", "-q", "--object-format=sha256")
    repo.write("pkg/train.py", "x = 1\n")
    repo.commit()
    assert len(repo.take().record.tree) == 64
    assert repo.take().record.tree == repo.git("rev-parse", "HEAD^{tree}")


def test_large_contents_are_streamed(repo: Any) -> None:
    repo.write("big.bin", os.urandom(6 << 20))
    repo.commit()
    assert repo.take().read("big.bin") == (repo.path / "big.bin").read_bytes()


def test_archive_unpacks_to_the_commit(repo: Any, tmp_path: Path) -> None:
    repo.write("pkg/mod.py", "x = 1\n")
    (repo.path / "pkg/alias.py").symlink_to("mod.py")
    repo.commit()
    taken = repo.take()
    with tarfile.open(fileobj=io.BytesIO(taken.tar_bytes())) as tar:
        assert {(m.uid, m.gid, m.uname, m.mtime) for m in tar} == {(0, 0, "", 315532800)}
    code = taken.unpacked(tmp_path / "unpacked")
    assert (code / "pkg" / "alias.py").read_text() == "x = 1\n"


def test_a_snapshot_starts_few_processes(repo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from git.cmd import Git

    for number in range(2000):
        repo.write(f"pkg{number % 20}/m{number}.py", f"x = {number}\n")
    repo.commit()
    calls: list[Any] = []
    execute = Git.execute
    monkeypatch.setattr(
        Git, "execute", lambda self, command, **more: calls.append(command) or execute(self, command, **more)
    )
    assert repo.take().record.num_files == 2002
    assert len(calls) < 15


def test_the_script_must_be_in_the_commit(repo: Any) -> None:
    repo.git("rm", "-q", "--cached", "train.py")
    repo.write(".gitignore", "train.py\n")
    repo.git("add", ".gitignore")
    repo.git("commit", "-q", "-m", "ignore it")
    with pytest.raises(ReproError) as caught:
        repo.take()
    assert caught.value.code == "snapshot-not-packed"
    assert caught.value.found == ("train.py: the command runs it; git ignores it",)


def test_an_import_that_may_fail_needs_no_file(repo: Any) -> None:
    repo.write("train.py", "try:\n    import local\nexcept ImportError:\n    local = None\nimport wandb\n")
    repo.write(".gitignore", "local.py\nwandb/\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "ignore")
    repo.write("local.py", "X = 1\n")
    repo.write("wandb/run-1/files/train.py", "\n")
    assert set(repo.take().members()) == {"train.py", "params.json", ".gitignore"}


def test_large_files_are_named_with_their_sizes(repo: Any) -> None:
    repo.write("weights.bin", bytes(60_000_000))
    repo.commit()
    assert repo.take().texts("large-file") == "large files are packed with the code: weights.bin (57.2 MiB)"


def test_links_in_a_circle_are_said(repo: Any) -> None:
    (repo.path / "a").symlink_to("b")
    (repo.path / "b").symlink_to("a")
    repo.commit()
    assert "a -> b goes in a circle" in repo.take().texts("link-broken")
