"""Evaluation sets: copied with digests, or refused with the reason and the setting."""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from repro import snapshot
from repro.errors import ReproError
from repro.model.snapshot import EvalSet


def take(repo: Any, path: str = "eval", **limits: float) -> tuple[EvalSet, Path]:
    into = repo.out()
    return snapshot.take_eval(repo.project(eval_path=path, **limits), into), into


def refused(repo: Any, path: str = "eval", **limits: float) -> ReproError:
    with pytest.raises(ReproError) as caught:
        take(repo, path, **limits)
    assert caught.value.exit_status == 2
    assert caught.value.tries
    return caught.value


def test_files_are_copied_to_their_paths_with_digests(repo: Any) -> None:
    repo.write("data/eval/b/two.bin", b"\0" * 100)
    repo.write("data/eval/one.csv", "a,b\n")
    repo.write("data/train.csv", "not taken")
    repo.write("data/eval/__pycache__/x.pyc", b"\0")
    found, into = take(repo, "data/eval/")
    assert [(f.path, f.bytes) for f in found.files] == [
        ("data/eval/b/two.bin", 100),
        ("data/eval/one.csv", 4),
    ]
    for entry in found.files:
        content = (into / "eval" / entry.path).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry.sha256
    assert found.path == "data/eval"
    assert not (into / "eval" / "data" / "train.csv").exists()


def test_single_file_and_ignored_file(repo: Any) -> None:
    repo.write(".gitignore", "*.npz\n")
    repo.write("eval.npz", b"PK")
    found, into = take(repo, "eval.npz")
    assert [f.path for f in found.files] == ["eval.npz"]
    assert (into / "eval" / "eval.npz").read_bytes() == b"PK"


def test_no_set_is_said(repo: Any) -> None:
    found, into = take(repo, "")
    assert (found.path, found.files, [w.code for w in found.warnings]) == ("", [], ["eval-none"])
    assert (into / "eval.json").exists()


def test_too_large_names_the_largest_and_the_setting(repo: Any) -> None:
    repo.write("eval/big.bin", b"x" * 900_000)
    repo.write("eval/small.bin", b"x" * 300_000)
    problem = refused(repo, max_mb=1)
    assert problem.code == "eval-too-large"
    assert problem.found[0] == "eval/big.bin 878.9 KiB (75%)"
    assert "1.2 MB, the limit is 1 MB" in problem.message
    assert any(t.startswith("eval.max_mb = 2") for t in problem.tries)
    assert len(take(repo, max_mb=2)[0].files) == 2


def test_a_hundred_thousand_files_are_counted_and_not_kept(repo: Any) -> None:
    import tracemalloc

    for folder in range(100):
        (repo.path / "eval" / f"{folder:03d}").mkdir(parents=True)
        for number in range(1000):
            (repo.path / "eval" / f"{folder:03d}" / f"{number}").touch()
    tracemalloc.start()
    problem = refused(repo)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problem.code == "eval-too-many-files"
    assert "100000 files" in problem.message
    assert any("eval.max_files = 100000" in t for t in problem.tries)
    assert peak < 20_000_000
    shutil.rmtree(repo.path)


def test_empty_files(repo: Any) -> None:
    repo.write("eval/a.txt", "cat 0 0 1 1")
    repo.write("eval/b.txt", "")
    repo.write("eval/.gitkeep", "")
    found, _ = take(repo)
    assert [w.where for w in found.warnings] == ["eval/b.txt"]
    repo.write("eval/labels.csv", "")
    assert refused(repo).found == ("eval/labels.csv has 0 bytes",)


@pytest.mark.parametrize("content", [{}, {"eval/.gitkeep": ""}])
def test_nothing_to_evaluate(repo: Any, content: dict[str, str]) -> None:
    (repo.path / "eval").mkdir()
    for name, text in content.items():
        repo.write(name, text)
    assert refused(repo).code == "eval-empty"


