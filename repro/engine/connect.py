"""Find the engine that answers, or say why none does.

Order: `DOCKER_HOST`, the docker CLI's current context, then the usual sockets of Docker and
Podman. A place that the user named is the only one tried: another engine is never taken instead.
"""

import grp
import os
import pwd
import stat
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from repro.engine.overssh import Tunnel
from repro.errors import ReproError
from repro.redact import text as redacted

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.tls import TLSConfig

_CONNECT_SECONDS = 20
_REQUEST_SECONDS = 600
_REFUSALS = (
    ("permission denied", "permission"),
    ("api versions below", "old"),
    ("is too old", "old"),
    ("minimum supported api", "old"),
)
_INPLACE = "repro run BUNDLE --engine inplace      (no engine needed)"


@dataclass(frozen=True)
class Endpoint:
    """One place where an engine may listen; `origin` says who named it."""

    url: str
    origin: str
    tls: "TLSConfig | None" = None

    @property
    def socket(self) -> Path | None:
        """The socket's path, or None for an engine that is reached another way."""
        return Path(self.url.removeprefix("unix://")) if self.url.startswith("unix://") else None


@dataclass(frozen=True)
class Refusal:
    """Why an endpoint gave no engine: kind is absent, permission, old or silent."""

    endpoint: Endpoint
    kind: str
    text: str


def connect(address: str = "") -> "tuple[DockerClient, Endpoint]":
    """A client of the engine at `address`, else of the first engine that answers, and where it was found.

    Raises:
        engine-unreachable: no socket, or nothing answers there.
        engine-permission: a socket is there and this user may not open it.
        engine-too-old: the engine and the client share no version of the interface.
    """
    refusals = []
    for endpoint in [Endpoint(address, "the address given")] if address else endpoints():
        answer = _try(endpoint)
        if not isinstance(answer, Refusal):
            return answer, endpoint
        refusals.append(answer)
    raise _explain(refusals)


def endpoints() -> list[Endpoint]:
    """Where to look, best first; one entry when the user named a place."""
    named = _from_environment() or _from_context()
    return [named] if named else _usual_sockets()


def _from_environment() -> Endpoint | None:
    from docker.utils import kwargs_from_env

    settings = kwargs_from_env()
    url = settings.get("base_url")
    return Endpoint(str(url), "DOCKER_HOST", settings.get("tls")) if url else None


def _from_context() -> Endpoint | None:
    from docker.context import ContextAPI
    from docker.context.config import get_current_context_name

    name = os.environ.get("DOCKER_CONTEXT") or get_current_context_name()
    if not name or name == "default":
        return None
    context = ContextAPI.get_context(name)
    host = getattr(context, "Host", "")  # an unknown context is None
    if not host:
        raise ReproError(
            "engine-unreachable",
            f"the docker context `{name}` names no engine",
            found=f"context `{name}`, from DOCKER_CONTEXT or the docker CLI's settings",
            tries=["docker context ls", "docker context use default"],
        )
    return Endpoint(host, f"docker context {name}", context.TLSConfig)


def _usual_sockets() -> list[Endpoint]:
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    rows = (
        ("/var/run/docker.sock", "default socket of Docker"),
        (f"{runtime}/docker.sock", "socket of rootless Docker"),
        (f"{Path.home()}/.docker/run/docker.sock", "socket of Docker Desktop"),
        (f"{runtime}/podman/podman.sock", "socket of rootless Podman"),
        ("/run/podman/podman.sock", "socket of Podman"),
    )
    return [Endpoint(f"unix://{path}", origin) for path, origin in rows]


