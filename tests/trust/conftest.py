"""A bundle laid by hand, whole and small, with a run in it."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from repro import bundle as bundles
from repro.bundle import Bundle
from repro.files import sha256_bytes, sha256_file
from repro.model import canonical
from repro.model.bundle import Base, Manifest, RunSpec
from repro.model.image import ImageContent
from repro.model.lock import Lock, Wheel
from repro.model.snapshot import EvalSet, FileEntry, ParamSet, Patch, Snapshot, Submodule

Lay = Callable[..., Bundle]


def wheel_file(path: Path, members: dict[str, str]) -> Wheel:
    """A wheel with these members; its name and version are those of the file's name."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.getvalue())
    name, version = path.name.split("-")[:2]
    return Wheel(
        name=name.replace("_", "-"),
        version=version,
        file=path.name,
        sha256=sha256_file(path),
        bytes=path.stat().st_size,
        origin=f"https://somebody:pass@index.example.invalid/{path.name}",
    )


@pytest.fixture
def lay(tmp_path: Path) -> Lay:
    """Lays a bundle in the folder of that name, with another parameter where one is given."""

    def make(name: str = "one", *, lr: float = 0.5, image: bool = True) -> Bundle:
        folder = tmp_path / name
        (folder / "eval" / "eval").mkdir(parents=True)
        (folder / "eval" / "eval" / "a.csv").write_text("x,y\n1,2\n")
        (folder / "code.tar").write_bytes(b"no tar, and nobody looks")
        (folder / "requirements.lock").write_text("torch==1.13.1+cu117\n")
        wheels = [
            wheel_file(
                folder / "wheels" / "torch-1.13.1+cu117-cp310-cp310-linux_x86_64.whl",
                {
                    "torch/version.py": "__version__ = '1.13.1+cu117'\ncuda: Optional[str] = '11.7'\n",
                    "torch/lib/libcudart-d0da41ae.so.11.0": "",
                    "torch/lib/libcudnn_cnn_infer.so.8": "",
                    "torch/lib/libtorch_cuda.so": "",
                },
            ),
            wheel_file(
                folder / "wheels" / "nvidia_cublas_cu12-12.1.3.1-py3-none-any.whl",
                {"nvidia/cublas/lib/libcublas.so.12": ""},
            ),
        ]
        entry = FileEntry(path="eval/a.csv", bytes=8, sha256=sha256_bytes(b"x,y\n1,2\n"))
        parts = _Parts(wheels, entry, lr)
        for file, record in parts.documents.items():
            (folder / file).write_bytes(canonical.pretty(record))
        identity = bundles.identity_of(
            snapshot=parts.snapshot,
            params=parts.params,
            evalset=parts.evalset,
            spec=parts.spec,
            lock=parts.lock,
            base=parts.base,
        )
        bundles.assemble(folder, name=name, identity=identity, base=parts.base)
        if image:
            _with_image(folder)
        _run(folder / "runs" / "20260101-000000-one-cpu-abcdef.first")
        return bundles.open_bundle(folder)

    return make


class _Parts:
    def __init__(self, wheels: list[Wheel], entry: FileEntry, lr: float) -> None:
        submodule = Submodule(
            path="lib", url="https://me:secret-word@example.invalid/lib.git", commit="c" * 40
        )
        self.snapshot = Snapshot(
            commit="a" * 40,
            branch="main",
            commit_time=1_767_225_600,
            tree="b" * 40,
            subfolder="",
            num_files=1,
            code_sha256="d" * 64,
            patch=Patch(sha256="e" * 64, bytes=3, changed=["train.py"], untracked=[]),
            submodules=[submodule],
        )
        self.params = ParamSet(file="params.json", source_sha256="", values={"lr": lr})
        self.evalset = EvalSet(path="eval", files=[entry])
        self.lock = Lock(
            python="3.10",
            platform="linux_x86_64",
            libc="glibc 2.36",
            resolver="pip 25",
            inputs={},
            inputs_sha256="",
            requirements_sha256="f" * 64,
            wheels=wheels,
            system=["libgomp1", "ffmpeg"],
        )
        self.base = Base(
            asked="python:3.10",
            used="python:3.10",
            id="sha256:" + "1" * 64,
            layers=["sha256:" + "2" * 64],
            repo_digest="registry.example.invalid/python@sha256:" + "3" * 64,
        )
        self.spec = RunSpec(
            name="one",
            command=["python", "train.py"],
            params_file="params.json",
            eval_path="eval",
            subfolder="",
            eval_command=[],
            metrics="metrics.json",
            rows="",
            log={},
            checkpoint_dir="{out}",
            resume=[],
            protocol={},
        )

    @property
    def documents(self) -> dict[str, object]:
        return {
            "snapshot.json": self.snapshot,
            "params.json": self.params,
            "eval.json": self.evalset,
            "lock.json": self.lock,
            "protocol.json": self.spec,
        }


def _with_image(folder: Path) -> None:
    path = folder / "bundle.json"
    manifest: Manifest = bundles.open_bundle(folder).manifest
    image = ImageContent(config="sha256:" + "4" * 64, manifest="sha256:" + "5" * 64, tree="6" * 64, layers=[])
    document = json.loads(canonical.encode(manifest)) | {"image": json.loads(canonical.encode(image))}
    path.write_bytes(canonical.pretty(document))


def _run(folder: Path) -> None:
    attempt = folder / "attempt-1"
    attempt.mkdir(parents=True)
    run = {
        "schema": 1,
        "attempt": 1,
        "status": "ok",
        "run_id": folder.name,
        "command": ["python", "train.py"],
        "started": (1_767_225_600.25).hex(),
        "ended": (1_767_225_601.5).hex(),
    }
    metrics = {"schema": 1, "values": {"acc": (0.75).hex(), "loss": "nan"}, "source": "metrics.json"}
    (attempt / "run.json").write_text(json.dumps(run))
    (attempt / "metrics.json").write_text(json.dumps(metrics))
    (attempt / "out").mkdir()
    (attempt / "out" / "model.pt").write_bytes(b"\x80weights")
    (attempt / "out" / "stray").symlink_to("/etc/passwd")
    (folder / "result.json").write_text(json.dumps({"schema": 1, "attempt": 1, "status": "ok"}))
    (folder / "host.json").write_text(json.dumps({"order": "4711"}))
