"""A tiny bundle, laid by hand: one wheel, a train.py, parameters, an evaluation set, the real runtime."""

import ensurepip
import hashlib
import io
import shutil
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from repro import image, tarball
from repro.bundle import lay_runtime
from repro.engine.contract import ImageInfo
from repro.engine.docker import DockerEngine
from repro.files import sha256_file, write_whole
from repro.image.base.layers import inherited
from repro.model import canonical
from repro.model.bundle import Base, Identity, Manifest, RunSpec
from repro.model.lock import Lock, Wheel
from repro.model.snapshot import EvalSet, FileEntry, ParamSet, Snapshot

TRAIN = """
import json, os, socket, sys, tinydep
out = sys.argv[1]
with open(os.path.join(out, "metrics.json"), "w") as f:
    json.dump({"acc": 0.5}, f)
lr = json.load(open(sys.argv[2]))["lr"]
print("training with", tinydep.WORD, "lr", lr, "as", os.getuid(), flush=True)
print("eval", open("eval/items.txt").read().strip(), flush=True)
try:
    socket.create_connection(("192.0.2.1", 80), 1)
except OSError:
    print("no network", flush=True)
sys.exit(int(os.environ.get("END_AS", "0")))
"""


def wheel(
    folder: Path, name: str = "tinydep", code: str = "WORD = 'tinydep-1.0'\n", shared: str = ""
) -> Wheel:
    """A pure wheel, made by hand; `shared` names one more module in it."""
    file = f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    members = {
        f"{name}.py": code,
        **({f"{shared}.py": code} if shared else {}),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/top_level.txt": f"{name}\n",
    }
    members[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*members, f"{info}/RECORD"])
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, text in members.items():
            archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), text)
    write_whole(folder / file, data.getvalue())
    return _locked(folder / file, name, "1.0")


def pip_wheel(folder: Path) -> Wheel:
    """The pip that comes with this Python."""
    places = [Path(ensurepip.__file__).parent / "_bundled", Path("/usr/share/python-wheels")]
    source = next(path for place in places for path in sorted(place.glob("pip-*.whl")))
    shutil.copyfile(source, folder / source.name)
    return _locked(folder / source.name, "pip", source.name.split("-")[1])


def _locked(path: Path, name: str, version: str) -> Wheel:
    size = path.stat().st_size
    return Wheel(
        name=name, version=version, file=path.name, sha256=sha256_file(path), bytes=size, origin="local"
    )


@dataclass(frozen=True)
class Tiny:
    """A bundle's folder, with what describes it."""

    folder: Path
    manifest: Manifest
    lock: Lock
    snapshot: Snapshot
    evalset: EvalSet

    def contents(self, arch_list: str = "") -> image.Contents:
        return image.Contents(self.folder, self.manifest, self.lock, self.snapshot, self.evalset, arch_list)

    def edited(self, code: str) -> "Tiny":
        """The same bundle after an edit of train.py."""
        return lay(self.folder, self.manifest.base, self.manifest.name, code)

    def with_lock(self, lock: Lock) -> "Tiny":
        image.lay(self.folder, self.manifest, lock, self.snapshot)
        return replace(self, lock=lock)


@contextmanager
def laid(engine: DockerEngine, base_image: str, folder: Path) -> Iterator[Tiny]:
    """A bundle of its own name; the images that are made of it go in the end."""
    held = engine.find(base_image)
    assert held is not None
    name = f"test-{uuid.uuid4().hex[:10]}"
    try:
        yield lay(folder / "bundle", base_of(held, base_image), name)
    finally:
        for found in engine.client.images.list(name=f"repro/{name}"):
            engine.client.api.remove_image(found.id, force=True)
        stages = {"dangling": True, "label": f"dev.reprobundle.stage={name}"}
        for found in engine.client.images.list(filters=stages):
            engine.client.api.remove_image(found.id)


def base_of(held: ImageInfo, used: str) -> Base:
    return Base(
        asked=used,
        used=used,
        id=held.id,
        layers=list(held.layers),
        config=inherited(held),
        architecture=held.architecture,
    )


def lay(folder: Path, base: Base, name: str, code: str = TRAIN) -> Tiny:
    """Write the bundle's files."""
    wheels = folder / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    locked, installer = wheel(wheels), pip_wheel(wheels)
    requirements = f"tinydep==1.0 --hash=sha256:{locked.sha256}\n".encode()
    write_whole(folder / "requirements.lock", requirements)
    with (folder / "code.tar").open("wb") as out:
        tarball.write(out, [tarball.Member("code/train.py", code.encode())])
    write_whole(folder / "params" / "params.json", b'{"lr": 0.5}\n')
    write_whole(folder / "eval" / "eval" / "items.txt", b"one two three\n")
    spec = RunSpec(
        name=name,
        command=["python", "train.py", "{out}", "{params}"],
        params_file="params.json",
        eval_path="eval",
        subfolder="",
        metrics="metrics.json",
        rows="",
        log={},
        checkpoint_dir="{out}",
        resume=[],
        protocol={},
    )
    entries = [path for path in (folder / "eval").rglob("*") if path.is_file()]
    evalset = EvalSet(path="eval", files=[_entry(path, folder / "eval") for path in entries])
    params = ParamSet(file="params.json", source_sha256="", values={"lr": 0.5})
    snapshot = Snapshot(
        commit="a" * 40,
        branch="main",
        commit_time=1_700_000_000,
        tree="b" * 40,
        subfolder="",
        num_files=1,
        code_sha256=sha256_file(folder / "code.tar"),
    )
    identity = Identity(
        tree=hashlib.sha256(code.encode()).hexdigest(),
        patch="",
        lock=hashlib.sha256(requirements).hexdigest(),
        params="p",
        eval="e",
        protocol=canonical.digest(spec),
        base=base.id,
        runtime="r",
    )
    manifest = Manifest(id=identity.id, name=name, tool="", identity=identity, base=base, files=[])
    words = {"id": identity.id, "name": name, "identity": identity}
    records = {"protocol": spec, "eval": evalset, "params": params, "snapshot": snapshot, "identity": words}
    for record, value in records.items():
        write_whole(folder / f"{record}.json", canonical.pretty(value))
    if not (folder / "repro_runtime").exists():
        lay_runtime(folder)
    stack = {"schema": 1, "torch": None, "targets": [], "allowed": False}
    write_whole(folder / "stack.json", canonical.pretty(stack))
    lock = Lock(
        python="3.11",
        platform="linux_x86_64",
        libc="glibc 2.36",
        resolver="by hand",
        inputs={},
        inputs_sha256="",
        requirements_sha256=identity.lock,
        wheels=[locked],
        installer=installer,
    )
    image.lay(folder, manifest, lock, snapshot)
    return Tiny(folder, manifest, lock, snapshot, evalset)


def _entry(path: Path, root: Path) -> FileEntry:
    return FileEntry(path=str(path.relative_to(root)), bytes=path.stat().st_size, sha256=sha256_file(path))