def _try(endpoint: Endpoint) -> "DockerClient | Refusal":
    if endpoint.socket is not None and (refusal := _look_at_socket(endpoint, endpoint.socket)):
        return refusal
    from docker import DockerClient
    from docker.errors import APIError, DockerException

    tunnel: Tunnel | None = None
    try:
        tunnel = Tunnel(endpoint.url) if endpoint.url.startswith("ssh://") else None
        client = DockerClient(
            base_url=tunnel.url if tunnel else endpoint.url,
            version="auto",
            timeout=_CONNECT_SECONDS,
            tls=False if endpoint.tls is None else endpoint.tls,
        )
        client.ping()
    except (DockerException, APIError, OSError, ValueError) as problem:
        said = (tunnel.said() if tunnel else "") or str(problem)
        if tunnel:
            tunnel.close()
        return Refusal(endpoint, _kind(str(problem)), redacted(said).strip().splitlines()[0])
    if tunnel:
        weakref.finalize(client, tunnel.close)
    client.api.timeout = _REQUEST_SECONDS
    return client


def _look_at_socket(endpoint: Endpoint, path: Path) -> Refusal | None:
    try:
        is_socket = stat.S_ISSOCK(path.stat().st_mode)
    except PermissionError:
        return Refusal(endpoint, "permission", f"permission denied for `{path}`")
    except OSError:
        return Refusal(endpoint, "absent", f"no socket `{path}`")
    if not is_socket:
        return Refusal(endpoint, "absent", f"`{path}` is not a socket")
    if not os.access(path, os.R_OK | os.W_OK):
        return Refusal(endpoint, "permission", f"permission denied for `{path}`")
    return None


def _kind(text: str) -> str:
    lowered = text.lower()
    return next((kind for words, kind in _REFUSALS if words in lowered), "silent")


def _explain(refusals: list[Refusal]) -> ReproError:
    by_kind = {r.kind: r for r in reversed(refusals)}
    if "permission" in by_kind:
        return _permission(by_kind["permission"])
    if "old" in by_kind:
        return _too_old(by_kind["old"])
    return _unreachable(refusals)


def _permission(refusal: Refusal) -> ReproError:
    user = pwd.getpwuid(os.getuid()).pw_name if os.getuid() in {p.pw_uid for p in pwd.getpwall()} else ""
    path = refusal.endpoint.socket
    group = _group_of(path) if path else ""
    tries = [_INPLACE]
    if group and group != "root" and user:
        tries.insert(0, f"sudo usermod -aG {group} {user}      then log out and in again")
    return ReproError(
        "engine-permission",
        f"user `{user or os.getuid()}` may not talk to the engine at `{refusal.endpoint.url}`",
        found=[refusal.text, f"socket of group `{group or 'unknown'}` ({refusal.endpoint.origin})"],
        needs=f"membership in group `{group}`" if group else "the right to read and write the socket",
        why="whoever may talk to a rootful engine is as good as root on this machine",
        tries=tries,
    )


def _group_of(path: Path) -> str:
    try:
        return grp.getgrgid(path.stat().st_gid).gr_name
    except (OSError, KeyError):
        return ""


def _too_old(refusal: Refusal) -> ReproError:
    return ReproError(
        "engine-too-old",
        f"the engine at `{refusal.endpoint.url}` speaks no version of the interface that this client knows",
        found=refusal.text,
        needs="Docker 20.10 or later, or Podman 4 or later, and a matching docker package for Python",
        tries=["python -m pip install --upgrade docker", _INPLACE],
    )


def _unreachable(refusals: list[Refusal]) -> ReproError:
    only_named = len(refusals) == 1
    there = [r for r in refusals if r.kind == "silent"]
    start = "sudo systemctl start docker" if there else "sudo apt-get install docker.io      (or: podman)"
    tries = (
        [f"check {refusals[0].endpoint.origin}: `{redacted(refusals[0].endpoint.url)}`"]
        if only_named
        else [start]
    )
    return ReproError(
        "engine-unreachable",
        "no container engine answers",
        found=[f"{r.endpoint.origin}: {r.text}" for r in (there or refusals)],
        needs="a running Docker or Podman engine",
        why="a place named by DOCKER_HOST or a docker context is the only one tried" if only_named else "",
        tries=[*tries, "repro doctor", _INPLACE],
    )