def test_missing_set_with_a_stand_in(repo: Any) -> None:
    assert refused(repo).code == "eval-missing"
    repo.write("eval.dvc", "outs: []\n")
    assert refused(repo).tries[0] == "dvc pull eval.dvc"


def test_annex_pointer(repo: Any) -> None:
    repo.write("eval/x.bin", "/annex/objects/SHA256E-s100--aa.bin\n")
    problem = refused(repo)
    assert problem.code == "eval-lfs-pointer"
    assert problem.tries == ("git annex get eval/x.bin",)


def test_links_inside_stay_and_links_to_the_repository_are_copied(repo: Any) -> None:
    repo.write("eval/one.csv", "1\n")
    repo.write("shared/two.csv", "2\n")
    (repo.path / "eval" / "alias.csv").symlink_to("one.csv")
    (repo.path / "eval" / "two.csv").symlink_to("../shared/two.csv")
    found, into = take(repo)
    assert (into / "eval/eval/alias.csv").readlink() == Path("one.csv")
    assert not (into / "eval/eval/two.csv").is_symlink()
    assert (into / "eval/eval/two.csv").read_text() == "2\n"
    by_path = {f.path: f.sha256 for f in found.files}
    assert by_path["eval/alias.csv"] == by_path["eval/one.csv"]
    assert [w.where for w in found.warnings] == ["eval/two.csv"]


def test_links_that_lead_away(repo: Any, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "x").write_text("x")
    repo.write("eval/one.csv", "1\n")
    repo.write("shared/two.csv", "2\n")
    for name, target in {
        "a": "../../far/x",
        "b": str(tmp_path / "far"),
        "c": "nowhere",
        "d": "../shared",
    }.items():
        (repo.path / "eval" / name).symlink_to(target)
    problem = refused(repo)
    assert problem.code == "eval-link"
    words = {line.split(" ")[0]: line for line in problem.found}
    assert "outside the repository" in words["eval/a"]
    assert "outside the repository" in words["eval/b"]
    assert "nowhere" in words["eval/c"]
    assert "folder outside" in words["eval/d"]
    (repo.path / "all").symlink_to(tmp_path / "far")
    assert refused(repo, "all").code == "eval-link"


def test_name_that_is_not_utf8(repo: Any) -> None:
    repo.write("eval/one.csv", "1\n")
    Path(os.fsdecode(os.fsencode(repo.path) + b"/eval/caf\xe9.csv")).write_text("x")
    problem = refused(repo)
    assert problem.code == "eval-name"
    assert problem.found == ("eval/caf\\xe9.csv",)


def test_pipes_and_credentials_are_refused(repo: Any) -> None:
    repo.write("eval/one.csv", "1\n")
    os.mkfifo(repo.path / "eval" / "pipe")
    assert refused(repo).code == "eval-special-file"
    (repo.path / "eval" / "pipe").unlink()
    repo.write("eval/.env", "A=1")
    assert refused(repo).code == "snapshot-secret"


def test_what_is_odd_about_the_content_is_said(repo: Any) -> None:
    repo.write("eval/page.csv", "<!DOCTYPE html><html></html>\n")
    repo.write("eval/read.py", "print(1)\n")
    repo.write("eval/rows.csv", "id,label\n1,0\n")
    repo.write("eval/names.csv", "id,label\n")
    found, _ = take(repo)
    said = {w.code: w.where for w in found.warnings}
    assert said == {
        "eval-web-page": "eval/page.csv",
        "eval-one-line": "eval/names.csv",
        "eval-holds-code": "eval/read.py",
    }


def test_links_in_a_circle_are_refused(repo: Any) -> None:
    repo.write("eval/rows.csv", "1,0\n")
    (repo.path / "eval" / "a").symlink_to("b")
    (repo.path / "eval" / "b").symlink_to("a")
    with pytest.raises(ReproError, match="2 links") as caught:
        take(repo)
    assert "eval/a -> b goes in a circle" in caught.value.found
