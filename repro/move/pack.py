"""Writes a bundle into one file: a plain tar, so that `tar xf` gives its folder where nothing of ours is."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from repro import oci, tarball
from repro.errors import ReproError
from repro.events import Meter, Note, Sink, step
from repro.files import folder_aside, sha256_bytes, sync_folder
from repro.model import canonical
from repro.model.bundle import Manifest
from repro.model.move import Export, ExportedImage
from repro.model.snapshot import FileEntry
from repro.move import names
from repro.move.image import compress
from repro.move.stream import Writing, copy
from repro.tarball import Member


@dataclass(frozen=True)
class Wish:
    """What is to be packed.

    Attributes:
        folder, manifest: the bundle, held against its manifest before.
        image: None to pack none; `tag` is its name in an engine.
        held: number of the image's lowest layers that the receiver has.
        spare: whether wheels and the base image's layers go along. runs: whether runs do.
    """

    folder: Path
    manifest: Manifest
    image: oci.OciImage | None
    tag: str = ""
    held: int = 0
    spare: bool = True
    runs: bool = False


@dataclass(frozen=True)
class Packed:
    """The file that was made, its size in bytes and digest, and what it says of itself."""

    path: Path
    bytes: int
    sha256: str
    record: Export


def pack(wish: Wish, target: Path, sink: Sink) -> Packed:
    """Make `target`, in place of a file that may be there; whole or not at all.

    Raises:
        export-name: a file has a name that `repro import` refuses.
        export-changed: a file or a layer is not what the manifest says. disk-full: no space is left.
    """
    own = _own(wish)
    beside = list(_beside(wish, sink))
    _check(wish.folder, [*own, *beside])
    with folder_aside(target.parent, "export") as aside:
        image = _image(wish, aside.path / names.IMAGE, sink)
        record = Export(
            bundle=sha256_bytes((wish.folder / names.MANIFEST).read_bytes()),
            image=image,
            left_out=sorted({entry.path for entry in wish.manifest.files} - set(own)),
            beside=[_entry(wish.folder, name) for name in beside],
            programs=[name for name in sorted([*own, *beside]) if _is_program(wish.folder / name)],
        )
        members = [_member(wish.folder, name) for name in (*own, names.MANIFEST, *beside)]
        members += [Member(path.name) for path in wish.folder.iterdir() if _is_part(path)]
        members.append(Member(names.EXPORT, canonical.pretty(record)))
        if image:
            members.append(Member(names.IMAGE, aside.path / names.IMAGE))
        made = _write(wish, aside.path / target.name, members, record, sink)
        os.replace(aside.path / target.name, target)
        sync_folder(target.parent)
    return Packed(target, made.bytes, made.sha256, record)


def top_of(manifest: Manifest) -> str:
    """Name of a bundle's folder."""
    return f"{manifest.name}-{manifest.id[:12]}"


def _own(wish: Wish) -> list[str]:
    listed = [entry.path for entry in wish.manifest.files]
    return [name for name in listed if wish.spare or not names.is_spare(name)]


def _beside(wish: Wish, sink: Sink) -> Iterator[str]:
    """Files that the manifest does not list; links and pipes among them stay here, and that is said."""
    if (wish.folder / names.SIGNATURE).is_file():
        yield names.SIGNATURE
    passed = []
    for part in names.BESIDE[: None if wish.runs else -1]:
        for path in sorted((wish.folder / part).rglob("*")):
            name = path.relative_to(wish.folder).as_posix()
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                passed.append(name)
            elif path.is_file() and "/.part-" not in f"/{name}":
                yield name
    if passed:
        more = f" and {len(passed) - 3} more" if len(passed) > 3 else ""
        text = f"no plain files, so they stay here: {', '.join(passed[:3])}{more}"
        sink(Note("warning", text))


