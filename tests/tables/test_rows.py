"""The tables of the outside world agree with one another, and a row that does not is refused."""

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from repro.tables.card import Gpu, all_gpus
from repro.tables.changes import Change, changes
from repro.tables.drivers import driver_key
from repro.tables.libraries import Library, all_libraries
from repro.tables.names import compact
from repro.tables.read import table
from repro.tables.toolkits import Toolkit, toolkits
from repro.tables.torchbuilds import Release, releases

ROWS = [
    ("gpus", "gpu", Gpu),
    ("gpus", "listed", None),
    ("cuda_toolkits", "toolkit", Toolkit),
    ("cuda_toolkits", "minor_version_compatibility", None),
    ("cuda_toolkits", "last_driver_branch", None),
    ("cuda_toolkits", "driver_only", None),
    ("cuda_libraries", "library", Library),
    ("numerics_changes", "change", Change),
    ("torch_releases", "release", Release),
]


def unsourced(rows: list[dict[str, Any]]) -> list[int]:
    """Numbers of rows that do not say where they were read."""
    return [number for number, row in enumerate(rows) if not str(row.get("source", "")).strip()]


def untagged(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Releases whose plain requirement leads to a build that the row does not describe, or not once."""
    for row in rows:
        named = [build["tag"] for build in row["variant"]]
        usual = [build["tag"] for build in row["variant"] if build["on_pypi"]]
        if usual != [row["pypi_tag"]] or len(set(named)) != len(named):
            yield row["version"]


def toolless(rows: list[dict[str, Any]], known: set[str]) -> Iterator[str]:
    """Builds for a CUDA version without a row among the toolkits."""
    for row in rows:
        yield from (f"{row['version']}+{b['tag']}" for b in row["variant"] if b["cuda"] not in known)


@pytest.mark.parametrize(("name", "section", "record"), ROWS)
def test_every_row_has_its_source(name: str, section: str, record: type | None) -> None:
    rows = table(name)[section]
    assert rows
    assert unsourced(rows) == []
    if record is not None:
        assert len(msgspec.convert(rows, list[record])) == len(rows)  # type: ignore[valid-type]


@pytest.mark.parametrize("section", ["cubin_exceptions", "cubin_renamed"])
def test_tables_of_exceptions_have_a_source(section: str) -> None:
    assert table("cuda_toolkits")[section]["source"].strip()


def test_every_build_says_where_its_targets_were_read() -> None:
    told = Counter(b["arch_source"] for row in table("torch_releases")["release"] for b in row["variant"])
    assert set(told) <= {"wheel", "script", "documented", "inferred", "issue"}
    assert told["wheel"] >= 19


def test_a_pypi_tag_has_its_variant() -> None:
    assert list(untagged(table("torch_releases")["release"])) == []


def test_a_cuda_has_its_toolkit() -> None:
    assert list(toolless(table("torch_releases")["release"], set(toolkits()))) == []


def without_source(row: dict[str, Any]) -> None:
    del row["source"]


def with_blank_source(row: dict[str, Any]) -> None:
    row["source"] = "  "


def with_other_tag(row: dict[str, Any]) -> None:
    row["pypi_tag"] = "cu999"


def without_the_usual_build(row: dict[str, Any]) -> None:
    row["variant"] = [build for build in row["variant"] if not build["on_pypi"]]


def with_a_build_twice(row: dict[str, Any]) -> None:
    row["variant"] = [*row["variant"], {**row["variant"][0], "on_pypi": False}]


def with_unknown_cuda(row: dict[str, Any]) -> None:
    row["variant"][0]["cuda"] = "12.7"


@pytest.mark.parametrize(
    ("break_it", "refused"),
    [
        (without_source, unsourced),
        (with_blank_source, unsourced),
        (with_other_tag, untagged),
        (without_the_usual_build, untagged),
        (with_a_build_twice, untagged),
        (with_unknown_cuda, lambda rows: toolless(rows, set(toolkits()))),
    ],
)
def test_a_broken_copy_is_refused(
    break_it: Callable[[dict[str, Any]], None], refused: Callable[[list[dict[str, Any]]], Any]
) -> None:
    rows = copy.deepcopy(table("torch_releases")["release"])
    assert list(refused(rows)) == []
    break_it(rows[3])
    assert len(list(refused(rows))) == 1


@pytest.mark.parametrize(
    "change",
    [{"source": None}, {"compute_capability": None}, {"new_field": 1}, {"memory_mib_reported": "40960"}],
)
def test_a_card_that_is_no_record_is_refused(change: dict[str, Any]) -> None:
    row = {k: v for k, v in {**table("gpus")["gpu"][0], **change}.items() if v is not None}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(row, Gpu)


def test_records_come_in_the_order_of_their_versions() -> None:
    def numbers(version: str) -> list[int]:
        return [int(part) for part in version.split(".")]

    for versions in (list(releases()), list(toolkits())):
        assert versions == sorted(versions, key=numbers)
        assert len(set(versions)) == len(versions)
    assert all(
        a.released <= b.released for a, b in pairwise(releases().values()) if a.version[:4] == b.version[:4]
    )


def test_targets_of_a_build_are_known_to_its_toolkit() -> None:
    for row in releases().values():
        for build in row.builds:
            known = set(toolkits()[build.cuda].sass)
            assert set(build.sass) <= known, (row.version, build.tag)
            assert {name.replace("compute", "sm") for name in build.ptx} <= known, (row.version, build.tag)


def test_drivers_of_toolkits_are_versions_that_rise() -> None:
    shipped = [kit for kit in toolkits().values() if kit.min_driver_shipped]
    keys = [driver_key(kit.min_driver_shipped) for kit in shipped]
    assert None not in keys
    assert keys == sorted(keys)  # type: ignore[type-var]
    assert all(kit.releases[0].driver == kit.min_driver_shipped for kit in shipped)
    assert all(kit.min_driver_shipped.startswith(kit.driver_branch[1:]) for kit in shipped)


def test_what_a_toolkit_added_and_removed_is_the_difference() -> None:
    for before, after in pairwise(toolkits().values()):
        assert set(after.sass) - set(before.sass) == set(after.sass_added), after.version
        assert set(before.sass) - set(after.sass) == set(after.sass_removed), after.version


def test_figures_of_cards_fit_together() -> None:
    for gpu in all_gpus():
        if gpu.memory_bytes is None:
            assert (gpu.memory_mib, gpu.memory_gb) == ((), None)
            continue
        assert gpu.memory_bytes == gpu.memory_mib[0] * 2**20
        assert gpu.multiprocessors is not None
        assert gpu.max_threads_per_multiprocessor is not None
        wave = gpu.multiprocessors * (gpu.max_threads_per_multiprocessor // 256) * 256
        assert gpu.rng_wave_elements == wave
        native = toolkits().get(gpu.min_cuda_native)
        assert native is None or f"sm_{gpu.capability.replace('.', '')}" in native.sass


def test_formats_follow_the_capability() -> None:
    first = {"fp16": (7, 0), "tf32": (8, 0), "bf16": (8, 0), "fp8": (8, 9)}
    for gpu in all_gpus():
        have = tuple(int(part) for part in gpu.capability.split("."))
        for name in gpu.tensor_formats or ():
            assert have >= first[name], gpu.key


def test_names_of_cards_are_unique() -> None:
    keys = Counter(gpu.key for gpu in all_gpus())
    assert [key for key, count in keys.items() if count > 1] == []
    spelled = Counter(
        name
        for gpu in all_gpus()
        for name in {compact(n) for n in (gpu.key, gpu.product, *gpu.device_names, *gpu.aliases)}
    )
    assert [name for name, count in spelled.items() if count > 1] == []


def test_changes_name_conditions_that_are_read() -> None:
    for change in changes().values():
        assert change.applies_to.split(">")[0].split("=")[0].split(" ")[0] in {"any", "cc", "cuda"}
        assert set(change.kind.split("+")) <= {"values", "order", "error", "memory", "api"}


def test_libraries_count_containers_for_each_target() -> None:
    for row in all_libraries():
        assert set(row.containers) == {*row.sass, *row.ptx}
        assert min(row.containers.values()) > 0
