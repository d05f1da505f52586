"""What import does not take, though every digest fits: each is refused with a cause, and leaves no trace."""

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from repro.errors import ReproError
from repro.events import silent
from repro.model import canonical
from repro.pipeline.import_ import ImportOptions, import_
from repro.tarball import Member

from .conftest import Sample
from .forge import Forged, everything_below, header_at, with_checksum

Forge = Callable[[bytes], bytes]


def forged(change: Callable[[Forged], object]) -> Forge:
    def make(data: bytes) -> bytes:
        found = Forged(data)
        change(found)
        return found.finish()

    return make


def with_header(field: slice, value: bytes, name: str = "code.tar") -> Forge:
    def make(data: bytes) -> bytes:
        changed, at = bytearray(data), header_at(data, name)
        changed[at + field.start : at + field.stop] = value.ljust(field.stop - field.start, b"\0")
        return with_checksum(changed, at)

    return make


def _file(name: str, data: bytes = b"x") -> Callable[[Forged], None]:
    return lambda f: f.add(name, data)


def _link(name: str, text: str) -> Callable[[Forged], None]:
    return lambda f: f.add(name, link=text)


def _around_the_corner(f: Forged) -> None:
    """`eval/data/deep/c` leads to `eval`, and `..` behind it would lead out, though it does not look so."""
    f.add("eval/data/deep/c", link="../..")
    f.add("eval/out", link="data/deep/c/../code.tar")


def _write_through(f: Forged) -> None:
    f.add("eval/door", link="data")
    f.add("eval/door/a.csv", b"through")


def _unlisted(f: Forged) -> None:
    f.members[f"{f.top}/more.txt"] = Member(f"{f.top}/more.txt", b"x")


def _beside_the_folder(f: Forged) -> None:
    f.members["zz.txt"] = Member("zz.txt", b"x")


def _empty_folder(f: Forged) -> None:
    f.members[f"{f.top}/nothing"] = Member(f"{f.top}/nothing")


def _listed_beside(name: str) -> Callable[[Forged], None]:
    def change(f: Forged) -> None:
        f.add(name)
        entry = f.document("bundle.json")["files"][-1]  # type: ignore[index]
        f.change("bundle.json", lambda d: d["files"].pop())  # type: ignore[attr-defined]
        f.change("export.json", lambda d: d["beside"].append(entry))  # type: ignore[attr-defined]

    return change


def _renamed(name: str) -> Callable[[Forged], None]:
    def change(f: Forged) -> None:
        old, f.top = f.top, f"{name}-{f.top.rpartition('-')[2]}"
        f.members = {
            (new := f.top + key[len(old) :]): Member(new, m.source, m.executable, m.link)
            for key, m in f.members.items()
        }
        f.change("bundle.json", lambda d: d.update(name=name))

    return change


def _manifest(**values: object) -> Callable[[Forged], None]:
    return lambda f: f.change("bundle.json", lambda d: d.update(values))


def _deep(f: Forged) -> None:
    f.write("bundle.json", b"[" * 200_000 + b"]" * 200_000)


def _other_lock(f: Forged) -> None:
    lock = f.document("lock.json") | {"requirements_sha256": "0" * 64}
    f.resize("lock.json", canonical.pretty(lock))


def _loose_form(f: Forged) -> None:
    f.write("bundle.json", f.read("bundle.json") + b"\n")


def _inside(change: Callable[[dict[str, Member]], object]) -> Callable[[Forged], None]:
    return lambda f: f.image(change)


def _more_inside(name: str, member: Member | None = None) -> Callable[[Forged], None]:
    return _inside(lambda m: m.update({name: member or Member(name, b"x")}))


def _text_inside(name: str, old: bytes, new: bytes) -> Callable[[Forged], None]:
    def change(members: dict[str, Member]) -> None:
        data = members[name].source
        assert isinstance(data, bytes)
        assert old in data
        members[name] = Member(name, data.replace(old, new))

    return _inside(change)


def _other_tag(f: Forged) -> None:
    """All of it fits, and loading it would replace the receiver's own base image."""
    old = str(f.document("export.json")["image"]["tag"])  # type: ignore[index]
    f.change("export.json", lambda d: d["image"].update(tag="debian:latest"))  # type: ignore[attr-defined]

    def inside(members: dict[str, Member]) -> None:
        for name, (was, new) in {
            "manifest.json": (old, "debian:latest"),
            "index.json": (f"docker.io/{old}", "docker.io/library/debian:latest"),
        }.items():
            data = members[name].source
            assert isinstance(data, bytes)
            assert was.encode() in data
            data = data.replace(was.encode(), new.encode())
            members[name] = Member(name, data.replace(old.rpartition(":")[2].encode(), b"latest"))

    f.image(inside)


def _layer(change: Callable[[bytes], bytes]) -> Callable[[Forged], None]:
    def within(members: dict[str, Member]) -> None:
        name = max((n for n in members if "sha256/" in n), key=lambda n: len(members[n].source or b""))  # type: ignore[arg-type]
        members[name] = Member(name, change(members[name].source))  # type: ignore[arg-type]

    return _inside(within)


