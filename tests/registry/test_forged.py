"""A registry gives something else than was pushed: refused in words, and nothing is written."""

import io
import json
import random
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from repro import oci, paths, tarball
from repro.errors import ReproError
from repro.events import silent
from repro.files import sha256_file
from repro.model import canonical
from repro.oci.image import MANIFEST_TYPE, descriptor
from repro.pipeline.pull import PullOptions, pull
from repro.pipeline.push import PushOptions, push
from repro.registry import Connection, Pusher, parse
from repro.registry.artifact import BESIDE_TYPE, CONFIG_TYPE, FILE_TYPE, LISTED_TYPE, TITLE
from repro.tarball import Member, folder_members
from tests.move.conftest import Sample, make_bundle

from .servers import Fault, Registry, Relay

pytestmark = pytest.mark.registry
WHEEL = "wheels/six-1-py3-none-any.whl"


@dataclass
class Parts:
    """What an artifact is made of, to be changed before it is pushed."""

    document: dict[str, Any]
    members: list[Member]
    large: dict[str, bytes]
    beside: list[Member] = field(default_factory=list)
    tar: bytes = b""
    raw: bytes = b""
    config_type: str = CONFIG_TYPE
    layer_type: str = LISTED_TYPE
    tag: str = ""

    def listed(self, path: str) -> dict[str, Any]:
        return next(row for row in self.document["files"] if row["path"] == path)


def parts_of(sample: Sample) -> Parts:
    folder = sample.bundle.path
    members = [m for m in folder_members(folder, "") if m.name not in (WHEEL, "bundle.json")]
    document = json.loads((folder / "bundle.json").read_bytes())
    return Parts(document, members, {WHEEL: (folder / WHEEL).read_bytes()})


def tar_of(members: list[Member]) -> bytes:
    out = io.BytesIO()
    tarball.write(out, members)
    return out.getvalue()


def put(parts: Parts, address: str) -> str:
    """Push it as an attacker could who may write to the registry; the reference."""
    blobs = oci.Blobs(paths.cache())
    config = blobs.put(parts.raw or canonical.pretty(parts.document))
    rows = [(blobs.put(data), FILE_TYPE, {TITLE: name}) for name, data in parts.large.items()]
    rows.append((blobs.put(parts.tar or tar_of(parts.members)), parts.layer_type, {}))
    if parts.beside:
        rows.append((blobs.put(tar_of(parts.beside)), BESIDE_TYPE, {}))
    layers = [
        descriptor(kind, blob.digest, blob.bytes) | {"annotations": notes} for blob, kind, notes in rows
    ]
    manifest = canonical.encode(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": descriptor(parts.config_type, config.digest, config.bytes),
            "layers": layers,
        }
    )
    tag = parts.tag or parts.document["id"][:12] + ".bundle"
    pusher = Pusher(Connection(parse(f"{address}/team/name"), writing=True), paths.cache(), silent)
    pusher.push("bundle", manifest, (config, *(blob for blob, _kind, _notes in rows)), tag)
    return f"{address}/team/name:{tag}"


def alter(path: str, **words: object) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        parts.listed(path).update(words)

    return change


def swap(name: str, *members: Member) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        parts.members = [m for m in parts.members if m.name != name] + list(members)

    return change


def beside(*members: Member) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        parts.beside = list(members)

    return change


def large(**words: bytes) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        parts.large |= {name.replace("__", "/"): data for name, data in words.items()}

    return change


def setting(**words: object) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        parts.document |= words

    return change


def renamed(path: str, name: str) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        member = next(m for m in parts.members if m.name == path)
        parts.listed(path)["path"] = name
        parts.members = [m for m in parts.members if m.name != path] + [Member(name, member.source)]

    return change


