"""Run Debian's bootstrap tools: packages in, a root file system tar out."""

import os
import re
import shutil
import subprocess
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from repro.errors import ReproError
from repro.redact import text as redacted

# Days of password changes and dates in generated files follow it. Any fixed time will do.
_SOURCE_DATE_EPOCH = "315532800"
_KEPT_LINES = 200

_NO_MIRROR = (
    r"temporary failure resolving|could not resolve|failed to fetch|unable to connect|unable to access"
    r"|connection (refused|timed out)|failed getting release file|couldn't download|no address associated"
)
_NO_ROOT = (
    r"newuidmap|unshare|must be root|needs? to be root|only root can|operation not permitted|subuid"
    r"|chroot mode"
)
_NO_KEY = r"no_pubkey|keyring|not signed|unknown key|invalid release signature"

# First match wins. Texts of mmdebstrap 1.3, debootstrap 1.0.128 and apt 2.6.
_CAUSES = (
    (r"no space left on device", "disk-full", "the disk has no space left"),
    (_NO_MIRROR, "mirror-unreachable", "Debian's package mirror cannot be reached"),
    (_NO_ROOT, "base-needs-root", "this user may not make a root file system"),
    (_NO_KEY, "base-create-failed", "the mirror's signature is not known here"),
    (r"", "base-create-failed", "the bootstrap tool failed"),
)
_TRIES = {
    "disk-full": ("free some space below the temporary folder, or set TMPDIR", "docker system df"),
    "mirror-unreachable": (
        "check http_proxy and the network",
        "repro base create --python X.Y --mirror ADDRESS",
    ),
    "base-needs-root": ("sudo repro base create --python X.Y",),
    "base-create-failed": ("sudo apt-get install --only-upgrade debian-archive-keyring mmdebstrap",),
}


@dataclass(frozen=True)
class Plan:
    """A root to make.

    Attributes:
        mirror: address of a Debian mirror, empty for the tool's own choice.
        settle: script that makes the fresh root ready.
        interpreter: tar to lay below /usr/local, or None.
    """

    suite: str
    packages: tuple[str, ...]
    mirror: str
    settle: Path
    interpreter: Path | None


def bootstrap(plan: Plan, tar: Path, aside: Path) -> None:
    """Make `tar`; `aside` is a folder for what debootstrap needs meanwhile.

    Raises:
        base-tools-missing, base-needs-root, mirror-unreachable, base-create-failed, disk-full.
    """
    if shutil.which("mmdebstrap", path=_path()):
        _run(_mmdebstrap(plan, tar), aside)
    elif shutil.which("debootstrap", path=_path()):
        _debootstrap(plan, tar, aside)
    else:
        raise ReproError(
            "base-tools-missing",
            "a base image is made with mmdebstrap or debootstrap, and this machine has neither",
            needs="the Debian package mmdebstrap (or debootstrap)",
            done="nothing was made",
            tries=["sudo apt-get install mmdebstrap"],
        )


def _mmdebstrap(plan: Plan, tar: Path) -> list[str]:
    laid = str(plan.interpreter or "")
    # The hook is given to a shell; the root is its first argument.
    hook = f'sh "{plan.settle}" "$1" "{laid}"'
    words = ["mmdebstrap", "--variant=minbase", "--format=tar", f"--include={','.join(plan.packages)}"]
    return [*words, f"--customize-hook={hook}", plan.suite, str(tar), *([plan.mirror] if plan.mirror else [])]


def _debootstrap(plan: Plan, tar: Path, aside: Path) -> None:
    if os.geteuid() != 0:
        raise _failure("base-needs-root", "debootstrap needs root", [f"user id {os.geteuid()}"])
    root = str(aside / "root")
    words = ["debootstrap", "--variant=minbase", f"--include={','.join(plan.packages)}", plan.suite, root]
    _run([*words, *([plan.mirror] if plan.mirror else [])], aside)
    _run(["sh", str(plan.settle), root, str(plan.interpreter or "")], aside)
    left_out = [f"--exclude=./{name}/*" for name in ("proc", "sys", "dev")]
    _run(
        ["tar", "--create", "--file", str(tar), "--numeric-owner", *left_out, "--directory", root, "."], aside
    )


def _path() -> str:
    # Debian keeps debootstrap and chroot where ordinary users' PATH does not look.
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def _run(argv: list[str], aside: Path) -> None:
    env = os.environ | {"SOURCE_DATE_EPOCH": _SOURCE_DATE_EPOCH, "LC_ALL": "C.UTF-8", "PATH": _path()}
    apart = _mounts_apart()
    if apart:
        env["TMPDIR"] = str(aside)  # what a kill leaves there is cleared by the next try
    lines: deque[str] = deque(maxlen=_KEPT_LINES)
    with subprocess.Popen(
        [*apart, *argv],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            lines.extend(line.rstrip() for line in process.stdout or () if line.strip())
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise _explain(argv[0], list(lines))


def _mounts_apart() -> list[str]:
    """Words that give a program mounts of its own: a killed bootstrap must not leave /proc and /sys about."""
    words = ["unshare", "--mount"]
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return []
    tried = subprocess.run([*words, "true"], capture_output=True, check=False)
    return words if tried.returncode == 0 else []


def _explain(tool: str, lines: list[str]) -> ReproError:
    said = "\n".join(lines)
    _pattern, code, cause = next(row for row in _CAUSES if re.search(row[0], said, re.IGNORECASE))
    return _failure(code, cause, [redacted(line) for line in lines[-8:]], tool)


def _failure(code: str, cause: str, found: list[str], tool: str = "debootstrap") -> ReproError:
    return ReproError(
        code,
        f"no base image could be made: {cause}",
        found=[*found, f"({tool})"],
        done="nothing was made",
        tries=_TRIES[code],
    )
