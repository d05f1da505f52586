"""Which files can hold compiled code: by name first, which costs nothing, then by their first bytes."""

import re

from repro.scan.elf.layout import MAGIC as ELF
from repro.scan.fatbin.container import MAGIC as FATBIN

# Endings of files that wheels are full of and that are never compiled for this platform.
_NEVER = {
    *(".py", ".pyi", ".pyx", ".pxd", ".pyc", ".typed", ".h", ".hpp", ".hh", ".hxx", ".cuh", ".inl", ".inc"),
    *(".c", ".cc", ".cpp", ".cxx", ".cu", ".ipp", ".f90", ".proto", ".cmake", ".pc", ".in", ".sh", ".bat"),
    *(".txt", ".md", ".rst", ".json", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".xml", ".csv", ".tsv"),
    *(".html", ".css", ".js", ".ts", ".map", ".svg", ".png", ".jpg", ".jpeg", ".gif", ".ico", ".ttf"),
    *(".gz", ".bz2", ".xz", ".zip", ".npy", ".npz", ".pt", ".pth", ".safetensors", ".onnx", ".h5"),
    *(".po", ".mo", ".pem", ".pdf", ".ipynb", ".tmpl", ".jinja", ".j2", ".woff", ".woff2", ".parquet"),
    *(".a", ".lib", ".pyd", ".dll", ".exe"),
}
_SHARED = re.compile(r"\.so(?:\.\d+)*$")


def may_be_compiled(path: str) -> bool:
    """Whether a file of that name is worth opening."""
    folder, _, name = path.rpartition("/")
    if folder.endswith((".dist-info", ".egg-info")):
        return False
    dot = name.rfind(".")
    return dot < 1 or name[dot:].lower() not in _NEVER


def is_compiled(head: bytes) -> bool:
    """Whether a file that starts so is an ELF file or a bare container file."""
    return head[:4] in (ELF, FATBIN)


def is_shared_name(path: str) -> bool:
    """Whether the name promises a shared object: `_C.so`, `libz.so.1.2.11`."""
    return _SHARED.search(path) is not None
