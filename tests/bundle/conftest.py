"""A bundle made by hand, with all parts and no project behind it."""

from pathlib import Path

import pytest

from repro import bundle as bundles
from repro.bundle import Bundle
from repro.files import sha256_bytes, write_whole
from repro.model import canonical
from repro.model.bundle import Base, Identity, RunSpec
from repro.model.lock import Lock, Wheel
from repro.model.snapshot import EvalSet, FileEntry, ParamSet, Snapshot


def make_bundle(folder: Path, lr: float = 0.1) -> Bundle:
    eval_data = b"a,b\n1,2\n"
    parts: dict[str, object] = {
        "snapshot.json": Snapshot(
            commit="c" * 40,
            branch="main",
            commit_time=1700000000,
            tree="t" * 40,
            subfolder="",
            num_files=1,
            code_sha256=sha256_bytes(b"tar"),
        ),
        "params.json": ParamSet(file="params.json", source_sha256="0" * 64, values={"lr": lr}),
        "eval.json": EvalSet(
            path="eval",
            files=[FileEntry(path="eval/a.csv", bytes=len(eval_data), sha256=sha256_bytes(eval_data))],
        ),
        "protocol.json": RunSpec(
            name="tiny",
            command=["python", "train.py"],
            params_file="params.json",
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
            requirements_sha256="2" * 64,
            wheels=[
                Wheel(
                    name="torch", version="2.13.0+cpu", file="t.whl", sha256="3" * 64, bytes=5, origin="local"
                )
            ],
        ),
    }
    for name, part in parts.items():
        write_whole(folder / name, canonical.pretty(part))
    write_whole(folder / "code.tar", b"tar")
    write_whole(folder / "eval" / "a.csv", eval_data)
    identity = bundles.identity_of(
        snapshot=parts["snapshot.json"],
        params=parts["params.json"],
        evalset=parts["eval.json"],  # type: ignore[arg-type]
        spec=parts["protocol.json"],
        lock=parts["lock.json"],
        base=Base(asked="", used="x", id="sha256:b"),  # type: ignore[arg-type]
    )
    assert isinstance(identity, Identity)
    bundles.assemble(folder, name="tiny", identity=identity, base=Base(asked="", used="x", id="sha256:b"))
    return bundles.open_bundle(folder)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return make_bundle(tmp_path / ".repro" / "tiny-000000000000")
