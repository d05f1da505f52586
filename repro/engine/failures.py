"""Turn what an engine says when it refuses into errors that a user can act on."""

import re
from collections.abc import Callable

from repro.errors import ReproError
from repro.redact import text as redacted

_FULL = re.compile(r"no space left on device|disk quota exceeded|enough free space", re.IGNORECASE)

_OUT_OF_REACH = (
    r"no such host|connection refused|network is unreachable|no route to host|i/o timeout|timeout exceeded"
    r"|deadline exceeded|proxyconnect|temporary failure in name resolution|server misbehaving|EOF$"
)

# First match wins. Texts of the registry client inside engines 20.10 to 28.5 and Podman 4.
_PULL = (
    (_OUT_OF_REACH, "registry-unreachable", "its registry cannot be reached from the engine"),
    (r"x509|certificate", "registry-unreachable", "the engine does not trust its registry's certificate"),
    (r"toomanyrequests|rate limit", "registry-unreachable", "its registry allows no more pulls for now"),
    (r"no matching manifest", "base-not-found", "its registry has none for this machine's architecture"),
    (
        r"denied|unauthorized|authentication required",
        "base-not-found",
        "its registry has none, or wants a login",
    ),
    (r"manifest unknown|not found|manifest for", "base-not-found", "its registry has no image of that name"),
    (r"invalid reference|invalid tag", "base-not-found", "that is no valid image name"),
    (r"", "registry-unreachable", "the engine could not pull it"),
)


def last_line(text: str) -> str:
    """The last line that says something, without credentials."""
    lines = [line.strip() for line in redacted(text).splitlines() if line.strip()]
    return lines[-1] if lines else "the engine gave no reason"


def is_full(text: str) -> bool:
    """Whether a message means that the engine's disk is full."""
    return bool(_FULL.search(text))


def is_no_name(text: str) -> bool:
    """Whether a message means that something cannot be the name of an image."""
    return bool(re.search(r"invalid reference", text, re.IGNORECASE))


def disk_full(doing: str, text: str) -> ReproError:
    """The error for an engine whose disk is full."""
    return ReproError(
        "disk-full",
        f"the engine's disk has no space left: {doing}",
        found=last_line(text),
        done="nothing half-made was kept; finished steps are cached for the next try",
        tries=["docker system df", "docker image rm IMAGE      (one that you no longer need)"],
    )


def pull_failed(reference: str, text: str) -> ReproError:
    """The error for a pull that gave no image: registry out of reach, no such image, or no right to it."""
    if is_full(text):
        return disk_full(f"pulling `{reference}`", text)
    matching = (row for row in _PULL if re.search(row[0], text.strip(), re.IGNORECASE))
    _pattern, code, cause = next(matching)
    return ReproError(
        code,
        f"image `{reference}` is not held here, and {cause}",
        found=last_line(text),
        done="nothing was changed",
        tries=[f"docker pull {reference}      (to see the engine's own words)", "docker image ls"],
    )


def _no_image(reference: str, text: str) -> ReproError:
    return ReproError(
        "image-missing",
        f"the engine holds no image `{reference}`",
        found=last_line(text),
        tries=["repro build", "docker image ls"],
    )


def _no_bind(reference: str, text: str) -> ReproError:
    return ReproError(
        "bind-missing",
        f"a folder that the container of `{reference}` needs is not there on the engine's machine",
        found=last_line(text),
        why="a remote engine, or one in a virtual machine, sees other folders than this machine does",
        done="nothing was run",
        tries=["docker context ls", "repro run BUNDLE --engine inplace"],
    )


def _no_program(reference: str, text: str) -> ReproError:
    return ReproError(
        "container-start-failed",
        f"the program to run is not in image `{reference}`",
        found=last_line(text),
        done="nothing was run",
        tries=[f"docker image inspect {reference}", "repro build"],
    )


def _no_name(reference: str, text: str) -> ReproError:
    return ReproError(
        "container-start-failed",
        f"a container of that name exists already (image `{reference}`)",
        found=last_line(text),
        done="nothing was run",
        tries=["docker container ls --all", "repro doctor"],
    )


_START: tuple[tuple[str, Callable[[str, str], ReproError]], ...] = (
    (r"no such image|image not known|image not found", _no_image),
    (r"bind source path does not exist|invalid mount config|statfs .* no such file", _no_bind),
    (r"executable file not found|exec: .*no such file or directory|exec format error", _no_program),
    (r"is already in use by container|name .* is in use", _no_name),
)


def start_failed(reference: str, text: str) -> ReproError:
    """The error for a container that could not be created or started."""
    if is_full(text):
        return disk_full(f"starting a container of `{reference}`", text)
    for pattern, make in _START:
        if re.search(pattern, text, re.IGNORECASE):
            return make(reference, text)
    return ReproError(
        "container-start-failed",
        f"the engine could not start a container of `{reference}`",
        found=last_line(text),
        done="nothing was run; the container was removed",
        tries=["repro doctor", "repro run BUNDLE --engine inplace"],
    )


def request_failed(doing: str, text: str) -> ReproError:
    """The error for an engine that refused, or stopped answering, in the middle of something."""
    if is_full(text):
        return disk_full(doing, text)
    return ReproError(
        "engine-failed",
        f"the engine failed while {doing}",
        found=last_line(text),
        done="nothing half-made was kept",
        tries=["docker info", "repro doctor"],
    )
