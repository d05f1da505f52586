"""Blobs reach a real registry whole, whatever happens on the way; nothing is sent that is there."""

import os
from pathlib import Path

import pytest
import requests

from repro import oci
from repro.errors import ReproError
from repro.events import Meter, Progress, silent
from repro.registry import Connection, Downloads, parse
from repro.registry.upload import Uploads

from .conftest import MEGA, Heard, make_image, pusher
from .servers import Fault, Registry, Relay

pytestmark = pytest.mark.registry


def whole(registry: Registry, image: oci.OciImage, tag: str) -> None:
    """The registry has all of the image, in every byte."""
    base = f"http://{registry.address}/v2/team/name"
    reply = requests.get(
        f"{base}/manifests/{tag}",
        headers={"Accept": "application/vnd.oci.image.manifest.v1+json"},
        timeout=30,
    )
    assert reply.content == image.manifest
    assert reply.headers["Docker-Content-Digest"] == image.manifest_digest
    assert requests.get(f"{base}/blobs/{image.config_digest}", timeout=30).content == image.config
    for layer in image.layers:
        data = requests.get(f"{base}/blobs/{layer.digest}", timeout=30).content
        assert layer.path is not None
        assert data == layer.path.read_bytes()


def test_an_image_gets_the_digest_of_its_manifest(registry: Registry, cache: Path) -> None:
    image = make_image(cache, (2 * MEGA + 17, 1, MEGA))
    heard = Heard()
    sent = pusher(registry.address, cache, sink=heard).image(image, "one")
    assert (sent.digest, sent.blobs) == (image.manifest_digest, 4)
    whole(registry, image, "one")
    told = [event for event in heard if isinstance(event, Progress)]
    assert told[-1].done == told[-1].total - len(image.manifest)
    assert any(event.rate > 0 for event in told)


def test_what_is_there_is_not_sent_again(registry: Registry, relay: Relay, cache: Path) -> None:
    image = make_image(cache)
    pusher(relay.address, cache).image(image, "one")
    relay.seen.clear()
    again = pusher(relay.address, cache).image(image, "one")
    assert (again.blobs, again.bytes) == (0, 0)
    assert [method for method, path, _range in relay.seen if path != "/v2/"] == ["HEAD"]
    other = pusher(relay.address, cache).image(image, "two")
    assert (other.blobs, other.bytes) == (0, 0)
    assert relay.count("PATCH") == 0
    whole(registry, image, "two")


def test_a_tag_that_moves_says_what_it_was(registry: Registry, cache: Path) -> None:
    first, second = make_image(cache, (500,)), make_image(cache, (500,))
    pusher(registry.address, cache).image(first, "one")
    assert pusher(registry.address, cache).image(second, "one").before == first.manifest_digest


def test_no_tag_before_all_blobs_are_there(relay: Relay, registry: Registry, cache: Path) -> None:
    relay.faults = [Fault("POST", "uploads", after=2, times=99, status=500)]
    image = make_image(cache)
    with pytest.raises(ReproError) as raised:
        pusher(relay.address, cache).image(image, "one")
    assert raised.value.code == "registry-failed"
    assert requests.get(f"http://{registry.address}/v2/team/name/tags/list", timeout=30).status_code == 404


def test_a_later_process_goes_on_at_the_offset(registry: Registry, relay: Relay, cache: Path) -> None:
    """Pieces that had arrived when the connection went away for good are not sent again."""
    relay.faults = [Fault("PATCH", "", after=5, times=99)]
    image = make_image(cache, (8 * MEGA,))
    with pytest.raises(ReproError) as raised:
        pusher(relay.address, cache).image(image, "one")
    assert raised.value.code == "registry-no-answer"
    relay.faults, relay.seen = [], []
    sent = pusher(relay.address, cache).image(image, "one")
    assert sent.bytes == 8 * MEGA - 4 * MEGA
    ranges = [place for method, _path, place in relay.seen if method == "PATCH"]
    assert ranges[0].startswith(f"{4 * MEGA}-")
    whole(registry, image, "one")
    assert list((cache / "registry" / "uploads").glob("*.json")) == []


