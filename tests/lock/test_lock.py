"""Real locks: pip-tools in real interpreters, real wheels, a real proof, indexes on disk and elsewhere."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repro.engine.contract import Engine
from repro.errors import ReproError
from repro.events import Event, silent
from repro.files import sha256_file
from repro.lock import Place, prove, read, resolve
from repro.model.project import Project

# pip and pip-tools themselves come from the package index, once for a test run.
pytestmark = pytest.mark.net
Make = Callable[..., Project]
LockOf = Callable[..., Any]


def asked(make: Make, index: Any, *lines: str, **more: Any) -> Project:
    text = "\n".join([f"--index-url {index.url}", *lines, ""])
    return make({"requirements.in": text}, **more)


def versions(resolved: Any) -> dict[str, str]:
    return {w.name: w.version for w in resolved.lock.wheels}


def refused(code: str, call: Callable[[], object]) -> ReproError:
    with pytest.raises(ReproError) as caught:
        call()
    assert caught.value.code == code, caught.value.document()
    return caught.value


def test_pure_and_compiled_wheels_from_the_network(
    make: Make, lock_of: LockOf, here: Any, tmp_path: Path
) -> None:
    resolved = lock_of(make({"requirements.in": "six\nmarkupsafe<4\n"}))
    lock, out = resolved.lock, tmp_path / "out"
    assert set(versions(resolved)) == {"six", "markupsafe"}
    assert any("cp311" in w.file for w in lock.wheels)
    assert all(w.origin.startswith("https://") and w.portable for w in lock.wheels)
    assert lock.installer is not None
    assert {p.name for p in (out / "wheels").iterdir()} == {w.file for w in [*lock.wheels, lock.installer]}
    assert all(sha256_file(out / "wheels" / w.file) == w.sha256 for w in lock.wheels)
    text = (out / "requirements.lock").read_text("utf-8")
    assert all(f"{w.name}=={w.version} \\\n    --hash=sha256:{w.sha256}\n" in text for w in lock.wheels)
    assert str(tmp_path) not in text + (out / "lock.json").read_text("utf-8")
    proven = prove(lock, out, here(), silent)
    assert proven.proof is not None
    assert proven.proof.pip == lock.installer.version


@pytest.mark.parametrize("minor", ["3.8", "3.7", "3.6"])
def test_old_interpreters(minor: str, make: Make, lock_of: LockOf, here: Any, tmp_path: Path) -> None:
    resolved = lock_of(make({"requirements.in": "six\nmarkupsafe\n"}), here(minor))
    assert resolved.lock.python == minor
    compiled = next(w for w in resolved.lock.wheels if w.name == "markupsafe")
    assert f"cp{minor.replace('.', '')}" in compiled.file
    assert prove(resolved.lock, tmp_path / "out", here(minor), silent).proof is not None


def test_the_second_lock_starts_nothing_and_gives_the_same_bytes(
    make: Make, index: Any, lock_of: LockOf, here: Any, tmp_path: Path, cache: Path
) -> None:
    index.add("alpha", "1.0", requires=("beta>=1",))
    index.add("beta", "1.5")
    project = asked(make, index, "alpha")
    first = lock_of(project)
    names = ("requirements.lock", "lock.json")
    before = [(tmp_path / "out" / n).read_bytes() for n in names]

    class Still:
        """Answers who it is, and runs nothing."""

        def info(self) -> Any:
            return here().engine.info()

        def run(self, *_: object) -> Any:
            raise AssertionError("a job was started")

    engine: Engine = Still()
    second = resolve(project, read(project), Place(engine, "", "3.11"), tmp_path / "out2", cache, silent)
    assert (first.cached, second.cached) == (False, True)
    assert [(tmp_path / "out2" / n).read_bytes() for n in names] == before
    third = lock_of(project, fresh=True)
    assert not third.cached
    assert [(tmp_path / "out" / n).read_bytes() for n in names] == before


def test_a_changed_input_is_resolved_anew(make: Make, index: Any, lock_of: LockOf) -> None:
    index.add("alpha", "1.0")
    index.add("alpha", "2.0")
    assert versions(lock_of(asked(make, index, "alpha<2"))) == {"alpha": "1.0"}
    assert versions(lock_of(asked(make, index, "alpha"))) == {"alpha": "2.0"}


def test_the_proof_is_kept(
    make: Make, index: Any, lock_of: LockOf, here: Any, tmp_path: Path, cache: Path
) -> None:
    index.add("alpha", "1.0")
    project = asked(make, index, "alpha")
    proven = prove(lock_of(project).lock, tmp_path / "out", here(), silent, cache=cache)
    again = lock_of(project)
    assert again.cached
    assert again.lock == proven
    assert json.loads((tmp_path / "out" / "lock.json").read_bytes())["proof"]["python"].startswith("3.11")


def test_two_indexes_and_a_local_version(
    make: Make, index: Any, lock_of: LockOf, tmp_path: Path, wheel_file: Any
) -> None:
    index.add("torchlet", "1.0")
    links = tmp_path / "links"
    wheel_file(links, "torchlet", "1.0+cu118")
    resolved = lock_of(asked(make, index, "torchlet==1.0+cu118", find_links=[str(links)]))
    (only,) = resolved.lock.wheels
    assert (only.version, only.origin, only.portable) == ("1.0+cu118", "local", False)
    assert {"local-version-tag", "not-portable"} <= {w.code for w in resolved.lock.warnings}
    assert str(tmp_path) not in (tmp_path / "out" / "lock.json").read_text("utf-8")


def test_an_extra_index_is_asked_too(make: Make, index: Any, lock_of: LockOf, tmp_path: Path) -> None:
    other = type(index)(tmp_path / "other")
    index.add("alpha", "1.0")
    other.add("beta", "3.0", requires=("alpha",))
    assert versions(lock_of(asked(make, index, f"--extra-index-url {other.url}", "beta"))) == {
        "alpha": "1.0",
        "beta": "3.0",
    }


def test_a_named_source_alone_gives_its_packages(
    make: Make, index: Any, lock_of: LockOf, tmp_path: Path
) -> None:
    other = type(index)(tmp_path / "other")
    index.add("alpha", "2.0")
    index.add("beta", "1.0")
    other.add("alpha", "1.5+cu118")
    text = f"""