def foreign_tar(parts: Parts) -> None:
    """The same files as another program writes them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for member in tarball.with_parents(parts.members):
            info = tarfile.TarInfo(member.name)
            if member.link:
                info.type, info.linkname = tarfile.SYMTYPE, member.link
                tar.addfile(info)
            elif member.is_folder:
                info.type = tarfile.DIRTYPE
                tar.addfile(info)
            else:
                info.size = member.content().size
                with member.content().open() as source:
                    tar.addfile(info, source)
    parts.tar = out.getvalue()


def wrong_tag(parts: Parts) -> None:
    parts.tag = "0123456789ab.bundle"


def no_wheel(parts: Parts) -> None:
    parts.large.clear()


def twice(parts: Parts) -> None:
    parts.members.append(Member(WHEEL, parts.large[WHEEL]))


def unknown_kind(parts: Parts) -> None:
    parts.layer_type = "application/x-something"


def other_kind(parts: Parts) -> None:
    parts.config_type = "application/vnd.oci.image.config.v1+json"


def both(path: str) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        parts.document["files"].append(dict(parts.listed(path)))

    return change


FORGED: list[tuple[str, Callable[[Parts], None], str]] = [
    ("a file with other content", swap("Dockerfile", Member("Dockerfile", b"FROM scratcH\n")), "sha256"),
    ("a file of another size", swap("Dockerfile", Member("Dockerfile", b"FROM\n")), "5 bytes"),
    ("a file too many", swap("none", Member("extra.py", b"1")), "extra.py"),
    ("a file too few", swap("Dockerfile"), "missing"),
    ("a wheel too few", no_wheel, "missing"),
    ("another wheel", large(**{WHEEL.replace("/", "__"): b"other"}), "digest"),
    ("a file twice", twice, "twice"),
    ("a large file too many", large(evil=b"1"), "evil"),
    ("a large file outside", large(**{"..__..__evil": b"1"}), "evil"),
    ("a large file at an absolute path", large(__tmp__evil=b"1"), "evil"),
    ("a link in place of a file", swap("Dockerfile", Member("Dockerfile", link="/etc/passwd")), "link"),
    (
        "a link that leads out",
        swap("eval/data/link.csv", Member("eval/data/link.csv", link="../../../x")),
        "link",
    ),
    ("a link beside", beside(Member("seed/state.json", link="../../x")), "link"),
    ("something else beside", beside(Member("repro_runtime/x.py", b"1")), "belongs to nothing"),
    ("a foreign program beside", beside(Member("sitecustomize.py", b"1")), "not in the bundle's manifest"),
    ("a folder of nothing", swap("none", Member("elsewhere")), "belongs to nothing"),
    ("another tar", foreign_tar, "not as this tool writes it"),
    ("no tar", lambda parts: setattr(parts, "tar", b"x" * 5000), "neither file, folder"),
    ("a name outside", renamed("Dockerfile", "../Dockerfile"), "Dockerfile"),
    ("an absolute name", renamed("Dockerfile", "/tmp/Dockerfile"), "Dockerfile"),
    ("a name with a control character", renamed("Dockerfile", "Docker\x1bfile"), "Docker"),
    ("a name that is too long", renamed("Dockerfile", "x" * 300), "xxx"),
    ("names told apart by case", renamed("Dockerfile", "CODE.tar"), "one name"),
    ("a reserved name", renamed("Dockerfile", "image.json"), "image.json"),
    ("a reserved folder", renamed("Dockerfile", "runs/x"), "runs/x"),
    ("a file as a folder", renamed("Dockerfile", "code.tar/x"), "folder"),
    ("a file listed twice", both("Dockerfile"), "twice"),
    ("another id", setting(id="0" * 64), "id"),
    ("another name", setting(name="../../evil"), "folder"),
    ("a hidden name", setting(name=".evil"), "folder"),
    ("a newer schema", setting(schema=2), "schema 2"),
    ("a field too many", setting(surprise=1), "surprise"),
    ("a size that lies", alter("Dockerfile", bytes=1), "bytes"),
    ("a digest that is none", alter("Dockerfile", sha256="0" * 64), "sha256"),
    ("a tag that lies", wrong_tag, "0123456789ab"),
    ("a part of another kind", unknown_kind, "kind"),
]


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return make_bundle(tmp_path / "home")


@pytest.mark.parametrize(("change", "seen"), [row[1:] for row in FORGED], ids=[row[0] for row in FORGED])
def test_what_was_not_pushed_by_this_tool(
    change: Callable[[Parts], None],
    seen: str,
    sample: Sample,
    shared_registry: Registry,
    tmp_path: Path,
) -> None:
    parts = parts_of(sample)
    change(parts)
    place = put(parts, shared_registry.address)
    out = tmp_path / "out"
    with pytest.raises(ReproError) as raised:
        pull(place, PullOptions(out=out, load=False), silent)
    assert raised.value.code in ("registry-content", "bundle-damaged", "registry-refused")
    assert seen in " ".join([raised.value.message, *raised.value.found, *raised.value.needs])
    assert list(out.glob("*")) == []
    assert not (tmp_path / "evil").exists()


MUTATIONS = 60


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The bytes with one of them changed, left out or doubled, or a stretch of them gone."""
    at = chance.randrange(len(data))
    return chance.choice(
        [
            data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :],
            data[:at] + data[at + 1 :],
            data[: at + 1] + data[at:],
            data[:at] + data[at + chance.randrange(1, 600) :],
        ]
    )