def _check(folder: Path, packed: Sequence[str]) -> None:
    """Raise export-name for what import would refuse: better here than at the receiver's."""
    found = [f"{name!r} {why}" for name in packed if (why := names.fault(name))]
    links = [(name, str((folder / name).readlink())) for name in packed if (folder / name).is_symlink()]
    found += [f"{name!r} -> {text!r} {why}" for name, text in links if (why := names.link_fault(name, text))]
    if not found and (pair := names.collision(packed)):
        found = [f"{pair[0]!r} and {pair[1]!r} are one name on some file systems"]
    if found:
        raise ReproError(
            "export-name",
            f"bundle `{folder.name}` holds files that no `repro import` takes",
            found=found[:8],
            needs="names of printable text, up to 255 bytes a part, told apart by more than their case",
            done="no file was made",
            tries=["rename them in the project, commit, then: repro build"],
        )


def _is_part(path: Path) -> bool:
    """A folder of the bundle's own, which may be empty."""
    plain = path.is_dir() and not path.is_symlink()
    return plain and path.name in names.FOLDERS


def _is_program(path: Path) -> bool:
    return not path.is_symlink() and bool(path.stat().st_mode & 0o100)


def _member(folder: Path, name: str) -> Member:
    path = folder / name
    if path.is_symlink():
        return Member(name, link=str(path.readlink()))
    return Member(name, path, executable=_is_program(path))


def _entry(folder: Path, name: str) -> FileEntry:
    with (folder / name).open("rb") as source:
        return FileEntry(path=name, bytes=(folder / name).stat().st_size, sha256=copy(source))


def _image(wish: Wish, target: Path, sink: Sink) -> ExportedImage | None:
    if wish.image is None:
        return None
    with step(sink, "image") as shown:
        try:
            size, sha256 = compress(wish.image, wish.tag, wish.held, target, sink)
        except ValueError as problem:
            raise changed(str(problem), "a layer with the digest of its name") from problem
        left = [layer.digest for layer in wish.image.layers[: wish.held]]
        sent = sum(layer.bytes for layer in wish.image.layers[wish.held :])
        shown.detail = f"{sent / 1e6:,.1f} MB of layers in {size / 1e6:,.1f} MB"
        shown.detail += f", {len(left)} layers left out" if left else ""
    return ExportedImage(
        tag=wish.tag,
        config=wish.image.config_digest,
        manifest=wish.image.manifest_digest,
        bytes=size,
        sha256=sha256,
        left_out=left,
    )


def _write(wish: Wish, part: Path, members: list[Member], record: Export, sink: Sink) -> Writing:
    digests = {entry.path: entry.sha256 for entry in (*wish.manifest.files, *record.beside)}
    digests[names.MANIFEST] = record.bundle
    if record.image:
        digests[names.IMAGE] = record.image.sha256
    total = sum(member.content().size for member in members if not member.link)
    top = top_of(wish.manifest)

    def told(member: Member, sha256: str) -> None:
        name = member.name.partition("/")[2]
        if sha256 and digests.get(name, sha256) != sha256:
            raise changed(f"{name}: sha256 {sha256}", f"sha256 {digests[name]}")

    with step(sink, "export") as shown, part.open("wb") as out:
        made = Writing(out, Meter(sink, "exporting", total).add)
        within = [Member(f"{top}/{m.name}", m.source, m.executable, m.link) for m in members]
        try:
            tarball.write(cast("IO[bytes]", made), within, told)
        except OSError as problem:
            raise _moving(problem) or problem from None
        out.flush()
        os.fsync(out.fileno())
        shown.detail = f"{made.bytes / 1e6:,.1f} MB"
    return made


def _moving(problem: OSError) -> ReproError | None:
    """The error for a file that is gone, or grew: a run that goes on writes to its own."""
    if isinstance(problem, FileNotFoundError):
        return changed(
            f"`{Path(str(problem.filename)).name}` is gone", "a bundle that nobody changes meanwhile"
        )
    return None if problem.errno else changed(str(problem), "a bundle that nobody changes meanwhile")


def changed(found: str, needs: str) -> ReproError:
    """The error for something that is not what was listed."""
    return ReproError(
        "export-changed",
        "what was to be exported is not what the manifest lists",
        found=found,
        needs=needs,
        done="no file was made",
        tries=["repro verify BUNDLE", "repro export BUNDLE"],
    )
