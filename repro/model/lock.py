"""Locked dependencies: exact versions, hashes, and where every file came from."""

from repro.model.record import Record
from repro.model.snapshot import Warned


class Wheel(Record, kw_only=True):
    """One locked file.

    Attributes:
        name: normalised project name; `version` with its local part (`2.13.0+cpu`).
        file: file name; sha256 of its content; size in bytes.
        origin: address it was offered at, credentials masked; `local` for a folder of this machine.
        portable: False when no index that others reach is known to offer this file.
        source: source archive that it was built from while locking, empty for a wheel that was offered;
            source_sha256 of it.
    """

    name: str
    version: str
    file: str
    sha256: str
    bytes: int
    origin: str
    portable: bool = True
    source: str = ""
    source_sha256: str = ""


class Proof(Record, kw_only=True):
    """The install that accepted this lock: offline, with hashes, then `pip check`."""

    where: str
    python: str
    pip: str


class Lock(Record, kw_only=True):
    """A resolved set of dependencies for one Python on one platform.

    Attributes:
        python: `3.11`; `platform` as pip names it, `linux_x86_64`; `libc` as `glibc 2.36`.
        inputs: digest of each file that was read, by its project-relative name.
        inputs_sha256: digest over all that decides the resolution; a cache key.
        requirements_sha256: digest of `requirements.lock`.
        installer: the pip that the image uses to install the rest, itself locked.
        system: Debian packages that the image needs.
        proof: None until a proof install has passed.
    """

    schema: int = 1
    python: str
    platform: str
    libc: str
    resolver: str
    inputs: dict[str, str]
    inputs_sha256: str
    requirements_sha256: str
    wheels: list[Wheel]
    installer: Wheel | None = None
    system: list[str] = []
    warnings: list[Warned] = []
    proof: Proof | None = None

    def version_of(self, name: str) -> str:
        """Locked version of a package, or empty when it is not in the lock."""
        return next((w.version for w in self.wheels if w.name == name), "")