def _bomb(f: Forged) -> None:
    frame = zstandard.ZstdCompressor(level=3).compressobj()
    zeros = bytes(1 << 20)
    f.write("image.tar.zst", b"".join(frame.compress(zeros) for _ in range(64)) + frame.flush())


def _declared_bomb(f: Forged) -> None:
    """A layer of a terabyte, as the manifest says itself."""
    f.change("bundle.json", lambda d: d["image"]["layers"][0].update(bytes=1 << 40))  # type: ignore[index]


def _wide_window(f: Forged) -> None:
    raw = zstandard.ZstdDecompressor().decompressobj().decompress(f.read("image.tar.zst"))
    wide = zstandard.ZstdCompressionParameters.from_level(3, window_log=27, enable_ldm=True)
    frame = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    f.write("image.tar.zst", frame.compress(raw) + frame.flush())


def _foreign_tar(data: bytes) -> bytes:
    """The same members from Python's own writer: other times, owners, order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(data)) as tar, tarfile.open(fileobj=out, mode="w") as new:
        for info in reversed(tar.getmembers()):
            info.mtime, info.uname = 1, "me"
            new.addfile(info, tar.extractfile(info) if info.isreg() else None)
    return out.getvalue()


HOSTILE: dict[str, tuple[Forge, str]] = {
    "traversal": (forged(_file("eval/../../../out")), "leads out"),
    "absolute": (with_header(slice(0, 100), b"/tmp/out"), "leads out"),
    "dot": (forged(_file("eval/./x")), "leads out"),
    "link-out": (forged(_link("eval/x", "/etc/passwd")), "leads out"),
    "link-up": (forged(_link("eval/x", "../../x")), "leads out"),
    "link-to-code": (forged(_link("eval/x", "../code.tar")), "leads out"),
    "link-elsewhere": (forged(_link("code2", "code.tar")), "leads out"),
    "link-around-a-corner": (forged(_around_the_corner), "leads out"),
    "write-through-a-link": (forged(_write_through), "folder that is not in the archive"),
    "link-to-code-tar": (forged(_link("params/x", "../eval")), "leads out"),
    "hard-link": (with_header(slice(156, 157), b"1"), "neither file, folder nor"),
    "device": (with_header(slice(156, 157), b"3"), "neither file, folder nor"),
    "block-device": (with_header(slice(156, 157), b"4"), "neither file, folder nor"),
    "pipe": (with_header(slice(156, 157), b"6"), "neither file, folder nor"),
    "sparse": (with_header(slice(156, 157), b"S"), "neither file, folder nor"),
    "pax": (with_header(slice(156, 157), b"x"), "neither file, folder nor"),
    "set-uid": (with_header(slice(100, 108), b"0004755\0"), "not as this tool writes it"),
    "owner": (with_header(slice(265, 297), b"root"), "not as this tool writes it"),
    "endless-size": (with_header(slice(124, 136), b"\x80" + b"\xff" * 11), ""),
    "case": (forged(_file("eval/data/A.csv")), "one name on some"),
    "folder-case": (forged(_file("Eval/b.csv")), "one name on some"),
    "composed": (forged(lambda f: (f.add("eval/\u00e9"), f.add("eval/e\u0301"))), "one name on some"),
    "long-part": (forged(_file("eval/" + "n" * 256)), "longer than 255"),
    "long-path": (forged(_file("eval/" + "/".join(["n" * 200] * 12))), "longer than"),
    "control": (forged(_file("eval/a\x1b[2Jb")), "control characters"),
    "unfinished": (forged(_file("eval/.part-import-1/x")), "not finished"),
    "reserved-image": (forged(_file("image.json", b"{}")), "kept for something else"),
    "reserved-runs": (forged(_file("runs/x")), "kept for something else"),
    "reserved-thin": (forged(_file("thin.json")), "kept for something else"),
    "reserved-case": (forged(_file("Thin.json")), "one name on some"),
    "beside": (forged(_listed_beside("image.json")), "no place beside"),
    "beside-code": (forged(_listed_beside("more.py")), "no place beside"),
    "unlisted": (forged(_unlisted), "not in its manifest"),
    "outside-the-folder": (forged(_beside_the_folder), "beside the bundle's folder"),
    "empty-folder": (forged(_empty_folder), "belongs to nothing"),
    "missing": (forged(lambda f: f.members.pop(f"{f.top}/code.tar")), "is missing"),
    "no-manifest": (lambda d: d[:512] + bytes(10240 - 512), "is missing"),
    "altered": (forged(lambda f: f.write("code.tar", b"other")), "not 9 bytes"),
    "id": (forged(_manifest(id="0" * 64)), "its id is"),
    "hidden-name": (forged(_renamed(".git")), "its folder is"),
    "option-name": (forged(_renamed("-rf")), "its folder is"),
    "newer": (forged(_manifest(schema=2)), "newer tool"),
    "unknown-field": (forged(_manifest(more=1)), "cannot be read"),
    "broken-document": (forged(lambda f: f.resize("eval.json", b"{}")), "cannot be read"),
    "other-lock": (forged(_other_lock), "is not the lock"),
    "deep": (forged(_deep), "cannot be read"),
    "loose-form": (forged(_loose_form), "canonical form"),
    "code-left-out": (
        forged(
            lambda f: (f.members.pop(f"{f.top}/code.tar"), f.change("export.json", _leave_out("code.tar")))
        ),
        "is no wheel nor",
    ),
    "wheels-left-out-and-there": (
        forged(lambda f: f.change("export.json", _leave_out("wheels/six-1-py3-none-any.whl"))),
        "not in its manifest",
    ),
    "program": (
        forged(lambda f: f.change("export.json", lambda d: d.update(programs=["Dockerfile"]))),
        "executed",
    ),
    "layer-altered": (forged(_layer(lambda data: data[:-1] + b"x")), "has sha256"),
    "layer-longer": (forged(_layer(lambda data: data + bytes(512))), "bytes, not"),
    "more-inside": (forged(_more_inside("blobs/sha256/" + "0" * 64)), "more or less"),
    "link-inside": (forged(_more_inside("blobs/x", Member("blobs/x", link="/etc"))), "none of its parts"),
    "folder-inside": (forged(_more_inside("more", Member("more"))), "more or less"),
    "other-name-inside": (
        forged(_text_inside("manifest.json", b"repro/tiny", b"debian/xxxx")),
        "something else than the image",
    ),
    "other-index-inside": (
        forged(_text_inside("index.json", b"schemaVersion", b"SchemaVersion")),
        "something else than the image",
    ),
    "other-tag": (forged(_other_tag), "wants the name"),
    "other-image": (
        forged(lambda f: f.change("export.json", lambda d: d["image"].update(config="sha256:" + "0" * 64))),  # type: ignore[attr-defined]
        "another image",
    ),
    "other-layers": (forged(lambda f: f.change("bundle.json", _swap_layers)), "lists of layers"),
    "not-lowest": (forged(lambda f: f.change("export.json", _leave_last_layer)), "not the image's lowest"),
    "bomb": (forged(_bomb), ""),
    "declared-bomb": (forged(_declared_bomb), "times as many"),
    "wide-window": (forged(_wide_window), "memory"),
    "no-zstd": (forged(lambda f: f.write("image.tar.zst", b"PK\3\4" * 9)), "frame"),
    "more-behind": (lambda d: d + b"x", "after the end"),
    "two-archives": (lambda d: d + d, "after the end"),
    "cut": (lambda d: d[: len(d) // 2], "ends early"),
    "empty": (lambda _d: b"", "ends early"),
    "compressed": (lambda d: gzip.compress(d, mtime=0), ""),
    "text": (lambda _d: b"hello\n" * 4000, ""),
    "foreign-tar": (_foreign_tar, "not as this tool"),
}


def _leave_out(name: str) -> Callable[[dict[str, object]], None]:
    return lambda d: d["left_out"].append(name)  # type: ignore[attr-defined]


def _swap_layers(document: dict[str, object]) -> None:
    document["image"]["layers"].reverse()  # type: ignore[index]


def _leave_last_layer(document: dict[str, object]) -> None:
    document["image"]["left_out"] = ["sha256:" + "0" * 64]  # type: ignore[index]


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_and_leaves_no_trace(
    name: str, sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, words = HOSTILE[name]
    file = tmp_path / "f.repro"
    file.write_bytes(make(sample.packed(tmp_path).path.read_bytes()))
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "cache"))
    before = everything_below(tmp_path)
    with pytest.raises(ReproError) as caught:
        import_(file, ImportOptions(out=tmp_path / "there", load=False), silent)
    assert caught.value.code == "import-refused"
    assert words in " ".join(caught.value.found)
    assert everything_below(tmp_path) == before


def test_what_was_not_changed_is_taken(sample: Sample, tmp_path: Path) -> None:
    """The forge itself changes nothing: else all of the above would be refused for that."""
    data = sample.packed(tmp_path).path.read_bytes()
    found = Forged(data)
    found.image(lambda _members: None)
    file = tmp_path / "f.repro"
    file.write_bytes(found.finish())
    import_(file, ImportOptions(out=tmp_path / "there", load=False), silent)


def test_links_that_stay_in_the_evaluation_set_are_taken(sample: Sample, tmp_path: Path) -> None:
    found = Forged(sample.packed(tmp_path).path.read_bytes())
    found.add("eval/data/deep/c", link="../..")
    found.add("eval/data/nowhere", link="not-there")
    file = tmp_path / "f.repro"
    file.write_bytes(found.finish())
    made = import_(file, ImportOptions(out=tmp_path / "there", load=False), silent)
    assert (made.bundle.path / "eval/data/deep/c").resolve() == made.bundle.path / "eval"