def test_the_same_process_goes_on_after_a_cut_between_pieces(
    registry: Registry, relay: Relay, cache: Path
) -> None:
    relay.faults = [Fault("PATCH", "", after=2), Fault("PATCH", "", after=5, status=503)]
    image = make_image(cache, (8 * MEGA,))
    sent = pusher(relay.address, cache).image(image, "one")
    whole(registry, image, "one")
    assert sent.bytes <= (8 + 2) * MEGA + len(image.config)


def test_a_piece_that_was_cut_in_the_middle_is_no_loss_of_content(
    registry: Registry, relay: Relay, cache: Path
) -> None:
    """Docker's registry then forgets the upload (it counts other bytes than its token): it is begun anew."""
    relay.faults = [Fault("PATCH", "", after=2, sent=MEGA // 2)]
    image = make_image(cache, (4 * MEGA,))
    pusher(relay.address, cache).image(image, "one")
    assert "resumed at wrong off" in registry.log
    whole(registry, image, "one")


def test_a_lost_answer_to_the_last_request_is_asked_for(
    registry: Registry, relay: Relay, cache: Path
) -> None:
    relay.faults = [Fault("PUT", "uploads", given=0)]
    image = make_image(cache, (MEGA,))
    pusher(relay.address, cache).image(image, "one")
    assert relay.count("POST", "uploads") == 2, "one for each blob, none anew"
    whole(registry, image, "one")


def test_an_upload_that_the_registry_forgot_begins_anew(
    registry: Registry, relay: Relay, cache: Path
) -> None:
    relay.faults = [Fault("PATCH", "", after=3, times=99)]
    image = make_image(cache, (4 * MEGA,))
    with pytest.raises(ReproError):
        pusher(relay.address, cache).image(image, "one")
    for folder in registry.uploads():
        for path in sorted(folder.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
    relay.faults = []
    pusher(relay.address, cache).image(image, "one")
    whole(registry, image, "one")


def test_smaller_pieces_where_a_proxy_takes_no_large_ones(
    registry: Registry, relay: Relay, cache: Path
) -> None:
    relay.faults = [Fault("PATCH", "", times=2, status=413)]
    image = make_image(cache, (6 * MEGA,))
    pusher(relay.address, cache, piece=4 * MEGA).image(image, "one")
    whole(registry, image, "one")
    relay.faults = [Fault("PATCH", "", times=99, status=413)]
    with pytest.raises(ReproError) as raised:
        pusher(relay.address, cache, piece=4 * MEGA).image(make_image(cache, (6 * MEGA,)), "two")
    assert raised.value.code == "registry-too-large"


def test_a_registry_that_knows_no_pieces_gets_the_blob_in_one(
    registry: Registry, relay: Relay, cache: Path
) -> None:
    relay.faults = [Fault("PATCH", "", times=99, status=416, range="^[1-9]")]
    image = make_image(cache, (4 * MEGA,))
    pusher(relay.address, cache).image(image, "one")
    assert f"0-{4 * MEGA - 1}" in [place for _method, _path, place in relay.seen]
    whole(registry, image, "one")


def test_leftovers_of_long_ago_are_removed(registry: Registry, relay: Relay, cache: Path) -> None:
    relay.faults = [Fault("PATCH", "", times=99)]
    with pytest.raises(ReproError):
        pusher(relay.address, cache).image(make_image(cache), "one")
    (note,) = (cache / "registry" / "uploads").glob("*.json")
    pusher(registry.address, cache).image(make_image(cache), "two")
    assert note.exists()
    os.utime(note, (0, 0))
    pusher(registry.address, cache).image(make_image(cache), "three")
    assert not note.exists()


def test_a_file_that_changes_while_it_is_sent_is_refused(registry: Registry, cache: Path) -> None:
    blob = oci.Blobs(cache).put(bytes(MEGA))
    assert blob.path is not None
    blob.path.write_bytes(b"x" * MEGA)
    connection = Connection(parse(f"{registry.address}/team/name"), writing=True)
    with pytest.raises(ReproError) as raised:
        Uploads(connection, cache, silent, Meter(silent, "x", 0)).send(blob)
    assert raised.value.code == "registry-content"
    assert not Uploads(connection, cache, silent, Meter(silent, "x", 0)).has(blob)


def test_short_waits_are_waited_for_and_long_ones_told(relay: Relay, cache: Path) -> None:
    image = make_image(cache, (1000,))
    relay.faults = [Fault("HEAD", "manifests", status=429, headers={"Retry-After": "1"})]
    pusher(relay.address, cache).image(image, "one")
    relay.faults = [Fault("HEAD", "manifests", times=9, status=429, headers={"Retry-After": "7200"})]
    with pytest.raises(ReproError) as raised:
        pusher(relay.address, cache).image(image, "one")
    assert raised.value.code == "registry-rate-limit"
    assert "7200" in " ".join(raised.value.found)


def test_notes_of_uploads_are_for_this_user_alone(relay: Relay, cache: Path) -> None:
    relay.faults = [Fault("PATCH", "", times=99)]
    with pytest.raises(ReproError):
        pusher(relay.address, cache).image(make_image(cache), "one")
    folder = cache / "registry" / "uploads"
    assert folder.stat().st_mode & 0o77 == 0
    assert len(list(folder.glob("*.json"))) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault("GET", "blobs", given=MEGA + 5),
        Fault("GET", "blobs", times=3, given=0),
        Fault("GET", "blobs", status=503),
        Fault("GET", "blobs"),
    ],
)
def test_a_download_goes_on_where_it_was_cut(fault: Fault, relay: Relay, cache: Path, tmp_path: Path) -> None:
    image = make_image(cache, (4 * MEGA,))
    pusher(relay.address, cache).image(image, "one")
    relay.faults, relay.seen = [fault], []
    layer = image.layers[0]
    downloads = Downloads(
        Connection(parse(f"{relay.address}/team/name")), tmp_path / "other", Meter(silent, "x", 0)
    )
    got = downloads.fetch(layer.digest, layer.bytes)
    assert got.path is not None
    assert layer.path is not None
    assert got.path.read_bytes() == layer.path.read_bytes()
    if fault.given and fault.given > 1:
        assert relay.seen[-1][2] == f"bytes={MEGA}-"
        assert downloads.meter.moved == layer.bytes


def test_what_an_earlier_process_left_is_used_or_thrown_away(
    relay: Relay, cache: Path, tmp_path: Path
) -> None:
    image = make_image(cache, (4 * MEGA,))
    pusher(relay.address, cache).image(image, "one")
    layer = image.layers[0]
    assert layer.path is not None
    data = layer.path.read_bytes()
    for number, begun in enumerate(
        [data[: 2 * MEGA], bytes(2 * MEGA), data, data + b"more", bytes(len(data))]
    ):
        other = tmp_path / f"other-{number}"
        part = other / "registry" / "downloads" / layer.digest.removeprefix("sha256:")
        part.parent.mkdir(parents=True)
        part.write_bytes(begun)
        downloads = Downloads(Connection(parse(f"{relay.address}/team/name")), other, Meter(silent, "x", 0))
        got = downloads.fetch(layer.digest, layer.bytes)
        assert got.path is not None
        assert got.path.read_bytes() == data
        assert downloads.meter.done == layer.bytes
        assert not part.exists()
        if number == 0:
            assert downloads.meter.moved == 2 * MEGA


@pytest.mark.parametrize("digest", ["sha256:../../evil", "md5:abc", "", "sha256:" + "A" * 64, "sha256:a\n"])
def test_words_that_are_no_digest_make_no_path(digest: str, tmp_path: Path) -> None:
    downloads = Downloads(
        Connection(parse("127.0.0.1:1/a/b")), tmp_path / "x" / "cache", Meter(silent, "x", 0)
    )
    for fetch in (downloads.fetch, lambda d, size: downloads.small(d, size, 10)):
        with pytest.raises(ReproError) as raised:
            fetch(digest, 1)
        assert raised.value.code == "registry-content"
    assert list(tmp_path.iterdir()) == []


def test_a_blob_that_is_altered_on_the_way_is_not_kept(relay: Relay, cache: Path, tmp_path: Path) -> None:
    image = make_image(cache, (4 * MEGA,))
    pusher(relay.address, cache).image(image, "one")
    relay.faults = [Fault("GET", "blobs", times=99, alter=True)]
    layer = image.layers[0]
    downloads = Downloads(
        Connection(parse(f"{relay.address}/team/name")), tmp_path / "other", Meter(silent, "x", 0)
    )
    with pytest.raises(ReproError) as raised:
        downloads.fetch(layer.digest, layer.bytes)
    assert raised.value.code == "registry-content"
    assert [path for path in (tmp_path / "other").rglob("*") if path.is_file()] == []