[tool.poetry.dependencies]
python = "^3.9"
alpha = {{version = "^1.0", source = "special"}}
beta = "*"
[[tool.poetry.source]]
name = "special"
url = "{other.url}"
priority = "explicit"
[[tool.poetry.source]]
name = "main"
url = "{index.url}"
priority = "default"
"""
    assert versions(lock_of(make({"pyproject.toml": text}))) == {"alpha": "1.5+cu118", "beta": "1.0"}


def test_a_removed_release_names_its_neighbours(make: Make, index: Any, lock_of: LockOf) -> None:
    for version in ("2.6.1", "2.6.4"):
        index.add("alpha", version)
    problem = refused("lock-no-version", lambda: lock_of(asked(make, index, "alpha==2.6.2")))
    assert problem.exit_status == 2
    assert problem.tries == ("write `alpha==2.6.1`", "write `alpha==2.6.4`")
    assert any("2.6.1, 2.6.4" in line for line in problem.found)


def test_a_python_that_no_file_admits(make: Make, index: Any, lock_of: LockOf) -> None:
    index.add("alpha", "1.0", python=">=3.12")
    problem = refused("lock-no-wheel", lambda: lock_of(asked(make, index, "alpha==1.0")))
    assert any("Requires-Python >=3.12" in line for line in problem.found)


def test_a_wheel_for_other_pythons_only(make: Make, index: Any, lock_of: LockOf) -> None:
    index.add("alpha", "1.0", tag="cp37-cp37m-manylinux1_x86_64")
    index.add("alpha", "1.0", tag="cp38-cp38-manylinux1_x86_64")
    problem = refused("lock-no-wheel", lambda: lock_of(asked(make, index, "alpha==1.0")))
    assert any("3.7, 3.8" in line for line in problem.found)
    assert problem.tries == ('set `dependencies.python = "3.8"` in repro.toml',)


def test_torch_without_a_wheel_stops_before_anything_starts(make: Make, tmp_path: Path, cache: Path) -> None:
    class Still:
        def info(self) -> Any:
            raise AssertionError

        def run(self, *_: object) -> Any:
            raise AssertionError

    project = make({"requirements.in": "torch==1.4.0\n"})
    engine: Engine = Still()
    place = Place(engine, "", "3.11")
    problem = refused(
        "lock-no-wheel", lambda: resolve(project, read(project), place, tmp_path / "o", cache, silent)
    )
    assert "3.8" in problem.message
    assert "3.11" in problem.message


def test_a_conflict_shows_both_chains(make: Make, index: Any, lock_of: LockOf) -> None:
    index.add("alpha", "1.0", requires=("base<2",))
    index.add("beta", "1.0", requires=("base>=2",))
    index.add("base", "1.0")
    index.add("base", "2.0")
    problem = refused("lock-conflict", lambda: lock_of(asked(make, index, "alpha", "beta")))
    said = "\n".join(problem.found)
    assert "alpha 1.0 depends on base<2" in said
    assert "beta 1.0 depends on base>=2" in said


def test_a_missing_dependency_names_who_asks(make: Make, index: Any, lock_of: LockOf) -> None:
    index.add("alpha", "1.0", requires=("gone>=1",))
    problem = refused("lock-no-version", lambda: lock_of(asked(make, index, "alpha")))
    assert "gone" in problem.message
    assert any(line.startswith("alpha 1.0 depends on gone>=1") for line in problem.found)


def test_a_file_that_is_not_what_the_index_says(make: Make, index: Any, lock_of: LockOf) -> None:
    index.add("alpha", "1.0", sha256="0" * 64)
    problem = refused("lock-hash-mismatch", lambda: lock_of(asked(make, index, "alpha==1.0")))
    assert problem.exit_status == 2


def test_hashes_of_the_user_are_held(make: Make, index: Any, lock_of: LockOf) -> None:
    path = index.add("alpha", "1.0")
    good = f"alpha==1.0 --hash=sha256:{sha256_file(path)}"
    assert versions(lock_of(asked(make, index, good))) == {"alpha": "1.0"}
    bad = f"alpha==1.0 --hash=sha256:{'1' * 64}"
    problem = refused("lock-hash-mismatch", lambda: lock_of(asked(make, index, bad)))
    assert any("1" * 64 in line for line in problem.needs)


def test_an_unknown_project_and_an_unknown_host(make: Make, index: Any, lock_of: LockOf) -> None:
    index.add("alpha", "1.0")
    problem = refused("lock-no-project", lambda: lock_of(asked(make, index, "betta")))
    assert any("requirements.in:2" in line for line in problem.found)


def test_an_index_whose_name_does_not_resolve(
    make: Make, lock_of: LockOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INDEX_PASSWORD", "hunter2-secret")
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    text = "--index-url https://bot:${INDEX_PASSWORD}@packages.example.invalid/simple\nalpha\n"
    problem = refused("lock-index-dns", lambda: lock_of(make({"requirements.in": text})))
    assert problem.exit_status == 3
    assert "hunter2" not in json.dumps(problem.document())
    assert "packages.example.invalid" in problem.message


def test_an_unset_variable_is_named(make: Make, lock_of: LockOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_TOKEN", raising=False)
    text = "--index-url https://bot:${NO_SUCH_TOKEN}@packages.example.invalid/simple\nalpha\n"
    problem = refused("lock-variable-unset", lambda: lock_of(make({"requirements.in": text})))
    assert "NO_SUCH_TOKEN" in problem.message


SETUP = """
from setuptools import setup

