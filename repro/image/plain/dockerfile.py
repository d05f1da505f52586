"""Render the bundle's Dockerfile: the same text for the same facts.

The classic builder's dialect only (no mounts, no heredocs, no syntax line), so that every
engine builds it; and nothing of the machine that rendered it.
"""

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from repro.errors import ReproError
from repro.image.base.find import from_reference, vendored_name
from repro.model.bundle import Base
from repro.model.lock import Lock
from repro.model.snapshot import Snapshot
from repro.paths import template_folder

# What the build reads from the bundle's folder; all else (runs, evidence) stays out of the context.
CONTEXT_FILES = (
    "Dockerfile",
    "code.tar",
    "eval.json",
    "identity.json",
    "params.json",
    "protocol.json",
    "requirements.lock",
    "snapshot.json",
    "stack.json",
)
CONTEXT_FOLDERS = ("eval", "params", "repro_runtime", "wheels")

_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+(?::[a-z0-9]+)?(?:=[A-Za-z0-9.+:~-]+)?")


@dataclass(frozen=True)
class DockerfileFacts:
    """All that the Dockerfile says.

    Attributes:
        base: reference for FROM; `base_id` the engine's id of it, or empty; `base_name` what the label says.
        base_digest: a registry's digest of it, else the id.
        created: time of the commit, seconds since 1970.
        installer: `pip==X --hash=sha256:…`, empty to use the base image's own pip.
        system: Debian packages.
        arch_list: TORCH_CUDA_ARCH_LIST, `8.0;8.6+PTX`, empty to leave it unset.
    """

    name: str
    id: str
    python: str
    base: str
    base_id: str
    base_digest: str
    base_name: str
    revision: str
    created: int
    installer: str = ""
    has_wheels: bool = True
    has_eval: bool = True
    has_params: bool = True
    has_stack: bool = True
    system: tuple[str, ...] = ()
    arch_list: str = ""

    @property
    def version(self) -> str:
        """The bundle's id, short."""
        return self.id[:12]

    @property
    def compile_options(self) -> str:
        """Options of compileall: unchecked hashes do not depend on file times; Python 3.6 has none."""
        minor = tuple(int(n) for n in self.python.split(".")[:2])
        return "-j 1 --invalidation-mode unchecked-hash" if minor >= (3, 7) else "-j 1"

    @property
    def labels(self) -> list[tuple[str, str]]:
        """OCI's labels and ours; no clock, no machine."""
        made = datetime.fromtimestamp(self.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        oci = {
            "title": self.name,
            "version": self.version,
            "revision": self.revision,
            "created": made,
            "base.name": self.base_name,
            "base.digest": self.base_digest,
        }
        ours = [("dev.reprobundle", "1"), ("dev.reprobundle.id", self.id)]
        return [(f"org.opencontainers.image.{key}", value) for key, value in oci.items() if value] + ours


def facts(
    name: str,
    bundle_id: str,
    base: Base,
    lock: Lock,
    snapshot: Snapshot,
    *,
    has_eval: bool,
    has_params: bool,
    has_stack: bool = False,
    arch_list: str = "",
    vendored: bool = False,
) -> DockerfileFacts:
    """The facts of a bundle; raises system-package-name for a name that is none.

    With `vendored` the image starts from the bundle's own copy of the base, under the name it is loaded by.
    """
    return DockerfileFacts(
        name=" ".join(name.split()),
        id=bundle_id,
        python=lock.python,
        base=vendored_name(base) if vendored else from_reference(base, lock.python),
        base_name=from_reference(base, lock.python),
        base_id=base.id if base.layers else "",
        base_digest=base.repo_digest.partition("@")[2] or (base.id if base.layers else ""),
        revision=snapshot.commit,
        created=snapshot.commit_time,
        installer=f"pip=={lock.installer.version} --hash=sha256:{lock.installer.sha256}"
        if lock.installer
        else "",
        has_wheels=bool(lock.wheels),
        has_eval=has_eval,
        has_params=has_params,
        has_stack=has_stack,
        system=_checked(lock.system),
        arch_list=arch_list,
    )


def render(given: DockerfileFacts) -> str:
    """The Dockerfile's text."""
    return template_text("Dockerfile.j2", given)


def dockerignore() -> str:
    """Keep all but what the build reads out of the context."""
    kept = sorted([*CONTEXT_FILES, *CONTEXT_FOLDERS])
    return "".join(
        f"{line}\n" for line in ["*", *(f"!{name}" for name in kept), "repro_runtime/**/__pycache__"]
    )


def template_text(file: str, given: object, **more: Any) -> str:
    """A template of this tool with an object's fields and properties filled in."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    world = Environment(  # noqa: S701 - no HTML is made
        loader=FileSystemLoader(template_folder()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    world.filters |= {"shell": shlex.quote, "label": _label}
    names = [name for name in dir(given) if not name.startswith("_")]
    return world.get_template(file).render({name: getattr(given, name) for name in names} | more)


def _label(value: str) -> str:
    """A LABEL's value: quoted, and with no variable expanded."""
    return json.dumps(value, ensure_ascii=False).replace("$", "\\$")


def _checked(packages: Iterable[str]) -> tuple[str, ...]:
    names = tuple(packages)
    wrong = [name for name in names if not _PACKAGE.fullmatch(name)]
    if wrong:
        raise ReproError(
            "system-package-name",
            f"`{wrong[0]}` is no name of a Debian package",
            found=f"`dependencies.system` has {', '.join(wrong)}",
            needs="lower-case letters, digits, `+`, `-` and `.`; a version after `=`",
            tries=["edit `dependencies.system` in repro.toml"],
        )
    return names
