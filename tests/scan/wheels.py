"""Makes wheels and archives of file systems out of fixtures."""

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
FATBIN, ELF = FIXTURES / "fatbin", FIXTURES / "elf"

VERSION_PY = (
    "__version__ = '1.13.1+cu117'\ndebug = False\ncuda: Optional[str] = '11.7'\ngit_version = '49444c3'\n"
)
TARGETS = ["sm_37", "sm_80", "sm_86"]


def fat(name: str) -> bytes:
    return (FATBIN / name).read_bytes()


def plain(name: str) -> bytes:
    return (ELF / name).read_bytes()


def python_library() -> bytes:
    """A libtorch_python.so: an object, with the list of targets somewhere in it."""
    return plain("libc10.so") + b"\0std::string ipc_h" + " ".join(TARGETS).encode() + b"\0more text\0sm_99\0"


TORCH = {
    "torch/version.py": VERSION_PY.encode(),
    "torch/lib/libc10.so": plain("libc10.so"),
    "torch/lib/libtorch_python.so": python_library(),
}
EXTENSION = {"ext/libextension.so": plain("old.so"), "ext/part.so": plain("part.so")}


def noise(size: int) -> bytes:
    """Bytes that do not compress, always the same."""
    return hashlib.shake_256(b"noise").digest(size)


def dist_info(name: str, version: str) -> dict[str, bytes]:
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: x\n\nName: of no matter\n"
    return {f"{name}-{version}.dist-info/METADATA": metadata.encode()}


def wheel(
    folder: Path,
    name: str,
    version: str,
    files: dict[str, bytes],
    method: int = zipfile.ZIP_DEFLATED,
) -> Path:
    path = folder / f"{name}-{version}-cp310-cp310-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w", method) as archive:
        for member, data in (files | dist_info(name, version)).items():
            archive.writestr(member, data)
    return path


def installed(name: str, version: str, files: dict[str, bytes]) -> dict[str, bytes]:
    """The files as they lie in site-packages, RECORD among them."""
    found = files | dist_info(name, version)
    record = f"{name}-{version}.dist-info/RECORD"
    rows = [f'"{path}",sha256=x,{len(data)}' for path, data in found.items()]
    return found | {record: "\n".join([*rows, f"{record},,"]).encode()}


def tar(
    files: dict[str, bytes], links: dict[str, str] | None = None, twins: dict[str, str] | None = None
) -> bytes:
    """An archive of files, symbolic links and, after them, hard links."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
        for name, target in (twins or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.LNKTYPE, target
            archive.addfile(info)
    return out.getvalue()