setup(name="shapes", version="0.0.1", py_modules=["shapes"], install_requires=["beta"])
"""


def test_a_folder_of_the_project_becomes_a_wheel(
    make: Make, index: Any, lock_of: LockOf, here: Any, tmp_path: Path
) -> None:
    index.add("beta", "1.0")
    index.add("shapes", "9.0")
    text = f"--index-url {index.url}\n-e ./lib\n"
    project = make({"requirements.in": text, "lib/setup.py": SETUP, "lib/shapes.py": "SIDES = 3\n"})
    resolved = lock_of(project)
    assert versions(resolved) == {"beta": "1.0", "shapes": "0.0.1"}
    shapes = next(w for w in resolved.lock.wheels if w.name == "shapes")
    assert (shapes.origin, shapes.portable) == ("project:lib", False)
    assert not (Path(project.root) / "lib" / "build").exists()
    assert prove(resolved.lock, tmp_path / "out", here(), silent).proof is not None
    (Path(project.root) / "lib" / "shapes.py").write_text("SIDES = 4\n")
    changed = lock_of(project)
    assert not changed.cached
    assert next(w for w in changed.lock.wheels if w.name == "shapes").sha256 != shapes.sha256


def test_a_repository_is_packed_at_its_commit(
    make: Make, index: Any, lock_of: LockOf, tmp_path: Path
) -> None:
    repository = tmp_path / "shapes.git"
    repository.mkdir()
    (repository / "setup.py").write_text(SETUP)
    (repository / "shapes.py").write_text("SIDES = 3\n")
    git = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True)
    commit = subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    index.add("beta", "1.0")
    resolved = lock_of(asked(make, index, f"git+file://{repository}@main#egg=shapes"))
    shapes = next(w for w in resolved.lock.wheels if w.name == "shapes")
    assert shapes.origin.endswith(f"@{commit}")
    assert versions(resolved)["beta"] == "1.0"


def test_a_repository_that_does_not_answer(make: Make, index: Any, lock_of: LockOf) -> None:
    line = "git+https://git.example.invalid/lab/metrics.git@main"
    problem = refused("lock-vcs-unreachable", lambda: lock_of(asked(make, index, line)))
    assert problem.exit_status == 3
    assert "requirements.in:2" in problem.message


def test_nothing_is_left_in_the_scratch_folder(make: Make, index: Any, lock_of: LockOf, cache: Path) -> None:
    index.add("alpha", "1.0")
    lock_of(asked(make, index, "alpha"))
    assert list((cache / "scratch").iterdir()) == []


def test_progress_is_told_in_bytes(make: Make, index: Any, lock_of: LockOf) -> None:
    index.add("alpha", "1.0", body="# progress\n")
    seen: list[Event] = []
    lock_of(asked(make, index, "alpha"), sink=seen.append)
    progress = [e for e in seen if type(e).__name__ == "Progress"]
    assert progress
    assert all(e.unit == "B" and e.done <= e.total for e in progress)
    assert progress[-1].done > 0


@pytest.mark.docker
def test_in_a_container_of_the_base_image(
    make: Make, index: Any, lock_of: LockOf, base_image: str, tmp_path: Path
) -> None:
    from repro.engine.docker import DockerEngine

    index.add("alpha", "1.0", requires=("markupsafe",))
    place = Place(DockerEngine(), base_image, "3.11")
    text = f"--extra-index-url {index.url}\nalpha\n"
    resolved = lock_of(make({"requirements.in": text}), place)
    assert set(versions(resolved)) == {"alpha", "markupsafe"}
    proven = prove(resolved.lock, tmp_path / "out", place, silent)
    assert proven.proof is not None
    assert proven.proof.where.startswith("docker ")


@pytest.mark.docker
def test_a_base_with_another_python(make: Make, index: Any, lock_of: LockOf, base_image: str) -> None:
    from repro.engine.docker import DockerEngine

    index.add("alpha", "1.0")
    place = Place(DockerEngine(), base_image, "3.10")
    problem = refused("lock-python-mismatch", lambda: lock_of(asked(make, index, "alpha"), place))
    assert "3.11" in problem.message
    assert "3.10" in problem.message


def test_a_build_of_torch_for_the_processor(make: Make, lock_of: LockOf, here: Any, tmp_path: Path) -> None:
    """Needs a local folder or an index that offers a +cpu build; elsewhere this would be gigabytes."""
    from repro.lock.pipconf import read_pip_config

    links = [Path(f) for f in read_pip_config().many("find-links")]
    if not any(folder.is_dir() and list(folder.glob("torch-2.13.0+cpu-cp311-*.whl")) for folder in links):
        pytest.skip("no folder of this machine holds a +cpu build of torch 2.13.0")
    resolved = lock_of(make({"requirements.in": "torch==2.13.0\n"}))
    torch = next(w for w in resolved.lock.wheels if w.name == "torch")
    assert (torch.version, torch.origin, torch.portable) == ("2.13.0+cpu", "local", False)
    assert any(w.code == "not-portable" and "torch 2.13.0+cpu" in w.text for w in resolved.lock.warnings)
    proven = prove(resolved.lock, tmp_path / "out", here(), silent)
    assert proven.proof is not None
