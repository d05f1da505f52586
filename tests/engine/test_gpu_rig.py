"""How cards reach a container, and every way in which they do not: a real engine, its toolkit a stand-in."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from docker.errors import APIError
from docker.types import DeviceRequest

from repro.bundle import lay_runtime
from repro.engine import gpus
from repro.engine.contract import Bind, Job
from repro.engine.docker import DockerEngine
from repro.errors import ReproError
from repro.events import silent
from repro.run import Ended, RunOptions, container_job, start

from . import rig
from .cards import Cards, uuid

pytestmark = [pytest.mark.docker, pytest.mark.versions]


@dataclass
class Place:
    """An engine of our own with a base image, and the stand-ins of its toolkit."""

    engine: DockerEngine
    cards: Cards
    image: str

    def runs(self, gpus: str, bundle: Path, folder: Path, count: int = 0) -> Ended:
        """Run a bundle of files as the tool runs its image."""
        options = RunOptions(gpus=gpus, gpu_count=count)
        job = container_job(self.image, folder, folder.name, options, self.engine.info().kind)
        job = replace(
            job,
            entrypoint=("python3", "-m", "repro_runtime"),
            argv=(*job.argv, "--bundle", "/bundle", "--python", "/usr/bin/python3"),
            binds=(*job.binds, Bind(bundle, "/bundle")),
            workdir="/bundle",
        )
        folder.mkdir()
        return start(self.engine, job, folder, folder.name, options, silent)

    def refusal(self, gpus: str) -> ReproError:
        """Why a container with these cards does not start."""
        with pytest.raises(ReproError) as caught:
            self.engine.run(Job(self.image, ("true",), entrypoint=(), gpus=gpus), print)
        assert caught.value.code == "gpu-unavailable"
        return caught.value

    def explained(self, asked: dict[str, object]) -> str:
        """What becomes of the engine's own words, for a request that the tool itself would not make."""
        with pytest.raises(APIError) as caught:
            self.engine.client.containers.run(self.image, ["true"], **asked)
        error = gpus.explain("0", str(caught.value.explanation))
        assert error is not None, caught.value.explanation
        return error.message


@contextmanager
def place(
    base_image: str,
    *,
    suite: str = "trixie",
    program: str = "docker",
    store: bool = False,
    cdi: bool = True,
    toolkit: bool = True,
) -> Iterator[Place]:
    """The engine of a Debian release, with the base image in it."""
    prepare = (lambda folder: Cards(folder).install()) if toolkit else None
    with rig.started(suite, program=program, containerd_store=store, cdi=cdi, prepare=prepare) as private:
        words = ["docker", "--host", private.host, "load", "--quiet"]
        with subprocess.Popen(["docker", "save", base_image], stdout=subprocess.PIPE) as saved:
            subprocess.run(words, stdin=saved.stdout, check=True, stdout=subprocess.DEVNULL)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DOCKER_HOST", private.host)
            engine = DockerEngine()
            engine.info()
        yield Place(engine, Cards(private.folder), base_image)
        engine.client.close()


# Docker 26.1 with both of its stores, and 28.5, which reads CDI without being told.
ENGINES = {"26.1": ("trixie", False), "26.1-containerd": ("trixie", True), "28.5-containerd": ("sid", True)}


@pytest.fixture(scope="module", params=sorted(ENGINES))
def attached(request: pytest.FixtureRequest, base_image: str) -> Iterator[Place]:
    suite, store = ENGINES[request.param]
    with place(base_image, suite=suite, store=store) as made:
        yield made


@pytest.fixture(scope="module", params=["trixie", "sid"])
def bare(request: pytest.FixtureRequest, base_image: str) -> Iterator[Place]:
    """An engine without the toolkit that reads CDI specifications."""
    with place(base_image, suite=request.param, toolkit=False) as made:
        yield made