@pytest.mark.parametrize("part", ["manifest", "files"])
def test_mutated_parts_are_refused_or_equal(
    part: str, sample: Sample, shared_registry: Registry, tmp_path: Path
) -> None:
    chance = random.Random(part)  # noqa: S311
    refused: list[str] = []
    wanted = files_of(sample.bundle.path)
    for number in range(MUTATIONS):
        parts = parts_of(sample)
        if part == "manifest":
            parts.raw = mutated(canonical.pretty(parts.document), chance)
        else:
            parts.tar = mutated(tar_of(parts.members), chance)
        out = tmp_path / f"out-{number}"
        place = put(parts, shared_registry.address)
        try:
            got = pull(place, PullOptions(out=out, load=False), silent)
        except ReproError as error:
            refused.append(error.code)
            left = [path.name for path in out.glob("*")]
        else:
            left = [] if files_of(got.bundle.path) == wanted else [str(number)]
        assert left == []
    assert set(refused) <= {"registry-content", "bundle-damaged", "bundle-unreadable"}
    assert len(refused) > MUTATIONS // 2


def files_of(folder: Path) -> dict[str, str]:
    """Digest of every file but the manifest: who may push may write one of his own, unless it is signed."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "bundle.json")
    return {path.relative_to(folder).as_posix(): sha256_file(path) for path in found}


def test_what_is_not_forged_is_taken(sample: Sample, shared_registry: Registry, tmp_path: Path) -> None:
    """The forger's own way of writing artifacts gives a good one when nothing is changed."""
    place = put(parts_of(sample), shared_registry.address)
    got = pull(place, PullOptions(out=tmp_path / "out", load=False), silent)
    assert got.bundle.manifest == sample.bundle.manifest


def test_an_image_is_no_bundle(sample: Sample, shared_registry: Registry, tmp_path: Path) -> None:
    parts = parts_of(sample)
    other_kind(parts)
    with pytest.raises(ReproError) as raised:
        pull(put(parts, shared_registry.address), PullOptions(out=tmp_path / "out", load=False), silent)
    assert raised.value.code == "registry-no-bundle"


@pytest.mark.parametrize("path", ["manifests/", "blobs/"])
def test_bytes_that_change_on_the_way(path: str, sample: Sample, relay: Relay, tmp_path: Path) -> None:
    push(sample.bundle, f"{relay.address}/team/name", PushOptions(image=False), silent)
    relay.faults = [Fault("GET", path, times=99, alter=True)]
    with pytest.raises(ReproError) as raised:
        pull(f"{relay.address}/team/name", PullOptions(out=tmp_path / "out", load=False), silent)
    assert raised.value.code == "registry-content"
    assert "digest" in raised.value.found[0]
