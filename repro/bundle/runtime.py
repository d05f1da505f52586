"""The files that a bundle carries as `repro_runtime`: the runtime's own, and NVIDIA's reader of cards."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from repro.errors import ReproError
from repro.files import sha256_bytes
from repro.paths import runtime_folder

FOLDER = "repro_runtime"
_READER = "nvidia-ml-py"
_MODULE = "pynvml.py"


def lay_runtime(folder: Path) -> None:
    """Write the runtime into a bundle's folder, as `repro_runtime/`; raises tool-incomplete."""
    for name, content in runtime_files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def runtime_digests() -> dict[str, str]:
    """SHA-256 of every file of the runtime by its path in a bundle; raises tool-incomplete."""
    return {name: sha256_bytes(content) for name, content in runtime_files().items()}


def runtime_files() -> dict[str, bytes]:
    """Content of every file of the runtime by its path in a bundle, `repro_runtime/job.py`.

    `vendor/pynvml.py` is that of the nvidia-ml-py beside this tool, its licence (BSD, three clauses) in its
    first lines. It is part of the digest like every other byte in the image: another version of it makes
    another bundle.

    Raises:
        tool-incomplete: nvidia-ml-py is not installed.
    """
    own = runtime_folder()
    paths = [p for p in sorted(own.rglob("*")) if p.is_file() and "__pycache__" not in p.parts]
    files = {f"{FOLDER}/{path.relative_to(own).as_posix()}": path.read_bytes() for path in paths}
    module, version = _reader()
    files[f"{FOLDER}/vendor/{_MODULE}"] = module
    files[f"{FOLDER}/vendor/SOURCE"] = f"{_MODULE} of {_READER} {version}, unchanged\n".encode()
    return files


def _reader() -> tuple[bytes, str]:
    """The module as its distribution lists it: another one of the name `pynvml` may stand before it."""
    try:
        found = distribution(_READER)
        return Path(str(found.locate_file(_MODULE))).read_bytes(), found.version
    except (PackageNotFoundError, OSError) as problem:
        raise ReproError(
            "tool-incomplete",
            f"`{_MODULE}` of {_READER} is not where it was installed",
            found=str(problem),
            needs=f"{_READER} beside this tool: its module reads the card from inside the container",
            done="no bundle was made",
            tries=[f"python -m pip install --force-reinstall {_READER}"],
        ) from problem
