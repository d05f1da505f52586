"""A run on an engine that sees no folder of this machine: what it needs is sent in, its record is fetched.

Both go through the engine's own connection (`ssh://user@box`). The container's root can be written then,
since an engine unpacks nothing into a read-only one; all else is as it is here.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from repro import tarball
from repro.engine.contract import Bind, Job
from repro.run.home.source import copy, open_source
from repro.tarball import Member

_PIECE = 1 << 20
_FETCHED = ".fetched.tar"


def away(job: Job) -> Job:
    """The same job without a folder of this machine: binds are sent, the writable ones fetched afterwards."""
    members = [member for bind in job.binds for member in _members(bind)]
    writable = {bind.inside: _bringer(bind.host) for bind in job.binds if bind.writable}
    return replace(
        job,
        binds=(),
        sent={"/": lambda: tarball.pieces(members)},
        fetched=writable,
        user="root",
        read_only=False,
        kept=True,
    )


def _members(bind: Bind) -> Iterator[Member]:
    place = str(PurePosixPath(bind.inside).relative_to("/"))
    if bind.host.is_file():
        yield Member(place, bind.host)
        return
    yield Member(place)
    yield from tarball.folder_members(bind.host, place, skip=())


def _bringer(folder: Path) -> Callable[[Iterator[bytes]], None]:
    def bring(pieces: Iterator[bytes]) -> None:
        """Write what came into the run's folder; what lies there already stays, links are passed over."""
        archive = folder / _FETCHED
        try:
            with archive.open("wb") as out:
                out.writelines(pieces)
            for member in open_source(archive).members():
                inside = member.name.partition("/")[2]
                if inside and not (folder / inside).exists():
                    copy(member, folder / inside)
        finally:
            archive.unlink(missing_ok=True)

    return bring
