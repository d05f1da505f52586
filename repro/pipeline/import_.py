"""An exported file becomes a bundle's folder, and its image comes into the engine."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from repro import bundle as bundles
from repro import move, oci, paths
from repro.bundle import Bundle
from repro.bundle.find import HOME
from repro.engine.contract import ImageEngine
from repro.engine.docker import DockerEngine
from repro.errors import ReproError
from repro.events import Note, Sink, step
from repro.files import alone, folder_aside, write_whole
from repro.image import image_tag
from repro.model import canonical
from repro.model.bundle import ImageRecord
from repro.move import Checked
from repro.pipeline import signed
from repro.pipeline.landing import landed
from repro.pipeline.ready import damaged
from repro.tarread import RefusedError


@dataclass(frozen=True)
class ImportOptions:
    """What a user may say about one import.

    Attributes:
        out: folder for bundles; None for the nearest `.repro`, or a new one in the current folder.
        load: whether the image goes into the engine.
        keys: public keys, one of which must have signed the bundle.
    """

    out: Path | None = None
    load: bool = True
    keys: Sequence[Path] = ()


@dataclass(frozen=True)
class Imported:
    """The bundle; its image, None when it was not loaded; whether the folder was there already."""

    bundle: Bundle
    image: ImageRecord | None
    cached: bool

    @property
    def left_out(self) -> frozenset[str]:
        """Wheels and base layers that are not in its folder."""
        return bundles.left_out(self.bundle.path)


def import_(file: Path, options: ImportOptions, sink: Sink) -> Imported:
    """Check all of the file, then write the bundle's folder, then load its image.

    A kill leaves nothing that counts as whole; the same command then goes on from what is.

    Raises:
        import-refused: a byte is not as it was exported; nothing was written or loaded.
        import-in-the-way: something else has the folder's name.
        import-layers-missing: a thin file, and what it left out is not here.
        signature-missing, signature-untrusted, signature-altered: see `repro.pipeline.signed`.
    """
    with file.open("rb") as source:  # one opening: what is checked is what is written
        with step(sink, "verify") as shown:
            checked = move.check(source, str(file), file.stat().st_size, sink)
            _check_tag(checked, file)
            shown.detail = f"{len(checked.manifest.files)} files, {checked.top}"
        manifest = checked.documents["bundle.json"]
        signed.tell(checked.top, signed.judged(checked.top, manifest, checked.signature, options.keys), sink)
        engine = _engine(checked, checked.image) if options.load and checked.image else None
        home = options.out or home_of(Path.cwd())
        with alone(home / checked.top):
            cached = _place(source, file, checked, home, sink)
        bundle = bundles.open_bundle(home / checked.top)
        record = _load(source, file, checked, bundle, engine, sink)
    return Imported(bundle, record, cached)


def _check_tag(checked: Checked, file: Path) -> None:
    """An image comes in under its bundle's name, never in place of another one."""
    own = image_tag(checked.manifest.name, checked.manifest.id)
    if checked.record.image and checked.record.image.tag != own:
        with move.refusing(str(file)):
            raise RefusedError(f"its image wants the name {checked.record.image.tag!a}, not {own!a}")


def home_of(start: Path) -> Path:
    """The nearest `.repro`, or a new one that git does not see."""
    near = (folder / HOME for folder in (start, *start.parents))
    home = next((folder for folder in near if folder.is_dir()), start / HOME)
    if not (home / ".gitignore").exists():
        write_whole(home / ".gitignore", b"*\n")
    return home


def _engine(checked: Checked, image: oci.OciImage) -> ImageEngine:
    """The engine that takes the image; asked before anything is written."""
    engine = DockerEngine()
    engine.info()
    blobs = oci.Blobs(paths.cache())
    left = checked.record.image.left_out if checked.record.image else []
    absent = [digest for digest in left if not blobs.find(digest)]
    if absent and (held := engine.held_layers(image)) < len(left):
        raise ReproError(
            "import-layers-missing",
            "the file leaves out layers of its image that are not here",
            found=f"{len(left)} left out, {held} of them in this engine, {len(absent)} not in the cache",
            needs=[f"layer {digest.removeprefix('sha256:')[:12]}" for digest in left[held:][:8]],
            done="nothing was written or loaded",
            tries=[
                "repro export BUNDLE      (where the bundle lies: whole, without --thin)",
                "repro import FILE --no-load      (the bundle's files alone)",
            ],
        )
    return engine


def _place(source: IO[bytes], file: Path, checked: Checked, home: Path, sink: Sink) -> bool:
    """Have the folder; whether it was there, and is then added to where it lacks something."""
    target = home / checked.top
    there = os.path.lexists(target)
    if there:
        _same(target, checked)
        if not _lacks(target, checked):
            return True
    with step(sink, "import") as shown, folder_aside(home, "import") as aside:
        source.seek(0)
        move.unpack(source, str(file), checked, aside.path, sink)
        shown.cached, shown.detail = there, landed(aside, target, sink)
    return there


def _same(target: Path, checked: Checked) -> None:
    """Raise unless the folder that is there is the same bundle, and whole."""
    path = target / "bundle.json"
    if not path.is_file() or path.read_bytes() != checked.documents["bundle.json"]:
        raise ReproError(
            "import-in-the-way",
            f"`{target}` is there, and is not this bundle",
            found="another manifest" if path.is_file() else "no bundle.json in it",
            needs="the same bundle, or nothing",
            done="it was not touched",
            tries=["repro import FILE -o FOLDER", f"mv {target} {target}.old"],
        )
    there = bundles.open_bundle(target)
    if damage := bundles.verify(there):
        raise damaged(there, damage)


def _lacks(target: Path, checked: Checked) -> bool:
    """Whether the file has something that the folder has not."""
    more = any(not (target / entry.path).exists() for entry in checked.record.beside)
    return more or ((target / "thin.json").exists() and move.thin_of(checked) is None)


def _load(
    source: IO[bytes], file: Path, checked: Checked, bundle: Bundle, engine: ImageEngine | None, sink: Sink
) -> ImageRecord | None:
    """Keep the layers, whether or not they are loaded: the image can be made of them later."""
    if checked.record.image is None:
        sink(Note("note", "the file carries no image"))
        return None
    with step(sink, "layers") as shown:
        source.seek(0)
        image = move.keep_layers(source, str(file), checked, oci.Blobs(paths.cache()), sink)
        here = [layer for layer in image.layers if layer.path]
        shown.detail = f"{len(here)} of {len(image.layers)} here, {sum(a.bytes for a in here) / 1e6:,.1f} MB"
    if engine is None:
        return None
    with step(sink, "load") as shown:
        info = engine.load(image, checked.record.image.tag, sink)
        record = ImageRecord(
            engine=engine.info().kind,
            tag=checked.record.image.tag,
            id=info.id,
            bytes=info.bytes,
            layers=list(info.layers),
        )
        write_whole(bundle.path / "image.json", canonical.pretty(record))
        shown.detail = record.tag
    return record


__all__ = ["ImportOptions", "Imported", "home_of", "import_"]
