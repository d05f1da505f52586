"""Write a root file system tar again so that the same files give the same bytes.

Order, times and names of owners go; owners, modes, links and contents stay. Left out is what
differs from one creation to the next, what tells about the machine, and what no run reads.
"""

import re
import tarfile
from copy import copy
from typing import IO

from repro.tarball import EPOCH

# Paths without a leading slash; a folder's own entry stays where the pattern asks for something below it.
_LEFT_OUT = (
    # of this machine
    r"etc/(hostname|resolv\.conf|machine-id|hosts)$",
    r"var/lib/dbus/machine-id$",
    # of this moment
    r"var/(log|tmp)/.+",
    r"(tmp|run|proc|sys)/.+",
    r"var/cache/(apt|debconf|ldconfig)/.+",
    r"var/lib/apt/lists/.+",
    r"var/lib/dpkg/[a-z]+-old$",
    r"var/lib/systemd/.+",
    r"etc/(passwd|shadow|group|gshadow|subuid|subgid)-$",
    r"etc/\.pwd\.lock$",
    r"root/\..+",
    # Engines mount their own /dev, and one without root could not make these.
    r"dev/.+",
    # read by nobody in a container
    r"usr/share/(man|info|lintian|doc-base|bug)/.+",
    r"usr/share/doc/[^/]+/(?!copyright$).+",
    r"usr/share/locale/.+",
)
_LEFT_OUT_PATTERN = re.compile("|".join(f"(?:{pattern})" for pattern in _LEFT_OUT))


def rewrite(source: IO[bytes], target: IO[bytes]) -> None:
    """Read the root tar `source`, which must be seekable, and write its canonical form."""
    source.seek(0)
    with (
        tarfile.open(fileobj=source, mode="r:") as old,
        tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT) as new,
    ):
        members = {_plain(member.name): member for member in old}
        names = sorted(filter(_is_kept, members), key=lambda name: name.encode("utf-8", "surrogateescape"))
        first: dict[str, str] = {}
        for name in names:
            _write(old, new, name, members, first)


def _plain(name: str) -> str:
    return "" if name == "." else name.removeprefix("./").rstrip("/")


def _is_kept(name: str) -> bool:
    return bool(name) and not _LEFT_OUT_PATTERN.match(name)


def _write(
    old: tarfile.TarFile,
    new: tarfile.TarFile,
    name: str,
    members: dict[str, tarfile.TarInfo],
    first: dict[str, str],
) -> None:
    """Write one member; of several names of one file, the first in order carries the content."""
    member = members[name]
    origin = _plain(member.linkname) if member.islnk() else name
    carrier = first.setdefault(origin, name)
    info = copy(members[origin])
    info.name, info.mtime, info.uname, info.gname, info.pax_headers = name, EPOCH, "", "", {}
    if carrier != name:
        info.type, info.linkname, info.size = tarfile.LNKTYPE, carrier, 0
    new.addfile(info, old.extractfile(members[origin]) if info.isreg() else None)
