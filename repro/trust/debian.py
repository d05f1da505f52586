"""Which Debian packages a base image has, by dpkg's own record (dpkg-query(1), deb822(5))."""

import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from repro.engine.contract import ImageEngine
from repro.events import Sink, step
from repro.files import write_whole
from repro.model import canonical
from repro.model.bundle import Base
from repro.model.record import Record

# One file for all packages, or one a package in images that are made without dpkg.
_STATUS = re.compile(r"(?:\./)?var/lib/dpkg/(?:status|status\.d/[^/.][^/]*(?<!\.md5sums))")
_RELEASE = re.compile(r"(?:\./)?(?:usr/lib|etc)/os-release")
_MOST_BYTES = 64 << 20


class Package(Record, kw_only=True):
    """One installed package; `source` is the source package that it was built from."""

    name: str
    version: str
    architecture: str
    source: str


class Installed(Record, kw_only=True):
    """What a root file system has.

    Attributes:
        system, release, codename: `debian`, `12`, `bookworm`, from os-release; empty when it does not say.
        packages: sorted; None when there is no record of dpkg, so that nobody can say.
    """

    schema: int = 1
    system: str = ""
    release: str = ""
    codename: str = ""
    packages: list[Package] | None = None


def installed_in(base: Base, engine: ImageEngine, cache: Path, sink: Sink) -> Installed:
    """The packages of a base image, read out of the engine once and kept in the cache."""
    kept = cache / "packages" / f"{canonical.digest(base.layers or base.id)}.json"
    try:
        return msgspec.json.decode(kept.read_bytes(), type=Installed)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        pass  # not kept, or by another version of the tool
    with step(sink, "base packages") as shown, engine.export(base.id) as root:
        found = read_root(root)
        shown.detail = f"{len(found.packages or [])} Debian packages in {base.used}"
    write_whole(kept, canonical.encode(found))
    return found


def read_root(root: IO[bytes]) -> Installed:
    """What a root file system's tar, read once and forward, says of its packages."""
    release: dict[str, str] = {}
    packages: list[Package] | None = None
    with tarfile.open(fileobj=root, mode="r|") as tar:
        for member in tar:
            if not member.isreg() or member.size > _MOST_BYTES:
                continue
            if _RELEASE.fullmatch(member.name):
                release = _release(_text(tar, member)) or release
            elif _STATUS.fullmatch(member.name):
                packages = [*(packages or []), *_packages(_text(tar, member))]
    return Installed(
        system=release.get("ID", ""),
        release=release.get("VERSION_ID", ""),
        codename=release.get("VERSION_CODENAME", ""),
        packages=packages and sorted(packages, key=lambda p: (p.name, p.architecture, p.version)),
    )


def _text(tar: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    source = tar.extractfile(member)
    return source.read().decode("utf-8", "replace") if source else ""


def _release(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {key: value.strip("\"'") for key, sign, value in pairs if sign}


def _packages(text: str) -> Iterator[Package]:
    for stanza in re.split(r"\n\s*\n", text):
        rows: dict[str, str] = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*)$", stanza, re.MULTILINE))
        # `deinstall ok config-files` leaves settings behind, and no program.
        state = rows.get("Status", "installed").split()[-1:]
        if state == ["installed"] and "Package" in rows and "Version" in rows:
            yield Package(
                name=rows["Package"],
                version=rows["Version"],
                architecture=rows.get("Architecture", ""),
                source=rows.get("Source", rows["Package"]).partition(" ")[0],
            )
