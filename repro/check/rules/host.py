"""Rules about the machine around the stack: a driver that is not ready, libraries that are found first."""

import re
from collections.abc import Iterator

from repro.check.finding import finding
from repro.model.check import Finding, Stack, Target
from repro.tables.read import table

_PATH = re.compile(
    r"ld_library_path|ld_preload|(?:library|loader|linker|search) path"
    r"|ld\.so\.conf|ldconfig|module load|found first",
    re.IGNORECASE,
)
_PATHS = r"(?:ld_library_path|(?:library|loader) path)"
_OFF = r"(?:unset|empty|not set|clean(?:ed)?|cleared|removed)"
_NOT_SET = re.compile(
    rf"\b(?:nothing|none)\b[^.;]*path|(?:{_OFF}|no|without)\s+(?:\w+\s+)?{_PATHS}|{_PATHS}\s+(?:is\s+|was\s+)?{_OFF}",
    re.IGNORECASE,
)
_CUDA = re.compile(
    r"(?:cuda|cublas|cudart|toolkit)[-\s/]*(?:runtime|toolkit|version)?[-\s]*v?(\d{1,2}\.\d)", re.IGNORECASE
)

_FABRIC = 802


def cuda_init(stack: Stack, _target: Target) -> Iterator[Finding]:
    """What cuInit answered on the machine."""
    code = stack.cuda_error
    if not code:
        return
    row = table("cuda_init_errors")["error"].get(str(code), {})
    found = f"cuInit answers {code}" + (f" ({row['name']})" if row else "")
    fix = [row["fix"], "another machine"] if row else ["nvidia-smi", "another machine"]
    if code == _FABRIC:
        yield finding("host-fabric-manager", found, needed="0", why=row["means"], fix=fix)
    else:
        yield finding(
            "host-cuda-init", found, needed="0", why=row.get("means", "the driver does not start"), fix=fix
        )


def library_path(stack: Stack, _target: Target) -> Iterator[Finding]:
    """CUDA libraries on the loader's path are found before those that came with torch."""
    detail = stack.detail
    if not _PATH.search(detail) or _NOT_SET.search(detail):
        return
    theirs = _CUDA.search(detail)
    same = theirs is not None and theirs[1] == stack.torch.cuda
    yield finding(
        "library-path-same" if same else "library-path-shadows",
        f"{detail}; torch was built for CUDA {stack.torch.cuda or 'not known'}",
        needed="no CUDA libraries on the loader's path",
        fix=[_off_path(detail), "a plain base image, such as debian:bookworm-slim"],
        where=stack.torch.where,
    )


def _off_path(detail: str) -> str:
    """What takes the libraries off the path that the words name."""
    text = detail.lower()
    if "ld.so.conf" in text or "ldconfig" in text:
        return "take the folder out of /etc/ld.so.conf.d, then run ldconfig"
    if "module load" in text:
        return "module unload the CUDA module"
    return "unset LD_PRELOAD" if "ld_preload" in text else "unset LD_LIBRARY_PATH"
