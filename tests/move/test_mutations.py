"""Two thousand changed files: each is refused with a message, or reads as the very same bundle."""

import io
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from repro import bundle as bundles
from repro import move, oci, paths
from repro.bundle import Bundle
from repro.errors import ReproError
from repro.events import silent
from repro.files import sha256_file
from repro.model import canonical
from repro.pipeline.import_ import ImportOptions, import_

from .conftest import Sample
from .forge import Forged, Json, everything_below, with_checksum
from .test_move import contents

Change = Callable[[bytes, random.Random], bytes]


def _bits(data: bytes, chance: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    return bytes(found)


def _pieces(data: bytes, chance: random.Random) -> bytes:
    """Something cut out, doubled, put in, exchanged or cut off, often at the borders of blocks."""
    unit = chance.choice((1, 512))
    a, b = sorted(chance.randrange(len(data) // unit + 1) * unit for _ in range(2))
    ways = (
        data[:a] + data[b:],
        data[:b] + data[a:b] + data[b:],
        data[:a] + chance.randbytes(unit) + data[a:],
        data[:a] + chance.randbytes(b - a) + data[b:],
        data[b:] + data[:b],
        data[:b],
        data[:a] + bytes(b - a) + data[b:],
    )
    return chance.choice(ways)


def _headers(data: bytes, chance: random.Random) -> bytes:
    """Fields of a header, its checksum put right."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        at = chance.choice([member.offset for member in tar])
    found = bytearray(data)
    begin, end = chance.choice(
        (
            (0, 100),
            (100, 108),
            (108, 124),
            (124, 136),
            (136, 148),
            (156, 157),
            (157, 257),
            (257, 265),
            (265, 512),
        )
    )
    for _ in range(chance.choice((1, 1, 3))):
        found[at + chance.randrange(begin, end)] = chance.choice(
            (0, 0x2E, 0x2F, 0x30, 0x35, chance.randrange(256))
        )
    return with_checksum(found, at)


def _inner(data: bytes, chance: random.Random) -> bytes:
    """The image's archive, packed again with digests that fit."""
    found = Forged(data)
    raw = chance.choice((_bits, _pieces))
    found.image_bytes(lambda inner: raw(inner, chance))
    return found.finish()


def _document(data: bytes, chance: random.Random) -> bytes:
    found = Forged(data)
    name = chance.choice(("bundle.json", "export.json"))
    found.write(name, canonical.pretty(_other(found.document(name), chance)))
    return found.put()


def _fitting_document(data: bytes, chance: random.Random) -> bytes:
    """The manifest changed by somebody who knows where its digest stands."""
    found = Forged(data)
    found.write("bundle.json", canonical.pretty(_other(found.document("bundle.json"), chance)))
    return found.finish()


def _other(document: Json, chance: random.Random) -> Json:
    """One value somewhere in it is another one, or gone, or there twice."""
    holders: list[object] = []

    def collect(value: object) -> None:
        if isinstance(value, dict | list) and value:
            holders.append(value)
            for inner in value.values() if isinstance(value, dict) else value:
                collect(inner)

    collect(document)
    holder = chance.choice(holders)
    odd: list[object] = [
        None,
        -1,
        0,
        1 << 70,
        1.5,
        "",
        "../x",
        "/etc/x",
        "x" * 300,
        [],
        {},
        True,
        "sha256:" + "0" * 64,
    ]
    key = chance.choice(list(holder)) if isinstance(holder, dict) else chance.randrange(len(holder))  # type: ignore[arg-type]
    if chance.random() < 0.2:
        del holder[key]  # type: ignore[attr-defined]
    elif isinstance(holder, list) and chance.random() < 0.3:
        holder.append(holder[key])  # type: ignore[call-overload]
    else:
        holder[key] = chance.choice(odd)  # type: ignore[index]
    return document


CHANGES: dict[str, tuple[Change, int]] = {
    "bits": (_bits, 500),
    "pieces": (_pieces, 400),
    "headers": (_headers, 450),
    "inner": (_inner, 300),
    "document": (_document, 350),
}


def _taken(file: Path, out: Path) -> Bundle | None:
    """The bundle when import takes the file; what refuses it is a `ReproError`, and nothing else ever."""
    try:
        return import_(file, ImportOptions(out=out, load=False), silent).bundle
    except ReproError as error:
        refusal = error
    assert refusal.code == "import-refused", refusal
    assert refusal.found
    return None


@pytest.mark.parametrize("kind", CHANGES)
def test_a_changed_file_is_refused_or_reads_as_equal(
    kind: str, sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, number = CHANGES[kind]
    data = sample.packed(tmp_path).path.read_bytes()
    wanted = contents(sample.bundle.path)
    file, box = tmp_path / "f.repro", tmp_path / "box"
    chance, equal = random.Random(f"move {kind}"), 0  # noqa: S311
    monkeypatch.setenv("REPRO_CACHE", str(box / "cache"))
    for turn in range(number):
        file.write_bytes(changed := change(data, chance))
        before = everything_below(tmp_path)
        if not _taken(file, box / str(turn)):
            assert everything_below(tmp_path) == before
            continue
        equal += 1
        assert contents(box / str(turn) / sample.top) == wanted, (turn, changed == data)
        for layer in sample.image.layers:
            held = oci.Blobs(paths.cache()).find(layer.digest)
            assert held is not None
            assert held.path is not None
            assert f"sha256:{sha256_file(held.path)}" == layer.digest
    assert equal < number / 2, "the changes change something"


def test_a_manifest_that_fits_its_digest_stays_in_its_folder(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a one is another bundle, and only a signature tells; but it is whole, and nowhere else."""
    data = sample.packed(tmp_path).path.read_bytes()
    file, box = tmp_path / "f.repro", tmp_path / "box"
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "cache"))
    chance, taken = random.Random("fitting"), 0  # noqa: S311
    for turn in range(150):
        file.write_bytes(_fitting_document(data, chance))
        before = everything_below(tmp_path)
        made = _taken(file, box / str(turn))
        if made is None:
            assert everything_below(tmp_path) == before
            continue
        taken += 1
        assert bundles.verify(made) == []
        assert made.path.parent == box / str(turn)
        for path in [p for p in tmp_path.iterdir() if p.name not in ("box", "cache")]:
            assert str(path) in before
    assert taken < 150


def test_peeking_takes_no_longer_way(sample: Sample, tmp_path: Path) -> None:
    made = sample.packed(tmp_path)
    with made.path.open("rb") as source:
        manifest, record = move.peek(source, "f")
        assert source.tell() < made.bytes
    assert (manifest, record) == (sample.bundle.manifest, made.record)
    assert msgspec.json.decode(canonical.pretty(record), type=type(record)) == record
