"""A small bundle made by hand, with a wheel, links in its evaluation set, and an image of three layers."""

import io
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pytest

from repro import bundle as bundles
from repro import move, oci, paths, tarball
from repro.bundle import Bundle
from repro.events import silent
from repro.files import sha256_bytes, write_whole
from repro.image import image_tag
from repro.model import canonical
from repro.model.bundle import Base, Identity, RunSpec
from repro.model.image import ImageContent, LayerRecord
from repro.model.lock import Lock, Wheel
from repro.model.snapshot import EvalSet, FileEntry, ParamSet, Snapshot
from repro.move import Packed, Wish

CREATED = "2035-01-01T00:00:00Z"  # late: of many images an engine is asked about the newest alone
SPARE = ["base/oci-layout", "wheels/six-1-py3-none-any.whl"]  # what a thin file leaves out
REQUIREMENTS = b"six==1.17.0\n"


@dataclass(frozen=True)
class Sample:
    """A bundle, and its image with the layers in the cache."""

    bundle: Bundle
    image: oci.OciImage

    @property
    def top(self) -> str:
        return self.bundle.path.name

    def wish(self, **changes: object) -> Wish:
        manifest = self.bundle.manifest
        tag = image_tag(manifest.name, manifest.id)
        wish = Wish(folder=self.bundle.path, manifest=manifest, image=self.image, tag=tag)
        return replace(wish, **changes)  # type: ignore[arg-type]

    def packed(self, folder: Path, **changes: object) -> Packed:
        target = folder / f"{self.top}{move.THIN_SUFFIX if changes.get('held') else move.SUFFIX}"
        return move.pack(self.wish(**changes), target, silent)


def make_image(label: str, code: bytes = b"print(1)\n", size: int = 2000) -> oci.OciImage:
    """An image of three layers: two that all have, and the code."""
    blobs = oci.Blobs(paths.cache())
    held = []
    for name, data in (("base", bytes(size)), ("opt/env", bytes(range(250)) * (size // 250)), ("code", code)):
        out = io.BytesIO()
        tarball.write(out, [tarball.Member(f"{name}/file", data)])
        held.append(blobs.put(out.getvalue()))
    config = {"Labels": {"dev.reprobundle": "1", "dev.reprobundle.id": label}, "Cmd": ["/never"]}
    made = oci.make(config, held, architecture="amd64", created=CREATED, history=["a", "b", "c"])
    for data in (made.config, made.manifest):
        blobs.put(data)
    return made


def content_of(image: oci.OciImage) -> ImageContent:
    roles = ("base", "env", "code")
    layers = [
        LayerRecord(digest=layer.digest, bytes=layer.bytes, role=role)  # type: ignore[arg-type]
        for layer, role in zip(image.layers, roles, strict=True)
    ]
    return ImageContent(
        config=image.config_digest, manifest=image.manifest_digest, tree="sha256:" + "0" * 64, layers=layers
    )


def make_bundle(home: Path, name: str = "tiny", code: bytes = b"print(1)\n", size: int = 2000) -> Sample:
    """The bundle's folder below `home`, named as `repro build` names it."""
    folder = home / "making"
    wheel = bytes(size) + b"wheel"
    evals = {"eval/data/a.csv": b"a,b\n1,2\n", "eval/data/deep/b.csv": b"2\n"}
    links = {"eval/data/link.csv": "a.csv", "eval/data/deep/up.csv": "../a.csv"}
    spare = {SPARE[0]: b"{}\n", SPARE[1]: wheel}
    for path, data in {**evals, **spare, "code.tar": code}.items():
        write_whole(folder / path, data)
    for path, text in links.items():
        (folder / path).symlink_to(text)
    (folder / "params").mkdir()
    write_whole(folder / "Dockerfile", b"FROM scratch\n")
    write_whole(folder / "requirements.lock", REQUIREMENTS)
    parts = _parts(name, code, wheel, evals)
    for path, part in parts.items():
        write_whole(folder / path, canonical.pretty(part))
    base = Base(asked="", used="x", id="sha256:b")
    identity = bundles.identity_of(
        snapshot=parts["snapshot.json"],
        params=parts["params.json"],
        evalset=parts["eval.json"],
        spec=parts["protocol.json"],
        lock=parts["lock.json"],
        base=base,
    )
    assert isinstance(identity, Identity)
    image = make_image(identity.id, code, size)
    manifest = bundles.assemble(folder, name=name, identity=identity, base=base)
    manifest = msgspec.structs.replace(manifest, image=content_of(image))
    write_whole(folder / "bundle.json", canonical.pretty(manifest))
    target = home / f"{name}-{identity.id[:12]}"
    folder.rename(target)
    return Sample(bundles.open_bundle(target), image)


def _parts(name: str, code: bytes, wheel: bytes, evals: dict[str, bytes]) -> dict[str, object]:
    return {
        "snapshot.json": Snapshot(
            commit="c" * 40,
            branch="main",
            commit_time=1700000000,
            tree=sha256_bytes(code)[:40],
            subfolder="",
            num_files=1,
            code_sha256=sha256_bytes(code),
        ),
        "params.json": ParamSet(file="", source_sha256="", values={"lr": 0.1}),
        "eval.json": EvalSet(
            path="eval",
            files=[
                FileEntry(path=path.removeprefix("eval/"), bytes=len(data), sha256=sha256_bytes(data))
                for path, data in evals.items()
            ],
        ),
        "protocol.json": RunSpec(
            name=name,
            command=["python", "train.py"],
            params_file="",
            eval_path="eval",
            subfolder="",
            metrics="metrics.json",
            rows="",
            log={},
            checkpoint_dir="{out}",
            resume=[],
            protocol={"precision": "fp32"},
        ),
        "lock.json": Lock(
            python="3.11",
            platform="linux_x86_64",
            libc="glibc 2.36",
            resolver="pip-tools",
            inputs={},
            inputs_sha256="1" * 64,
            requirements_sha256=sha256_bytes(REQUIREMENTS),
            wheels=[
                Wheel(
                    name="six",
                    version="1",
                    file="six-1-py3-none-any.whl",
                    sha256=sha256_bytes(wheel),
                    bytes=len(wheel),
                    origin="local",
                )
            ],
        ),
    }


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return make_bundle(tmp_path / "sender" / ".repro")
