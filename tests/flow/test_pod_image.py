"""An image on a machine without the tool: `docker run IMAGE`, and nothing else said."""

import json
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import Said

pytestmark = [pytest.mark.net, pytest.mark.docker]
Repro = Callable[..., Said]


def docker(*words: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["docker", *words], capture_output=True, check=check)


@pytest.fixture(scope="module")
def bundle(tiny: Path, tmp_path_factory: pytest.TempPathFactory, repro: Repro, base_image: str) -> Path:
    folder = Path(shutil.copytree(tiny, tmp_path_factory.mktemp("pod-image") / "tiny", symlinks=True))
    said = repro(folder, "build", "--base", base_image, "--json")
    assert said.status == 0, said.out + said.err
    return Path(said.json["bundle"]["path"])


@pytest.fixture(scope="module")
def image(bundle: Path) -> str:
    return str(json.loads((bundle / "image.json").read_text())["tag"])


@pytest.fixture
def container() -> Iterator[str]:
    name = f"repro-test-{uuid.uuid4().hex[:12]}"
    yield name
    docker("rm", "--force", name, check=False)


def result_of(run: Path) -> dict[str, object]:
    document: dict[str, object] = json.loads((run / "result.json").read_text())
    return document


def test_with_a_folder_at_out_the_record_is_whole(
    image: str, bundle: Path, container: str, tmp_path: Path, repro: Repro
) -> None:
    out = tmp_path / "run-a"
    out.mkdir()
    done = docker("run", "--name", container, "--network", "none", "-v", f"{out}:/out", image)
    assert b"trained with 0.5" in done.stdout
    assert b"is not mounted" not in done.stderr
    assert result_of(out)["status"] == "ok"
    record = json.loads((out / "attempt-1" / "run.json").read_text())
    assert (record["engine"], record["bundle"]["id"][:12]) == ("image", bundle.name.rpartition("-")[2])
    brought = repro(bundle.parent, "import-run", str(out), str(bundle), "--json")
    assert brought.status == 0, brought.out + brought.err
    assert brought.json["attempts"] == {"1": "ok"}


def test_without_one_it_is_told_and_docker_cp_brings_it_home(
    image: str, bundle: Path, container: str, tmp_path: Path, repro: Repro
) -> None:
    done = docker("run", "--name", container, image, "run", "--set", "lr=0.25", "--label", "pod")
    assert b"trained with 0.25" in done.stdout
    assert b"/out is not mounted" in done.stderr
    assert b'-v "$PWD/out:/out"' in done.stderr
    tar = tmp_path / "fetched.tar"
    tar.write_bytes(docker("cp", f"{container}:/out", "-").stdout)
    brought = repro(bundle.parent, "import-run", str(tar), str(bundle), "--json")
    assert brought.status == 0, brought.out + brought.err
    told = json.loads((Path(brought.json["run"]["path"]) / "attempt-1" / "run.json").read_text())
    assert (told["label"], told["overrides"]) == ("pod", {"lr": "0.25"})


def test_an_out_that_cannot_be_written_is_told(image: str, container: str, tmp_path: Path) -> None:
    out = tmp_path / "locked"
    out.mkdir()
    words = ("run", "--name", container, "-v", f"{out}:/out:ro", "--user", "12345:12345", image)
    done = docker(*words, check=False)
    assert done.returncode == 3
    assert b"cannot be written" in done.stderr
    assert b"Traceback" not in done.stderr
