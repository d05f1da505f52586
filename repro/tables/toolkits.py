"""CUDA toolkits: the drivers that run what they make, and the targets their compilers know."""

import re
from functools import cache

import msgspec

from repro.model.record import Record
from repro.tables.drivers import driver_key
from repro.tables.read import table


class Update(Record, kw_only=True):
    """One release of a toolkit and the driver that came with it."""

    name: str
    driver: str


class Toolkit(Record, kw_only=True):
    """One toolkit, `11.8`; what is not known of the newest is empty.

    Attributes:
        driver_branch: branch that first knew it, `R520`.
        min_driver_shipped: driver of its first release, `520.61.05`; `releases`: each update with its driver.
        min_driver_minor_compat: lowest driver that runs its machine code (not its PTX).
        ptx_isa: version of the PTX it writes, `7.8`.
        sass: targets its compiler knows, `sm_90a`; added and removed against the toolkit before.
    """

    version: str
    min_driver_minor_compat: str
    sass: tuple[str, ...]
    sass_first: str
    sass_last: str
    sass_source: str
    source: str
    driver_branch: str = ""
    min_driver_shipped: str = ""
    releases: tuple[Update, ...] = ()
    ptx_isa: str = ""
    sass_added: tuple[str, ...] = ()
    sass_removed: tuple[str, ...] = ()


@cache
def toolkits() -> dict[str, Toolkit]:
    """All toolkits by version, oldest first."""
    rows = msgspec.convert(table("cuda_toolkits")["toolkit"], list[Toolkit])
    return {row.version: row for row in rows}


def toolkit(version: str) -> Toolkit | None:
    """The toolkit of a version as people write it, `11.8` or `11.8.89`; else None."""
    found = re.match(r"(\d+\.\d+)(?![^.])", version.strip())
    return toolkits().get(found[1]) if found else None


def toolkit_of_isa(isa: str) -> Toolkit | None:
    """The oldest toolkit that writes a PTX version, `8.7`; None when none in the table does."""
    return next((row for row in toolkits().values() if isa and row.ptx_isa == isa), None)


def first_toolkit(sm: str) -> Toolkit | None:
    """The oldest toolkit whose compiler knows a target, `sm_86`; else None."""
    return next((row for row in toolkits().values() if sm in row.sass), None)


def driver_floor(cuda: str) -> str:
    """Lowest Linux driver that runs machine code of a CUDA version; empty when nothing is known of its major.

    From CUDA 11 on one floor serves the whole major (minor-version compatibility), before the toolkit's own.
    Source: CUDA Toolkit release notes, CUDA Compatibility guide.
    """
    found = toolkit(cuda)
    if found is not None:
        return found.min_driver_minor_compat
    rows = table("cuda_toolkits")["minor_version_compatibility"]
    major = cuda.strip().partition(".")[0]
    return next((row["min_driver_first_release"] for row in rows if str(row["major"]) == major), "")


def driver_of_cuda(cuda: str) -> str:
    """Smallest driver known to report a CUDA version in nvidia-smi, `535.54.03` for 12.2; else empty.

    For the newest toolkits only the branch is known: `610`.
    """
    found = toolkit(cuda)
    if found is None:
        rows = table("cuda_toolkits").get("driver_only", [])
        return next((row["driver"] for row in rows if row["cuda"] == cuda.strip()), "")
    return found.min_driver_shipped or found.driver_branch.removeprefix("R")


def cuda_of_driver(driver: str) -> str:
    """Newest CUDA version whose PTX a driver surely compiles, `12.2` for 535.104.05; empty if unknown."""
    key = driver_key(driver)
    known = [(driver_key(driver_of_cuda(version)), version) for version in toolkits()]
    return next((version for floor, version in reversed(known) if key and floor and floor <= key), "")


def last_branch(capability: str) -> str:
    """Last driver branch that serves a compute capability, `R580` for 7.0; empty when none is named."""
    if not re.fullmatch(r"\d+\.\d+", capability):
        return ""
    for row in table("cuda_toolkits")["last_driver_branch"]:
        if _numbers(capability) <= _numbers(row["compute_capability_max"]):
            branch: str = row["branch"]
            return branch
    return ""


def tag_cuda(tag: str) -> str:
    """CUDA version of a build tag: `11.8` for `cu118`, `cu118_pt20`, `cu118torch2.1`; empty for none.

    `cu12` names only a major: `12`.
    """
    found = re.match(r"cu(\d{2,3})(?!\d)", tag)
    if found is None:
        return ""
    digits = found[1]
    return digits if re.fullmatch(r"1\d", digits) else f"{digits[:-1]}.{digits[-1]}"


def cubin_excluded(sm: str, capability: str) -> bool:
    """Whether a device refuses machine code that its major and minor would let it run: `sm_80` on 8.7.

    Source: table DEVICE_REQUIREMENT in torch 2.11 to 2.15.
    """
    return capability in table("cuda_toolkits")["cubin_exceptions"].get(sm, ())


def renamed(sm: str) -> str:
    """The name of a target in the newest toolkits: `sm_110` for `sm_101`."""
    rows: dict[str, str] = table("cuda_toolkits")["cubin_renamed"]
    return rows.get(sm, sm)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
