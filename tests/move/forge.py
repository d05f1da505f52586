"""Takes exported files apart and puts them together again, as somebody would who means harm."""

import io
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import zstandard

from repro import tarball
from repro.files import sha256_bytes
from repro.model import canonical
from repro.tarball import Member

Json = dict[str, object]


def take_apart(data: bytes) -> dict[str, Member]:
    """Members by name, folders too."""
    found = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for info in tar:
            source = tar.extractfile(info).read() if info.isreg() else None  # type: ignore[union-attr]
            link = info.linkname if info.issym() else ""
            found[info.name] = Member(info.name, source, bool(info.mode & 0o100) and info.isreg(), link)
    return found


def put_together(members: dict[str, Member]) -> bytes:
    """The archive that `tarball` makes of them."""
    out = io.BytesIO()
    tarball.write(out, members.values())
    return out.getvalue()


class Forged:
    """An exported file whose parts can be changed one by one, with all digests made to fit afterwards."""

    def __init__(self, data: bytes) -> None:
        self.members = take_apart(data)
        self.top = next(iter(self.members))

    def document(self, name: str) -> Json:
        found: Json = msgspec.json.decode(self.read(name))
        return found

    def read(self, name: str) -> bytes:
        data = self.members[f"{self.top}/{name}"].source
        assert isinstance(data, bytes)
        return data

    def write(self, name: str, data: bytes) -> None:
        full = f"{self.top}/{name}"
        self.members[full] = replace(self.members.get(full, Member(full)), source=data)

    def change(self, name: str, change: Callable[[Json], object]) -> None:
        found = self.document(name)
        change(found)
        self.write(name, canonical.pretty(found))

    def add(self, name: str, data: bytes = b"x", link: str = "") -> None:
        """One more file of the bundle, listed in its manifest."""
        held = link.encode() if link else data
        entry = {"path": name, "bytes": len(held), "sha256": sha256_bytes(held)}
        self.change("bundle.json", lambda d: d["files"].append(entry))  # type: ignore[attr-defined]
        full = f"{self.top}/{name}"
        self.members[full] = Member(full, None if link else data, link=link)

    def resize(self, name: str, data: bytes) -> None:
        """Other content for a file that the manifest lists, and its row there made to fit."""
        self.write(name, data)
        row = {"path": name, "bytes": len(data), "sha256": sha256_bytes(data)}

        def fit(manifest: Json) -> None:
            rows = manifest["files"]
            manifest["files"] = [row if old["path"] == name else old for old in rows]  # type: ignore[attr-defined]

        self.change("bundle.json", fit)

    def image(self, change: Callable[[dict[str, Member]], object], level: int = 3) -> None:
        """Change the archive inside."""
        inner = take_apart(
            zstandard.ZstdDecompressor().decompressobj().decompress(self.read("image.tar.zst"))
        )
        change(inner)
        packed = zstandard.ZstdCompressor(level=level).compress(put_together(inner))
        self.write("image.tar.zst", packed)

    def image_bytes(self, change: Callable[[bytes], bytes]) -> None:
        """Change the archive inside, byte by byte."""
        inner = zstandard.ZstdDecompressor().decompressobj().decompress(self.read("image.tar.zst"))
        self.write("image.tar.zst", zstandard.ZstdCompressor(level=3).compress(change(inner)))

    def put(self) -> bytes:
        """The file as it is now, whether its digests fit or not."""
        return put_together(self.members)

    def finish(self) -> bytes:
        """The file, in which `export.json` names what is there now."""
        image = self.read("image.tar.zst")

        def fit(record: Json) -> None:
            record["bundle"] = sha256_bytes(self.read("bundle.json"))
            record["image"] |= {"bytes": len(image), "sha256": sha256_bytes(image)}  # type: ignore[operator]

        self.change("export.json", fit)
        return self.put()


def header_at(data: bytes, name: str) -> int:
    """Where the header of the member of that name begins, below the first one."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        members = tar.getmembers()
        return next(m.offset for m in members if m.name == f"{members[0].name}/{name}")


def with_checksum(data: bytearray, at: int) -> bytes:
    """The archive, the checksum of one header put right."""
    data[at + 148 : at + 156] = b" " * 8
    data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
    return bytes(data)


def everything_below(*folders: Path) -> dict[str, tuple[int, int]]:
    """Kind, size of all that lies there, to be held against what lies there later."""
    paths = [path for folder in folders for path in (folder, *folder.rglob("*")) if path.exists()]
    return {
        str(path): (path.lstat().st_mode, path.lstat().st_size if path.is_file() else 0) for path in paths
    }
