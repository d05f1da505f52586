"""Bundles built by a real engine: what runs, what changes, what is refused."""

import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pytest

from repro import image
from repro.engine.contract import Bind, Exit, Job
from repro.engine.docker import DockerEngine
from repro.errors import ReproError
from repro.events import Progress, Sink, silent
from repro.files import sha256_bytes
from repro.image.layers import inside
from repro.model.bundle import ImageRecord

from . import bundles

pytestmark = pytest.mark.docker
ORDINARY = 1000


@dataclass(frozen=True)
class Built:
    tiny: bundles.Tiny
    made: image.Made
    events: list[object]

    @property
    def record(self) -> ImageRecord:
        return self.made.record


@pytest.fixture(scope="module")
def built(engine: DockerEngine, base_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """One bundle built once, for the tests that only look at it."""
    with bundles.laid(engine, base_image, tmp_path_factory.mktemp("built")) as tiny:
        seen: list[object] = []
        yield Built(tiny, made(tiny, engine, seen.append), seen)


def build(tiny: bundles.Tiny, engine: DockerEngine, sink: Sink = silent) -> ImageRecord:
    return made(tiny, engine, sink).record


def made(tiny: bundles.Tiny, engine: DockerEngine, sink: Sink = silent, arch_list: str = "") -> image.Made:
    return image.build(tiny.contents(arch_list), engine, sink)


def run(engine: DockerEngine, reference: str, out: Path, **more: object) -> tuple[Exit, str]:
    pieces: list[bytes] = []
    ended = engine.run(Job(reference, (), binds=(Bind(out, "/out", True),), **more), pieces.append)
    return ended, b"".join(pieces).decode()


@pytest.fixture
def out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    if os.getuid() == 0:
        os.chown(folder, ORDINARY, ORDINARY)
        monkeypatch.setattr(os, "getuid", lambda: ORDINARY)
        monkeypatch.setattr(os, "getgid", lambda: ORDINARY)
    return folder


def test_a_bundle_runs_by_itself(engine: DockerEngine, built: Built, out: Path) -> None:
    tiny, made = built.tiny, built.record
    assert made.tag == image.image_tag(tiny.manifest.name, tiny.manifest.id)
    loading = [e for e in built.events if isinstance(e, Progress) and e.what == "loading"]
    assert loading[-1].done == loading[-1].total > 0
    ended, said = run(engine, made.id, out)
    assert ended.status == 0, said
    assert f"training with tinydep-1.0 lr 0.5 as {os.getuid()}" in said
    assert "eval one two three" in said
    assert "no network" in said
    record = next(out.rglob("run.json"))
    assert json.loads(record.read_text())["bundle"]["id"] == tiny.manifest.id
    assert {path.stat().st_uid for path in out.rglob("*")} == {os.getuid()}
    failed, _said = run(engine, made.id, out, env={"END_AS": "9"})
    assert failed.status == 9


LOOK = """
import json, sys
sys.path.insert(0, "/opt/repro")
from repro_runtime.vendor import pynvml
print(pynvml.__file__, json.load(open("/opt/repro/bundle/stack.json"))["schema"])
"""


def test_the_reader_of_cards_and_the_stack_travel(engine: DockerEngine, built: Built, out: Path) -> None:
    pieces: list[bytes] = []
    job = Job(built.record.id, ("-c", LOOK), entrypoint=("/opt/env/bin/python",))
    assert engine.run(job, pieces.append).status == 0, pieces
    assert b"".join(pieces) == b"/opt/repro/repro_runtime/vendor/pynvml.py 1\n"
    ended, said = run(engine, built.record.id, out)
    assert ended.status == 0, said
    gates = json.loads(next(out.rglob("gates.json")).read_text())["gates"]
    card = next(row for row in gates if row["name"] == "card")
    assert (card["status"], card["reason"]) == (
        "skipped",
        "no NVIDIA card is here, and the bundle asks for none",
    )


def test_the_list_of_targets_is_set_in_the_container(engine: DockerEngine, tiny: bundles.Tiny) -> None:
    made_ = made(tiny, engine, arch_list="8.0;8.6;9.0+PTX").record
    pieces: list[bytes] = []
    look = "import os; print(os.environ['TORCH_CUDA_ARCH_LIST'])"
    assert (
        engine.run(Job(made_.id, ("-c", look), entrypoint=("/opt/env/bin/python",)), pieces.append).status
        == 0
    )
    assert b"".join(pieces) == b"8.0;8.6;9.0+PTX\n"


def test_a_second_build_is_none(engine: DockerEngine, built: Built) -> None:
    seen: list[object] = []
    known = msgspec.structs.replace(built.tiny.manifest, image=built.made.content)
    again = made(replace(built.tiny, manifest=known), engine, seen.append)
    assert (again.record, again.content) == (built.record, built.made.content)
    assert again.held == len(again.content.layers)
    assert seen == []


def test_other_content_than_the_manifest_names_is_refused(engine: DockerEngine, built: Built) -> None:
    digests = {"config": "sha256:" + "1" * 64, "manifest": "sha256:" + "2" * 64}
    other = msgspec.structs.replace(built.made.content, **digests)
    changed = replace(built.tiny, manifest=msgspec.structs.replace(built.tiny.manifest, image=other))
    with pytest.raises(ReproError) as caught:
        made(changed, engine)
    assert caught.value.code == "image-differs"


def test_one_edited_line_is_one_small_layer(engine: DockerEngine, tiny: bundles.Tiny) -> None:
    before = build(tiny, engine)
    after = build(tiny.edited(bundles.TRAIN.replace("training with", "now training with")), engine)
    assert before.id != after.id
    changed = [new for old, new in zip(before.layers, after.layers, strict=True) if old != new]
    assert changed == after.layers[-1:]
    history = engine.client.api.history(after.id)
    sizes = [row["Size"] for row in history if row["Size"]]
    assert sizes[0] < 1_000_000


def test_labels_and_environment(engine: DockerEngine, built: Built) -> None:
    tiny, made = built.tiny, built.record
    config = engine.client.api.inspect_image(made.id)["Config"]
    assert config["Entrypoint"] == ["/opt/env/bin/python", "-m", "repro_runtime"]
    assert config["Cmd"] == ["run"]
    assert config["WorkingDir"] == "/opt/repro"
    assert config["Labels"]["dev.reprobundle.id"] == tiny.manifest.id
    assert config["Labels"]["org.opencontainers.image.created"] == "2023-11-14T22:13:20Z"
    assert config["Labels"]["org.opencontainers.image.revision"] == "a" * 40
    assert "PYTHONDONTWRITEBYTECODE=1" in config["Env"]
    assert not any(line.startswith("PYTHONHASHSEED") for line in config["Env"])
    assert os.uname().nodename not in json.dumps(config["Labels"])


def lines(engine: DockerEngine, reference: str) -> list[image.Line]:
    with engine.export(reference) as root:
        return list(image.tree_lines(root))


def clients() -> list[tuple[str, str]]:
    """Command lines of docker on this machine, with BuildKit where one has it built in."""
    found = [("docker", "0")]
    old = Path("/usr/bin/docker")
    if (
        old.exists()
        and b"20.10" in subprocess.run([old, "version"], capture_output=True, check=False).stdout[:200]
    ):
        found.append((str(old), "1"))
    return found


def test_plain_docker_build_gives_the_same_files(engine: DockerEngine, built: Built) -> None:
    tiny, wanted = built.tiny, built.made.content.tree
    own = lines(engine, built.record.id)
    assert image.tree_digest(own) == wanted
    assert "opt/repro/bundle/code/train.py" in {line.path for line in own}
    for number, (client, buildkit) in enumerate(clients()):
        tag = f"repro/{tiny.manifest.name}:plain-{number}"
        done = subprocess.run(
            [client, "build", "--no-cache", "--network", "none", "--tag", tag, "."],
            cwd=tiny.folder,
            env=os.environ | {"DOCKER_BUILDKIT": buildkit},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found = lines(engine, tag)
        assert image.differences(found, own) == []
        assert image.tree_digest(found) == wanted
        shown = subprocess.run(
            [client, "run", "--rm", tag, "--help"], capture_output=True, text=True, check=False
        )
        assert shown.returncode == 0, shown.stderr


def test_what_only_pip_can_lay_is_laid_by_pip(engine: DockerEngine, tiny: bundles.Tiny) -> None:
    """Two wheels with one file: pip decides, in a container, and a plain build finds the same files."""
    wheels = tiny.folder / "wheels"
    words = [
        bundles.wheel(wheels, name, f"WORD = '{name}'\n", shared="both") for name in ("tinydep", "tinytwo")
    ]
    text = "".join(f"{w.name}==1.0 --hash=sha256:{w.sha256}\n" for w in words)
    (tiny.folder / "requirements.lock").write_text(text)
    lock = msgspec.structs.replace(tiny.lock, wheels=words, requirements_sha256=sha256_bytes(text.encode()))
    changed, seen = tiny.with_lock(lock), []
    first = made(changed, engine, seen.append)
    assert any("made by pip, in a container" in getattr(event, "text", "") for event in seen)
    assert [layer.role for layer in first.content.layers].count("wheel") == 0
    tag = f"repro/{tiny.manifest.name}:by-hand"
    words_ = ["docker", "build", "--no-cache", "--network", "none", "-q", "-t", tag, "."]
    subprocess.run(words_, cwd=tiny.folder, capture_output=True, check=True)
    assert image.tree_digest(lines(engine, tag)) == first.content.tree


def test_a_wheel_that_is_not_the_locked_one(engine: DockerEngine, tiny: bundles.Tiny) -> None:
    # New content each time: layers of wheels that were made before do not read the file again.
    locked = bundles.wheel(tiny.folder / "wheels", code=f"WORD = '{uuid.uuid4()}'\n")
    tiny = tiny.with_lock(msgspec.structs.replace(tiny.lock, wheels=[locked]))
    bundles.wheel(tiny.folder / "wheels", code="WORD = 'other'\n")
    with pytest.raises(ReproError) as caught:
        build(tiny, engine)
    assert caught.value.code == "wheel-not-locked"
    assert engine.find(image.image_tag(tiny.manifest.name, tiny.manifest.id)) is None


def test_a_broken_runtime_is_no_good_image(engine: DockerEngine, tiny: bundles.Tiny) -> None:
    (tiny.folder / "repro_runtime" / "__main__.py").write_text("raise SystemExit('broken')\n")
    with pytest.raises(ReproError) as caught:
        build(tiny, engine)
    assert caught.value.code == "image-runtime-failed"
    assert engine.find(image.image_tag(tiny.manifest.name, tiny.manifest.id)) is None


def test_a_missing_library_names_its_package(engine: DockerEngine, tiny: bundles.Tiny) -> None:
    code = "raise ImportError('libGL.so.1: cannot open shared object file: No such file or directory')\n"
    made = bundles.wheel(tiny.folder / "wheels", code=code)
    (tiny.folder / "requirements.lock").write_text(f"tinydep==1.0 --hash=sha256:{made.sha256}\n")
    # Only packages with native code are tried; the file's name is what says so.
    native = msgspec.structs.replace(made, file=made.file.replace("none-any", "abi3-linux_x86_64"))
    (tiny.folder / "wheels" / made.file).rename(tiny.folder / "wheels" / native.file)
    changed = tiny.with_lock(msgspec.structs.replace(tiny.lock, wheels=[native]))
    with pytest.raises(ReproError) as caught:
        build(changed, engine)
    assert caught.value.code == "image-import-failed"
    assert 'system = ["libgl1"]' in caught.value.tries[0]


def test_another_base_under_the_same_name(engine: DockerEngine, tiny: bundles.Tiny) -> None:
    base = msgspec.structs.replace(tiny.manifest.base, layers=["sha256:" + "0" * 64])
    other = replace(tiny, manifest=msgspec.structs.replace(tiny.manifest, base=base))
    with pytest.raises(ReproError) as caught:
        build(other, engine)
    assert caught.value.code == "base-changed"


@pytest.mark.net
def test_debian_packages_are_installed_and_said(engine: DockerEngine, tiny: bundles.Tiny) -> None:
    seen: list[object] = []
    for held in engine.client.images.list(name="repro-system"):  # of an earlier run: then nothing is fetched
        engine.client.api.remove_image(held.id, force=True)
    wanted = tiny.with_lock(msgspec.structs.replace(tiny.lock, system=["libgl1"]))
    made = build(wanted, engine, seen.append)
    assert any("as they are today" in getattr(event, "text", "") for event in seen)
    pieces: list[bytes] = []
    code = "import ctypes; ctypes.CDLL('libGL.so.1'); print('loaded')"
    engine.run(Job(made.id, ("-c", code), entrypoint=("python3",)), pieces.append)
    assert b"".join(pieces) == b"loaded\n"


def test_a_base_that_makes_no_environment_says_why(
    engine: DockerEngine, tiny: bundles.Tiny, tmp_path: Path
) -> None:
    """The words of what failed in the container, not that a file of its is missing."""
    base, broken = tiny.manifest.base.id, ["install", "--no-index", "no-such-package"]
    with pytest.raises(ReproError) as caught:
        inside.make(engine, base, tmp_path, {}, environment=True, pip=[broken])
    assert caught.value.code == "layer-make-failed"
    assert any("no-such-package" in line for line in caught.value.found)
