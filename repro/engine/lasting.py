"""The end of a container, which may come after the connection to it was lost."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from repro.engine import endings, failures
from repro.engine.contract import Exit, Job
from repro.errors import ReproError

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

_PIECE = 1 << 21


def end(container: "Container") -> tuple[int, bool]:
    """Wait for the end: exit status, and whether the kernel killed something in it for memory."""
    status = int(container.wait()["StatusCode"])
    container.reload()
    return status, status != 0 and bool(container.attrs["State"].get("OOMKilled"))


def fetch(container: "Container", job: Job) -> None:
    """Hand on what the job wants of the container's files; what a failed job never made is passed over."""
    from docker.errors import NotFound

    for path, take in job.fetched.items():
        try:
            pieces = container.get_archive(path, chunk_size=_PIECE)[0]
        except NotFound:
            continue  # its exit status and its output say why
        take(pieces)


def attach(client: "DockerClient", name: str, job: Job, output: Callable[[bytes], None]) -> Exit:
    """Follow a container that was left running to its end, fetch what `job` wants of it, remove it."""
    from docker.errors import NotFound
    from requests.exceptions import RequestException

    try:
        container = client.containers.get(name)
    except NotFound as problem:
        raise ReproError(
            "run-not-there",
            f"the engine has no container `{name}`",
            found="it was fetched and removed already, or runs on another machine",
            done="nothing was changed",
            tries=["docker container ls --all", "repro show"],
        ) from problem
    try:
        for piece in container.logs(stream=True, follow=True):
            output(piece)
        status, oom = end(container)
        fetch(container, job)
    except RequestException as problem:
        raise lost(job, problem) from problem
    endings.remove(container)
    return Exit(status, oom, {})


def lost(job: Job, problem: Exception) -> ReproError:
    """The error for a connection that broke under a job which goes on without it."""
    return ReproError(
        "run-connection-lost",
        "the connection to the engine was lost; the container may run on there",
        found=failures.last_line(str(problem)),
        done="the container was left as it is, with its record in it",
        tries=[f"repro run BUNDLE --host HOST --attach {job.labels.get('dev.reprobundle.run', 'RUN')}"],
    )
