"""The manifest of a bundle: what decides the result, and the digest of every file."""

from typing import Any

from msgspec import UNSET, UnsetType

from repro.model.canonical import digest
from repro.model.image import ImageContent
from repro.model.record import Record
from repro.model.snapshot import FileEntry


class Base(Record, kw_only=True):
    """The image that the bundle's image starts from.

    Attributes:
        asked: reference from the settings; `used`: reference or id that was taken.
        id: the engine's image id; `repo_digest` when a registry gave it, else empty.
        layers: diff ids of its layers, which identify its content on every engine.
        config: what its configuration passes on (Env, Labels, ...), in OCI's words.
        architecture: as OCI names it, `amd64`.
    """

    asked: str
    used: str
    id: str
    repo_digest: str = ""
    layers: list[str] = []
    config: dict[str, Any] = {}
    architecture: str = ""


class Identity(Record, kw_only=True):
    """The digests of all that decides a result. Their digest is the bundle's id."""

    tree: str
    patch: str
    lock: str
    params: str
    eval: str
    protocol: str
    base: str
    runtime: str

    @property
    def id(self) -> str:
        """Hex SHA-256 over the canonical form."""
        return digest(self)


class RunSpec(Record, kw_only=True):
    """What the runtime needs to run the bundle; the file `protocol.json`.

    Attributes:
        command: with {params}, {out} and {eval}.
        params_file: file name that {params} stands for, empty when there are none.
        params_path: where that file belongs; eval_path: where the evaluation set belongs. Both are
            relative to the working folder.
        subfolder: working folder relative to the top of the code, empty for the top.
        protocol: the settings' [protocol] table, names of parameters resolved to values.
        arch_list: TORCH_CUDA_ARCH_LIST in the image, made from the targets; not written when there is none.
    """

    schema: int = 1
    name: str
    command: list[str]
    params_file: str
    params_path: str = ""
    eval_path: str
    subfolder: str
    eval_command: list[str] = []
    metrics: str
    rows: str
    log: dict[str, str]
    checkpoint_dir: str
    resume: list[str]
    protocol: dict[str, Any]
    arch_list: str | UnsetType = UNSET


class ImageRecord(Record, kw_only=True):
    """The built image: `id` as the engine names it; sizes in bytes; `layers` newest last."""

    schema: int = 1
    engine: str
    tag: str
    id: str
    bytes: int
    layers: list[str]


class Manifest(Record, kw_only=True):
    """`bundle.json`. `files` names every other file of the bundle except `runs/` and `image.json`.

    `image` says what image its content gives; None for a bundle that was made without an engine.
    """

    schema: int = 1
    id: str
    name: str
    tool: str
    identity: Identity
    base: Base
    image: ImageContent | None = None
    files: list[FileEntry]
