"""What takes space, and what of it may go: the cache by use, images by name; never a bundle, never a base."""

import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from repro import oci, paths
from repro.cli.main import cli
from repro.engine.docker import DockerEngine
from repro.engine.ownership import KEPT, PID, owner_labels
from repro.errors import ReproError
from repro.events import silent
from repro.pipeline import cache
from repro.pipeline.prune import Wish, candidates, look, remove

DAY = 24 * 3600


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with a wheel and a layer of each age: used now, three days ago, fifty days ago."""
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path))
    for number, days in enumerate((0, 3, 50)):
        for place in (f"wheels/{number}/a.whl", f"blobs/sha256/{number}"):
            path = tmp_path / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x" * 1000)
            os.utime(path, (time.time() - days * DAY,) * 2)
    return tmp_path


def names(items: list[cache.Entry]) -> list[str]:
    return sorted(str(entry.path.relative_to(paths.cache())) for entry in items)


def test_the_least_used_goes_first_and_the_fresh_stay(filled: Path) -> None:
    found = list(cache.entries(filled))
    assert sum(entry.bytes for entry in found) == 6000
    assert names(cache.over(found, 6000)) == []
    assert names(cache.over(found, 4000)) == ["blobs/sha256/2", "wheels/2/a.whl"]
    assert names(cache.over(found, 0)) == [
        "blobs/sha256/1",
        "blobs/sha256/2",
        "wheels/1/a.whl",
        "wheels/2/a.whl",
    ]


def test_a_build_keeps_the_cache_to_its_limit(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = filled / "blobs" / "sha256" / ".part-999999999-abc"
    own = filled / "scratch" / f".part-layers-{os.getpid()}-abc"
    dead.write_bytes(b"half")
    own.mkdir(parents=True)
    monkeypatch.setenv("REPRO_CACHE_LIMIT", "4kB")
    assert cache.trim(filled) == 2000
    assert not dead.exists()
    assert own.is_dir()
    monkeypatch.setenv("REPRO_CACHE_LIMIT", "plenty")
    with pytest.raises(ReproError) as caught:
        cache.trim(filled)
    assert caught.value.code == "cache-limit"


def test_what_goes_by_age_is_listed_and_asked_for(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    said = CliRunner().invoke(cli, ["prune", "--days", "10", "--dry-run", "--json"], standalone_mode=False)
    assert '"bytes": 1000' in said.output
    assert len(list(cache.entries(filled))) == 6
    silent_terminal = CliRunner().invoke(cli, ["prune", "--days", "10"], standalone_mode=False)
    assert "say --yes" in str(silent_terminal.exception)
    assert len(list(cache.entries(filled))) == 6
    CliRunner().invoke(cli, ["prune", "--days", "10", "--yes"], standalone_mode=False)
    assert len(list(cache.entries(filled))) == 4
    listed = CliRunner().invoke(cli, ["ls", "--json"], standalone_mode=False)
    assert '"images": null' in listed.output


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[DockerEngine, str]]:
    """Four images of one bundle's name, a minute apart, and a base image of no bundle."""
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path))
    engine, title = DockerEngine(), f"keep-{uuid.uuid4().hex[:8]}"
    blobs = oci.Blobs(tmp_path)
    for number in range(4):
        labels = {
            "dev.reprobundle": "1",
            "dev.reprobundle.id": str(number),
            "org.opencontainers.image.title": title,
        }
        image = oci.make(
            {"Labels": labels},
            [blobs.put(bytes(10240)), blobs.put(_layer(number))],
            architecture=engine.info().architecture,
            created=f"2026-01-02T03:0{number}:00Z",
            history=["one", "two"],
        )
        engine.load(image, f"repro/{title}:{number}", silent)
    yield engine, title
    for number in range(4):
        engine.remove(f"repro/{title}:{number}")
    engine.client.close()


def _layer(number: int) -> bytes:
    import io

    from repro import tarball

    out = io.BytesIO()
    tarball.write(out, [tarball.Member("n", str(number).encode())])
    return out.getvalue()


@pytest.mark.docker
def test_the_newest_images_of_a_name_stay(own: tuple[DockerEngine, str]) -> None:
    engine, title = own
    mine = [image for image in look(engine).images or [] if image.title == title]
    assert [image.tags[0].rpartition(":")[2] for image in mine] == ["3", "2", "1", "0"]
    may_go = [item for item in candidates(Wish(keep=3), engine) if title in item.name]
    assert [(item.name, item.why) for item in may_go] == [
        (f"repro/{title}:0", f"3 newer ones of {title} are here")
    ]
    container = engine.client.api.create_container(f"repro/{title}:1", command=["/never"])
    try:
        (first, *_rest) = [item for item in candidates(Wish(keep=0), engine) if title in item.name]
        assert first.name == f"repro/{title}:3"
        assert f"repro/{title}:1" not in [item.name for item in candidates(Wish(keep=0), engine)]
    finally:
        engine.client.api.remove_container(container["Id"], force=True)
    assert remove(may_go) == (may_go[0].bytes, [])
    assert engine.find(f"repro/{title}:0") is None
    assert engine.find(f"repro/{title}:3") is not None


@pytest.mark.docker
def test_a_container_that_a_killed_tool_left_may_go(own: tuple[DockerEngine, str]) -> None:
    engine, title = own
    labels = owner_labels() | {PID: "999999999:1"}
    made = [
        engine.client.api.create_container(f"repro/{title}:3", command=["/never"], labels=given)["Id"]
        for given in (labels, owner_labels(), labels | {KEPT: "1"})
    ]
    dead, alive, kept = made
    try:
        ids = [left.id for left in engine.leftovers(ended=True)]
        assert dead in ids
        assert not {alive, kept} & set(ids)
        name = next(left.name for left in engine.leftovers(ended=True) if left.id == dead)
        (item,) = [item for item in candidates(Wish(), engine) if item.name == name]
        assert remove([item]) == (0, [])
        assert dead not in [left.id for left in engine.leftovers(ended=True)]
    finally:
        for container in made:
            engine.remove_container(container)