@pytest.fixture(autouse=True)
def _as_installed(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "attached" in request.fixturenames:
        made = request.getfixturevalue("attached")
        made.cards.install()
        made.cards.describe()


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """The least that the runtime runs: a program that says that it trains."""
    folder = tmp_path / "bundle"
    lay_runtime(folder)
    (folder / "code").mkdir()
    (folder / "code" / "train.py").write_text("print('training')\n")
    spec = {"command": ["python", "train.py"], "protocol": {}}
    (folder / "protocol.json").write_text(json.dumps(spec))
    return folder


def test_a_device_request_names_compute_and_utility(attached: Place, bundle: Path, tmp_path: Path) -> None:
    ended = attached.runs("0,1", bundle, tmp_path / "run")
    assert attached.cards.asked() == {
        "NVIDIA_VISIBLE_DEVICES": "0,1",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
    }
    assert ended.exit.obtained["gpus"] == "0,1 by request"
    cards = ended.record.devices["cards"]
    assert [card["uuid"] for card in cards] == [uuid(0), uuid(1)]
    assert ended.record.devices["driver"] == "535.104.05"
    assert (ended.attempt / "log.txt").read_text() == "training\n"


@pytest.mark.parametrize("asked", ["all", "1", uuid(1), f"0,{uuid(1)}"])
def test_cdi_goes_first_where_the_device_is_described(
    attached: Place, bundle: Path, tmp_path: Path, asked: str
) -> None:
    attached.cards.describe(0, 1)
    ended = attached.runs(asked, bundle, tmp_path / "run")
    assert ended.exit.obtained["gpus"] == f"{asked} by cdi"
    seen = {card["uuid"] for card in ended.record.devices["cards"]}
    assert seen == ({uuid(1)} if asked in ("1", uuid(1)) else {uuid(0), uuid(1)})


FEWER = [
    ((), "all", 0, "0 of 1 GPUs visible"),
    ((0, 1), "all", 8, "2 of 8 GPUs visible"),
    ((0,), "0,1", 0, "1 of 2 GPUs visible"),
    ((0,), uuid(1), 0, f"1 of 1 GPUs visible; no {uuid(1)}"),
]


@pytest.mark.parametrize(("gives", "asked", "count", "found"), FEWER)
def test_nothing_is_trained_on_fewer_cards_than_asked(
    attached: Place, bundle: Path, tmp_path: Path, gives: tuple[int, ...], asked: str, count: int, found: str
) -> None:
    attached.cards.gives(*gives)
    with pytest.raises(ReproError) as caught:
        attached.runs(asked, bundle, tmp_path / "run", count)
    assert caught.value.code == "run-refused"
    assert caught.value.found == (f"gate gpus: {found}",)
    assert "repro explain live-gpus" in caught.value.tries
    attempt = tmp_path / "run" / "attempt-1"
    assert not (attempt / "log.txt").exists()
    assert json.loads((attempt / "run.json").read_text())["status"] == "refused"
    assert not (tmp_path / "run" / "result.json").exists()


CLI = "Auto-detected mode as 'legacy'\nnvidia-container-cli: "
HOOK_TEXTS = [
    (
        "requirement error: unsatisfied condition: cuda>=12.4, please update your driver to a newer version",
        "older",
    ),
    ("requirement error: unsatisfied condition: arch!=7.0", "GPU of this kind"),
    ("device error: 7: unknown device", "no GPU of that index"),
    ("initialization error: nvml error: driver not loaded", "not loaded"),
    (
        "initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file",
        "not loaded",
    ),
    ("initialization error: nvml error: driver/library version mismatch", "old kernel module"),
    (
        "mount error: add device rules: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted",
        "rootless",
    ),
    ("a text that nobody has seen", "refused"),
]


@pytest.mark.parametrize(("text", "cause"), HOOK_TEXTS)
def test_what_the_toolkits_hook_says_has_a_cause(attached: Place, text: str, cause: str) -> None:
    attached.cards.refuses(CLI + text)
    error = attached.refusal("all")
    assert cause in error.message
    assert text in "\n".join(error.found)
    assert error.tries[-1].startswith("repro run BUNDLE --gpus none")


def test_a_number_and_names_at_once_are_refused(attached: Place) -> None:
    both = DeviceRequest(count=1, device_ids=["0"], capabilities=[["gpu"]])
    assert "takes one of the two" in attached.explained({"device_requests": [both]})


def test_without_the_toolkit_a_request_has_a_cause(bare: Place) -> None:
    bare.cards.describe()
    error = bare.refusal("all")
    assert "no CDI device has that name, and the engine has no NVIDIA runtime" in error.message
    assert any("unresolvable CDI devices nvidia.com/gpu=all" in line for line in error.found)
    assert any("could not select device driver" in line for line in error.found)
    assert any("nvidia-container-toolkit" in line for line in error.tries)


def test_cdi_alone_is_enough(bare: Place, bundle: Path, tmp_path: Path) -> None:
    bare.cards.install()  # a hook that comes after the engine's start is not known to it
    bare.cards.describe(0)
    assert bare.runs("0", bundle, tmp_path / "run").exit.obtained["gpus"] == "0 by cdi"
    assert "no CDI device has that name" in bare.refusal("7").message


# What could be asked of an engine that has neither CDI nor the toolkit, and the cause of its refusal.
ASKED = [
    (
        {"device_requests": [DeviceRequest(driver="cdi", device_ids=["nvidia.com/gpu=0"])]},
        "CDI is not enabled",
    ),
    ({"device_requests": [DeviceRequest(driver="nvidia", count=-1, capabilities=[["gpu"]])]}, "not set up"),
    ({"device_requests": [DeviceRequest(count=-1)]}, "not set up"),
    ({"devices": ["nvidia.com/gpu=0"]}, "took the CDI name of a GPU for a path"),
    ({"runtime": "nvidia"}, "not set up"),
]


def test_an_engine_without_cdi_and_toolkit_wants_the_toolkit(base_image: str) -> None:
    with place(base_image, cdi=False, toolkit=False) as made:
        assert "NVIDIA Container Toolkit is not set up" in made.refusal("0").message
        for asked, cause in ASKED:
            assert cause in made.explained(asked)
        for left in made.engine.client.containers.list(all=True):
            left.remove()


def test_a_podman_that_drops_every_request_is_not_asked(base_image: str) -> None:
    with place(base_image, suite="bookworm", program="podman") as made:
        made.cards.describe(0, 1)
        asked = DeviceRequest(driver="cdi", device_ids=["nvidia.com/gpu=all"])
        # What must not happen: it runs, without a card and without a word.
        look = ["sh", "-c", "ls /opt/cards || echo none"]
        said = made.engine.client.containers.run(
            made.image, look, device_requests=[asked], network_mode="none", stderr=False, remove=True
        )
        assert said == b"none\n"
        error = made.refusal("all")
        assert "would start the container without the cards" in error.message
        assert error.found == ("Podman 4.3.1",)


def test_a_podman_that_heeds_cdi_is_asked_that_way_alone(
    base_image: str, bundle: Path, tmp_path: Path
) -> None:
    with place(base_image, suite="trixie", program="podman") as made:
        made.cards.describe(0, 1)
        ended = made.runs("1", bundle, tmp_path / "run")
        assert ended.exit.obtained["gpus"] == "1 by cdi"
        assert [card["uuid"] for card in ended.record.devices["cards"]] == [uuid(1)]
        assert "no CDI device of this machine has that name" in made.refusal("7").message
