"""Images in a real engine: loaded, built, named, not found."""

import io
import os
import tarfile
import threading
from pathlib import Path

import pytest

from repro import oci
from repro.engine import loading
from repro.engine.docker import DockerEngine
from repro.errors import ReproError
from repro.events import Progress, silent

from .conftest import Mine

pytestmark = pytest.mark.docker


def tar_of(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_a_root_gives_the_same_id_for_the_same_bytes(engine: DockerEngine, mine: Mine) -> None:
    root, config = tar_of({"etc/hello": b"world"}), {"Env": ["A=b"], "Labels": {"x": "y"}}
    first = engine.load_root(io.BytesIO(root), mine.tag, config)
    engine.remove(mine.tag)
    assert engine.find(mine.tag) is None
    reader, writer = os.pipe()

    def write() -> None:
        with os.fdopen(writer, "wb") as out:
            out.write(root)

    threading.Thread(target=write, daemon=True).start()
    with os.fdopen(reader, "rb") as source:
        second = engine.load_root(source, mine.tag, config)
    assert first.id == second.id
    assert first.labels == {"dev.reprobundle": "1", "x": "y"}
    other = engine.load_root(io.BytesIO(tar_of({"etc/hello": b"moon"})), mine.tag, config)
    assert other.id != first.id
    engine.remove(first.id)


def test_a_name_more_and_a_name_less(engine: DockerEngine, mine: Mine) -> None:
    made = engine.load_root(io.BytesIO(tar_of({"a": b"b"})), mine.tag, {})
    engine.tag(made.id, f"{mine.tag}-2")
    assert engine.find(f"{mine.tag}-2").id == made.id
    engine.remove(f"{mine.tag}-2")
    engine.remove(f"{mine.tag}-2")
    assert engine.find(mine.tag).id == made.id
    assert engine.find(made.id[7:19]).id == made.id


def test_a_failing_build_names_instruction_and_lines(
    engine: DockerEngine, base_image: str, mine: Mine
) -> None:
    dockerfile = f"FROM {base_image}\nRUN echo before\nRUN echo one; echo two >&2; exit 3\n"
    seen: list[object] = []
    with pytest.raises(ReproError) as caught:
        engine.build(io.BytesIO(tar_of({"Dockerfile": dockerfile.encode()})), mine.tag, seen.append)
    assert caught.value.code == "image-build-failed"
    assert "exit 3" in caught.value.message
    assert {"one", "two"} <= set(caught.value.found)
    assert "before" not in caught.value.found
    assert [(e.done, e.total) for e in seen if isinstance(e, Progress)] == [(1, 3), (2, 3), (3, 3)]
    assert engine.find(mine.tag) is None


def test_a_build_has_no_network(engine: DockerEngine, base_image: str, mine: Mine) -> None:
    look = "RUN ls /sys/class/net > /nets"
    made = engine.build(
        io.BytesIO(tar_of({"Dockerfile": f"FROM {base_image}\n{look}\n".encode()})), mine.tag, silent
    )
    pieces: list[bytes] = []
    from repro.engine.contract import Job

    engine.run(Job(made.id, ("/nets",), entrypoint=("cat",), labels=mine.labels), pieces.append)
    assert b"eth0" not in b"".join(pieces)


def test_an_image_of_nowhere_is_not_pulled(engine: DockerEngine) -> None:
    with pytest.raises(ReproError) as caught:
        engine.pull("127.0.0.1:9/nothing:1", silent)
    assert caught.value.code == "registry-unreachable"
    assert caught.value.found


def test_info_says_what_answered(engine: DockerEngine) -> None:
    info = engine.info()
    assert info.kind in ("docker", "podman")
    assert info.version
    assert info.architecture in ("amd64", "arm64")
    assert "://" in info.endpoint


def test_the_files_of_an_image_stream_out_and_nothing_stays(engine: DockerEngine, mine: Mine) -> None:
    engine.load_root(io.BytesIO(tar_of({"etc/hello": b"world", "big": b"x" * (8 << 20)})), mine.tag, {})
    with engine.export(mine.tag) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        found = {
            m.name: tar.extractfile(m).read() for m in tar if m.isfile() and m.name in ("etc/hello", "big")
        }
    assert found == {"etc/hello": b"world", "big": b"x" * (8 << 20)}
    with engine.export(mine.tag) as stream:
        assert len(stream.read(512)) == 512  # and no more: the container goes all the same
    ours = {"ancestor": mine.tag}
    assert engine.client.containers.list(all=True, filters=ours, ignore_removed=True) == []


def test_an_image_that_is_not_there_cannot_be_exported(engine: DockerEngine) -> None:
    with pytest.raises(ReproError) as caught, engine.export("repro-test:never-made"):
        pass
    assert caught.value.code == "engine-failed"


def parts(engine: DockerEngine) -> list[str]:
    return [tag for held in engine.client.images.list(name="repro-part") for tag in held.tags]


def test_what_has_arrived_stays_when_a_connection_breaks(
    engine: DockerEngine, mine: Mine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = oci.Blobs(tmp_path)
    layers = [blobs.put(tar_of({f"file-{n}": os.urandom(2000)})) for n in range(4)]
    image = oci.make(
        {"Labels": {"dev.reprobundle": "1"}},
        layers,
        architecture=engine.info().architecture,
        created="2026-01-02T03:04:05Z",
        history=["x"] * 4,
    )
    monkeypatch.setattr(loading, "_WORTH_BYTES", 1)
    load, calls = loading._load, []

    def breaking(api: object, part: oci.OciImage, *more: object) -> str:
        calls.append(len(part.layers))
        if len(calls) == 3:
            raise ConnectionError("the line is dead")
        return load(api, part, *more)

    monkeypatch.setattr(loading, "_load", breaking)
    with pytest.raises(ConnectionError):
        loading.load(engine.client.api, image, mine.tag, 0, silent, stepwise=True)
    assert calls == [1, 2, 3]
    assert len(parts(engine)) == 2
    assert engine.held_layers(image) == 2
    calls.append(0)  # the line is mended
    found = loading.load(engine.client.api, image, mine.tag, 2, silent, stepwise=True)
    assert (found, calls[4:]) == (image.config_digest, [3, 4])
    assert parts(engine) == []
    assert engine.held_layers(image) == 4
