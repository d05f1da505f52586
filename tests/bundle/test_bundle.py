from pathlib import Path

import msgspec
import pytest

from repro import bundle as bundles
from repro.bundle import Bundle
from repro.errors import ReproError

from .conftest import make_bundle


def _kinds(bundle: Bundle) -> dict[str, str]:
    return {damage.path: damage.kind for damage in bundles.verify(bundle)}


def test_a_whole_bundle_verifies(bundle: Bundle) -> None:
    assert _kinds(bundle) == {}
    assert bundle.lock.version_of("torch") == "2.13.0+cpu"
    assert bundle.title == f"tiny:{bundle.manifest.id[:12]}"


def test_runs_and_image_are_no_damage(bundle: Bundle) -> None:
    (bundle.path / "runs" / "r1").mkdir(parents=True)
    (bundle.path / "runs" / "r1" / "run.json").write_text("{}")
    (bundle.path / "image.json").write_text("{}")
    assert _kinds(bundle) == {}


def test_each_kind_of_damage_is_named(bundle: Bundle) -> None:
    (bundle.path / "eval" / "a.csv").write_text("a,b\n1,3\n")
    (bundle.path / "code.tar").unlink()
    (bundle.path / "eval" / "new.csv").write_text("x")
    assert _kinds(bundle) == {"eval/a.csv": "altered", "code.tar": "missing", "eval/new.csv": "foreign"}


def test_a_forged_id_is_damage(bundle: Bundle) -> None:
    text = (bundle.path / "bundle.json").read_bytes().replace(bundle.manifest.id.encode(), b"0" * 64)
    (bundle.path / "bundle.json").write_bytes(text)
    assert _kinds(bundles.open_bundle(bundle.path)) == {"bundle.json": "id"}


def test_the_id_follows_what_decides_the_result(tmp_path: Path) -> None:
    one, same, other = (make_bundle(tmp_path / n, lr) for n, lr in (("a", 0.1), ("b", 0.1), ("c", 0.2)))
    assert one.manifest.id == same.manifest.id != other.manifest.id
    assert one.manifest.identity.params != other.manifest.identity.params
    assert (tmp_path / "a" / "bundle.json").read_bytes() == (tmp_path / "b" / "bundle.json").read_bytes()


@pytest.mark.parametrize(
    "name", ["bundle.json", "lock.json", "params.json", "protocol.json", "snapshot.json"]
)
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"schema": 1}', b"null"])
def test_an_unreadable_part_is_named(bundle: Bundle, name: str, content: bytes) -> None:
    (bundle.path / name).write_bytes(content)
    with pytest.raises(ReproError) as caught:
        bundles.open_bundle(bundle.path)
    assert caught.value.code == "bundle-unreadable"
    assert name in caught.value.message
    assert caught.value.exit_status == 5


def test_a_bundle_is_found_by_any_unique_word(bundle: Bundle, tmp_path: Path) -> None:
    deep = tmp_path / "src" / "deep"
    deep.mkdir(parents=True)
    for word in ("", "tiny", "tiny-0000", "0000", str(bundle.path)):
        assert bundles.find_bundle(word, deep).resolve() == bundle.path
    with pytest.raises(ReproError) as caught:
        bundles.find_bundle("other", deep)
    assert caught.value.code == "bundle-not-found"
    assert "tiny-000000000000" in caught.value.found[0]


def test_a_half_made_bundle_is_never_found(bundle: Bundle, tmp_path: Path) -> None:
    bundle.path.rename(bundle.path.with_name(".part-build-1-xyz"))
    with pytest.raises(ReproError, match="there is no bundle here yet"):
        bundles.find_bundle("", tmp_path)


def test_a_run_is_found_by_label_or_start(bundle: Bundle, tmp_path: Path) -> None:
    ids = ["20260101-000000-tiny-cpu-aaaaaa.first", "20260101-000001-tiny-cpu-bbbbbb.second"]
    for number in ids:
        attempt = bundle.path / "runs" / number / "attempt-1"
        attempt.mkdir(parents=True)
        (attempt / "run.json").write_bytes(msgspec.json.encode({"schema": 1, "attempt": 1, "status": "ok"}))
    assert bundles.find_run("second", tmp_path).name == ids[1]
    assert bundles.find_run("20260101-000000", tmp_path).name == ids[0]
    with pytest.raises(ReproError) as caught:
        bundles.find_run("20260101", tmp_path)
    assert caught.value.code == "run-not-found"
    assert len(caught.value.found) == 2


def test_a_group_is_a_shared_label_or_names_with_commas(bundle: Bundle, tmp_path: Path) -> None:
    ids = [f"20260101-00000{n}-tiny-cpu-{n:06}.{label}" for n, label in enumerate(("ref", "ref", "new"))]
    for number in ids:
        attempt = bundle.path / "runs" / number / "attempt-1"
        attempt.mkdir(parents=True)
        (attempt / "run.json").write_bytes(msgspec.json.encode({"schema": 1, "attempt": 1, "status": "ok"}))

    def group(word: str) -> list[int]:
        return [ids.index(path.name) for path in bundles.find_group(word, tmp_path)]

    assert group("ref") == [0, 1]
    assert group("new") == [2]
    assert group(ids[1]) == [1]
    assert group(f"{ids[2]}, ref,new") == [2, 0, 1]
    assert group(str(bundle.path / "runs" / ids[1])) == [1]
    for ambiguous in ("20260101", "ref,20260101", "ref,gone", ",", ""):
        with pytest.raises(ReproError) as caught:
            group(ambiguous)
        assert caught.value.code == "run-not-found"
