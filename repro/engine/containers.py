"""One container from start to removal: its options, its output, its end.

Limits that an engine may refuse are asked for first and given up one by one; `Exit.obtained`
says what was in force. The container is removed however the run ends.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from repro.engine import endings, failures, gpus, lasting
from repro.engine.contract import Exit, Job, Stop
from repro.engine.ownership import KEPT, owner_labels
from repro.engine.pump import Pump
from repro.errors import ReproError

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

_NOFILE = 65_536
_PIDS = 16_384
# Executable, because compilers of kernels put libraries there and the engine's own default is noexec.
_TMP = "rw,exec,nosuid,mode=1777"


@dataclass(frozen=True)
class Host:
    """What of an engine decides a container's options. `requests`: cards may be asked for without CDI."""

    rootless: bool
    cdi: bool
    requests: bool = True


@dataclass(frozen=True)
class Wish:
    """Options that an engine may refuse. `gpu` is "cdi", "request" or "none"; `requests` as of `Host`."""

    nofile: bool = True
    pids: bool = True
    gpu: str = "none"
    requests: bool = True

    def after(self, refusal: str) -> "Wish | None":
        """The next weaker wish after a refusal, or None when the refusal is about something else."""
        lowered = refusal.lower()
        if self.nofile and "rlimit" in lowered:
            return replace(self, nofile=False)
        if self.pids and "pids" in lowered and "limit" in lowered:
            return replace(self, pids=False)
        if self.gpu == "cdi" and self.requests and "cdi" in lowered:
            return replace(self, gpu="request")
        return None

    def obtained(self, job: Job, user: str) -> dict[str, str]:
        """The limits in force, as text."""
        return {
            "network": "engine default" if job.network else "none",
            "user": user or "root of the container, which is the caller",
            "shm_bytes": str(job.shm_bytes),
            "memory_bytes": str(job.memory_bytes) if job.memory_bytes else "unlimited",
            "nofile": str(_NOFILE) if self.nofile else "engine default",
            "pids": str(_PIDS) if self.pids else "engine default",
            "gpus": f"{job.gpus} by {self.gpu}" if gpus.wanted(job.gpus) else "none",
        }


def run(client: "DockerClient", host: Host, job: Job, output: Callable[[bytes], None], stop: Stop) -> Exit:
    """Run `job` in a container of its own to its end; see `Engine.run`."""
    way = "none" if not gpus.wanted(job.gpus) else ("cdi" if host.cdi else "request")
    wish = Wish(gpu=way, requests=host.requests)
    refusals: list[str] = []
    while True:
        attempt = _Attempt(client, job, options(job, host, wish))
        try:
            status, oom = attempt.run(output, stop)
        except _RefusedError as refusal:
            weaker = wish.after(refusal.text)
            refusals += [refusal.text] if weaker is None or weaker.gpu != wish.gpu else []
            if weaker is None:
                raise _start_error(job, refusals) from refusal
            wish = weaker
        else:
            return Exit(status, oom, wish.obtained(job, user_of(job, host)))


def _start_error(job: Job, refusals: list[str]) -> ReproError:
    """Why there is no container; a card that was refused one way and then another is about both."""
    about_cards = gpus.explain(job.gpus, "\n".join(refusals)) if gpus.wanted(job.gpus) else None
    return about_cards or failures.start_failed(job.image, refusals[-1])


def user_of(job: Job, host: Host) -> str:
    """`uid:gid` for the container, or empty for the image's own user.

    In a rootless engine the container's root is the caller already, and any other id is
    one that may not write the caller's folders.
    """
    if job.user == "root" or host.rootless:
        return "0:0"
    return f"{os.getuid()}:{os.getgid()}"


def options(job: Job, host: Host, wish: Wish) -> dict[str, Any]:
    """Keyword arguments of the SDK's `containers.create` for a job."""
    from docker.types import Mount, Ulimit

    chosen: dict[str, Any] = {
        "image": job.image,
        "command": list(job.argv),
        "environment": {"HOME": "/tmp", "USER": "repro", "LOGNAME": "repro", **job.env},  # noqa: S108 - a path inside
        "labels": {**owner_labels(), **({KEPT: "1"} if job.kept else {}), **job.labels},
        # `bind` mounts of a missing folder are errors; a volume string would make it, owned by root.
        "mounts": [
            Mount(b.inside, str(b.host.absolute()), type="bind", read_only=not b.writable) for b in job.binds
        ],
        "user": user_of(job, host),
        "init": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "shm_size": job.shm_bytes,
        "read_only": job.read_only,
    }
    if job.read_only:
        chosen["tmpfs"] = {"/tmp": _TMP}  # noqa: S108 - a path inside
    if not job.network:
        chosen["network_mode"] = "none"
    if job.memory_bytes:
        # Equal limits for memory and memory with swap: no swap, so that the limit is one.
        chosen |= {"mem_limit": job.memory_bytes, "memswap_limit": job.memory_bytes}
    if wish.nofile:
        chosen["ulimits"] = [Ulimit(name="nofile", soft=_NOFILE, hard=_NOFILE)]
    if wish.pids:
        chosen["pids_limit"] = _PIDS
    if job.entrypoint is not None:
        chosen["entrypoint"] = list(job.entrypoint)
    if requests := gpus.request(job.gpus, wish.gpu):
        chosen["device_requests"] = requests
    optional = {"working_dir": job.workdir, "name": job.name}
    return chosen | {key: value for key, value in optional.items() if value}


class _RefusedError(Exception):
    """The engine would not create or start the container; `text` is what it said."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class _Attempt:
    """One container, with the options as given."""

    def __init__(self, client: "DockerClient", job: Job, chosen: dict[str, Any]) -> None:
        self._client = client
        self._job = job
        self._options = chosen

    def run(self, output: Callable[[bytes], None], stop: Stop) -> tuple[int, bool]:
        """Exit status, and whether the kernel killed something in it for memory."""
        from requests.exceptions import RequestException

        container = self._create()
        try:
            for folder, pieces in self._job.sent.items():
                container.put_archive(folder, pieces())
            stream = self._attach(container)
            try:
                self._start(container)
                with stop.by(lambda: endings.stop_aside(container)):
                    ended = self._follow(container, Pump(stream, output))
            finally:
                endings.close(stream)
            lasting.fetch(container, self._job)
        except RequestException as problem:
            if self._job.kept:
                raise lasting.lost(
                    self._job, problem
                ) from problem  # it trains on: whoever attaches gets the rest
            endings.remove(container)
            raise
        except BaseException:
            endings.remove(container)
            raise
        endings.remove(container)
        return ended

    def _follow(self, container: "Container", pump: Pump) -> tuple[int, bool]:
        try:
            pump.drain()
            return lasting.end(container)
        except KeyboardInterrupt:
            endings.stop_and_drain(container, pump)
            raise

    def _create(self) -> "Container":
        from docker.errors import APIError

        try:
            return self._client.containers.create(**self._options)
        except APIError as problem:
            raise _RefusedError(str(problem.explanation or problem)) from problem

    def _attach(self, container: "Container") -> Any:
        """The output's stream, before the start, so that not a byte is missed; Podman prepares it here."""
        from docker.errors import APIError

        try:
            return container.attach(stream=True, stdout=True, stderr=True, logs=False)
        except APIError as problem:
            raise _RefusedError(str(problem.explanation or problem)) from problem

    def _start(self, container: "Container") -> None:
        from docker.errors import APIError

        try:
            container.start()
        except APIError as problem:
            raise _RefusedError(str(problem.explanation or problem)) from problem
