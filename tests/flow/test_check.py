"""The check inside a build, and of a finished image, with a real engine and a torch that is only a name."""

import io
import json
import tarfile
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repro.engine.docker import DockerEngine

from .conftest import ROOT, Said, commit

pytestmark = [pytest.mark.docker, pytest.mark.net]
Repro = Callable[..., Said]

FATBIN = ROOT / "tests" / "fixtures" / "fatbin"
TORCH = "1.13.1+cu117"
SETTINGS = """schema = 1
name = "fit"
[code]
command = ["python", "train.py"]
[dependencies]
python = "3.11"
requirements = ["requirements.in"]
find_links = ["wheels"]
base = "{base}"
[targets]
gpus = [{gpus}]
driver = "535.104.05"
"""


def named_torch(folder: Path) -> None:
    """A wheel that is torch by name and version: the table knows what the real one holds."""
    info = f"torch-{TORCH}.dist-info"
    with zipfile.ZipFile(folder / f"torch-{TORCH}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("torch/__init__.py", f"__version__ = {TORCH!r}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        names = ("torch/__init__.py", f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD")
        wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in names))


@pytest.fixture(scope="module")
def fit(tmp_path_factory: pytest.TempPathFactory, base_image: str) -> Path:
    folder = tmp_path_factory.mktemp("fit") / "fit"
    (folder / "wheels").mkdir(parents=True)
    named_torch(folder / "wheels")
    (folder / "requirements.in").write_text(f"torch=={TORCH}\n")
    (folder / "train.py").write_text("print('trained')\n")
    (folder / "repro.toml").write_text(SETTINGS.format(base=base_image, gpus='"h100"'))
    return commit(folder)


def stack_in(tag: str) -> bytes:
    """`stack.json` as an image has it."""
    engine = DockerEngine()
    with engine.export(tag) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        inside = next(
            tar.extractfile(member).read() for member in tar if member.name == "opt/repro/bundle/stack.json"
        )
    engine.client.close()
    return inside


@pytest.fixture(scope="module")
def refused(fit: Path, repro: Repro) -> Said:
    return repro(fit, "build", "--json")


@pytest.fixture(scope="module")
def allowed(fit: Path, repro: Repro, refused: Said) -> Said:
    return repro(fit, "build", "--json", "--allow-incompatible")


def test_a_build_that_cannot_work_is_refused_before_the_image(fit: Path, refused: Said) -> None:
    assert refused.status == 1
    error = refused.json["error"]
    assert error["code"] == "incompatible"
    assert any("h100" in line for line in error["found"])
    assert error["needed"]
    assert any("--allow-incompatible" in line for line in error["try"])
    assert not list((fit / ".repro").glob("fit-*"))


def test_allowed_it_is_built_and_says_so(fit: Path, repro: Repro, allowed: Said) -> None:
    assert allowed.status == 0, allowed.out + allowed.err
    assert allowed.json["check"]["allowed"] is True
    folder = Path(allowed.json["bundle"]["path"])
    findings = json.loads((folder / "findings.json").read_text())
    assert findings["allowed"] is True
    assert findings["targets"][0]["verdict"] == "will-fail"
    assert "--allow-incompatible" in repro(fit, "show", str(folder)).out
    assert repro(fit, "verify", str(folder)).status == 0


def test_the_image_has_the_arch_list_and_the_stack(allowed: Said) -> None:
    engine = DockerEngine()
    tag = allowed.json["image"]["tag"]
    env = engine.client.api.inspect_image(tag)["Config"]["Env"]
    folder = Path(allowed.json["bundle"]["path"])
    arch_list = json.loads((folder / "protocol.json").read_text())["arch_list"]
    assert f"TORCH_CUDA_ARCH_LIST={arch_list}" in env
    engine.client.close()
    inside = stack_in(tag)
    assert inside == (folder / "stack.json").read_bytes()
    assert json.loads(inside)["torch"]["cuda"] == "11.7"


def test_a_bundle_remembers_its_targets(fit: Path, repro: Repro, allowed: Said) -> None:
    said = repro(fit, "check", allowed.json["bundle"]["path"], "--json")
    assert said.status == 1
    assert said.json["targets"][0]["driver"] == "535.104.05"
    assert said.json["stack"]["origin"] == "bundle"
    named = repro(fit, "check", allowed.json["bundle"]["path"], "--gpu", "a100", "--json")
    assert (named.status, named.json["targets"][0]["verdict"]) == (0, "runs"), named.out


def test_another_driver_renews_findings_and_keeps_the_id(fit: Path, repro: Repro, allowed: Said) -> None:
    """Only the arch list is part of the id; what the image carries of the targets is laid anew."""
    again = repro(fit, "build", "--json", "--allow-incompatible", "--driver", "550.54.14")
    assert again.status == 0, again.out + again.err
    assert again.json["bundle"]["id"] == allowed.json["bundle"]["id"]
    assert again.json["cached"] is True
    folder = Path(again.json["bundle"]["path"])
    assert json.loads((folder / "stack.json").read_text())["targets"][0]["driver"] == "550.54.14"
    assert repro(fit, "verify", str(folder)).status == 0
    assert again.json["image"]["config_digest"] != allowed.json["image"]["config_digest"]


def test_a_renewal_that_is_killed_before_the_image_is_done_again(
    fit: Path, repro: Repro, allowed: Said, shared_cache: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest comes last: else the next build would take the image with the old targets for whole."""
    from repro import image as images
    from repro import project as projects
    from repro.pipeline.build import BuildOptions, build

    def killed(*_words: object, **_more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        for name, value in shared_cache.items():
            patched.setenv(name, value)
        patched.setattr(images, "build", killed)
        with pytest.raises(KeyboardInterrupt):
            build(projects.load(fit, {}), BuildOptions(allow_incompatible=True, driver="560.28.03"))
    again = repro(fit, "build", "--json", "--allow-incompatible", "--driver", "560.28.03")
    assert again.status == 0, again.out + again.err
    folder = Path(again.json["bundle"]["path"])
    tag = json.loads((folder / "image.json").read_text())["tag"]
    assert json.loads(stack_in(tag))["targets"][0]["driver"] == "560.28.03"
    assert repro(fit, "verify", str(folder)).status == 0


@pytest.fixture
def image() -> Iterator[str]:
    """An image with nothing but an installed extension in it."""
    tag, engine, root = f"repro-test:{uuid.uuid4().hex[:12]}", DockerEngine(), io.BytesIO()
    place = "usr/lib/python3/site-packages/"
    with tarfile.open(fileobj=root, mode="w") as tar:
        tar.add(FATBIN / "two_tu.so", f"{place}knn/_ext.so")
    root.seek(0)
    engine.load_root(root, tag, {})
    yield tag
    engine.remove(tag)
    engine.client.close()


def test_an_image_is_read_without_starting_it(fit: Path, repro: Repro, image: str) -> None:
    said = repro(fit, "check", "--image", image, "--gpu", "a100", "--json")
    assert said.json["stack"]["origin"] == "image"
    (file,) = said.json["targets"][0]["files"]
    assert file["path"].endswith("knn/_ext.so")
    assert sum(file["containers"].values()) > 0


def test_an_image_that_is_not_there_is_not_pulled(fit: Path, repro: Repro) -> None:
    said = repro(fit, "check", "--image", "repro-test:never-made", "--json")
    assert (said.status, said.json["error"]["code"]) == (2, "check-image-missing")
