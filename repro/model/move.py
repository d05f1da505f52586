"""The list in an exported file, and the note in a bundle's folder that came thin."""

from repro.model.record import Record
from repro.model.snapshot import FileEntry


class ExportedImage(Record, kw_only=True):
    """The image in an exported file.

    Attributes:
        tag: the name that it gets where it is loaded.
        config, manifest: its digests, those of the manifest's `image`.
        bytes, sha256: of `image.tar.zst`.
        left_out: digests of the lowest layers, which the archive does without.
    """

    tag: str
    config: str
    manifest: str
    bytes: int
    sha256: str
    left_out: list[str] = []


class Export(Record, kw_only=True):
    """`export.json`: what an exported file holds besides what its `bundle.json` lists.

    Attributes:
        bundle: hex SHA-256 of `bundle.json`.
        image: None when the file carries none.
        left_out: files of the bundle that are not in the file: wheels, layers of the base image.
        beside: files that the manifest does not list: signature, seed checkpoint, reference, runs.
        programs: those that may be executed.
    """

    schema: int = 1
    bundle: str
    image: ExportedImage | None = None
    left_out: list[str] = []
    beside: list[FileEntry] = []
    programs: list[str] = []


class Thin(Record, kw_only=True):
    """`thin.json` in a bundle's folder: what was left out on the way to it.

    Attributes:
        files: wheels and layers of the base image, by their paths in the bundle.
        layers: digests of layers of the image that were not sent; whoever has them needs them no second time.
    """

    schema: int = 1
    files: list[str] = []
    layers: list[str] = []
