"""A bundle with its runs as a research object: readable by the library of the format, and by this tool."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from rocrate.rocrate import ROCrate

from repro import bundle as bundles
from repro import tarball
from repro.bundle import Bundle
from repro.errors import ReproError
from repro.pipeline.crate import export_crate
from repro.pipeline.signed import content_of
from repro.trust import write_crate

Lay = Callable[..., Bundle]
RUN = "one/runs/20260101-000000-one-cpu-abcdef.first"


@pytest.fixture
def crate(lay: Lay, tmp_path: Path) -> Path:
    return export_crate(lay(), tmp_path / "crate")


def _graph(crate: Path) -> dict[str, Any]:
    document = json.loads((crate / "ro-crate-metadata.json").read_text())
    return {entity["@id"]: entity for entity in document["@graph"]}


def test_the_root_says_profile_and_date_of_the_commit(crate: Path) -> None:
    root = _graph(crate)["./"]
    assert root["datePublished"] == "2026-01-01T00:00:00+00:00"
    assert root["conformsTo"]["@id"] == "https://w3id.org/ro/wfrun/process/0.5"
    assert root["mainEntity"]["@id"] == "one/"


def test_the_licence_is_that_of_the_code_or_not_stated(lay: Lay, tmp_path: Path) -> None:
    bundle = lay()
    heard: list[Any] = []
    without = _graph(export_crate(bundle, tmp_path / "without", heard.append))
    assert without[without["./"]["license"]["@id"]]["name"] == "not stated"
    assert any("no licence file" in getattr(event, "text", "") for event in heard)
    with (bundle.path / "code.tar").open("wb") as out:
        tarball.write(
            out, [tarball.Member("code/LICENSE.txt", b"MIT"), tarball.Member("code/a/COPYING", b"")]
        )
    write_crate(content_of(bundle), [], tmp_path / "with")
    graph = _graph(tmp_path / "with")
    assert graph[graph["./"]["license"]["@id"]]["name"] == "LICENSE.txt"


def test_a_run_is_an_action_with_its_inputs_and_results(crate: Path) -> None:
    graph = _graph(crate)
    action = graph["#run-20260101-000000-one-cpu-abcdef.first"]
    assert action["@type"] == "CreateAction"
    assert action["startTime"] == "2026-01-01T00:00:00.250+00:00"
    assert action["endTime"] == "2026-01-01T00:00:01.500+00:00"
    assert action["actionStatus"] == "http://schema.org/CompletedActionStatus"
    assert "SoftwareSourceCode" in graph[action["instrument"]["@id"]]["@type"]
    objects = {entry["@id"] for entry in action["object"]}
    assert {"one/eval/eval/a.csv", "one/params.json", "one/requirements.lock"} <= objects
    results = [graph[entry["@id"]] for entry in action["result"]]
    assert {r["name"]: r["value"] for r in results if r["@type"] == "PropertyValue"} == {
        "acc": "0.75",
        "loss": "nan",
    }
    assert f"{RUN}/attempt-1/out/model.pt" in {r["@id"] for r in results}
    image = graph[action["containerImage"]["@id"]]
    assert (image["@type"], image["sha256"]) == ("ContainerImage", "5" * 64)
    assert {e["@id"] for e in graph["./"]["mentions"]} == {action["@id"]}


def test_the_library_reads_it_back(crate: Path) -> None:
    read = ROCrate(crate)
    assert read.mainEntity.id == "one/"
    listed = {unquote(entity.id) for entity in read.data_entities if entity.type != "Dataset"}
    there = {p.relative_to(crate).as_posix() for p in crate.rglob("*") if p.is_file() and not p.is_symlink()}
    assert listed == there - {"ro-crate-metadata.json"}


def test_the_bundle_in_it_is_whole(crate: Path) -> None:
    assert bundles.verify(bundles.open_bundle(crate / "one")) == []


def test_what_belongs_to_one_machine_stays_there(crate: Path) -> None:
    assert not list(crate.rglob("host.json"))
    assert "4711" not in (crate / "ro-crate-metadata.json").read_text()
    stray = crate / RUN / "attempt-1" / "out" / "stray"
    assert stray.is_symlink()
    assert "stray" not in (crate / "ro-crate-metadata.json").read_text()


def test_it_is_the_same_each_time(lay: Lay, tmp_path: Path) -> None:
    bundle = lay()
    one, two = export_crate(bundle, tmp_path / "a"), export_crate(bundle, tmp_path / "b")
    name = "ro-crate-metadata.json"
    assert (one / name).read_bytes() == (two / name).read_bytes()
    assert str(tmp_path) not in (one / name).read_text()


def test_nothing_is_written_over_or_from_a_damaged_bundle(lay: Lay, tmp_path: Path) -> None:
    bundle = lay()
    (tmp_path / "mine").mkdir()
    with pytest.raises(ReproError) as caught:
        export_crate(bundle, tmp_path / "mine")
    assert caught.value.code == "crate-exists"
    (bundle.path / "code.tar").write_bytes(b"other")
    with pytest.raises(ReproError) as caught:
        export_crate(bundle, tmp_path / "new")
    assert caught.value.code == "bundle-damaged"
    assert not (tmp_path / "new").exists()
    assert not list(tmp_path.glob(".part-*"))


def test_a_run_that_cannot_be_read_is_copied_and_told(lay: Lay, tmp_path: Path) -> None:
    bundle = lay()
    run = next((bundle.path / "runs").iterdir())
    (run / "attempt-1" / "run.json").write_text("{")
    heard: list[Any] = []
    crate = export_crate(bundle, tmp_path / "crate", heard.append)
    assert any("copied and not described" in getattr(event, "text", "") for event in heard)
    assert "mentions" not in _graph(crate)["./"]
    assert (crate / RUN / "attempt-1" / "out" / "model.pt").is_file()
