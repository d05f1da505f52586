"""Accepts a lock: checks the wheelhouse, installs it into a fresh environment, offline, with hashes."""

import re
import shutil
from pathlib import Path

import msgspec

from repro import paths
from repro.errors import ReproError
from repro.events import Sink
from repro.files import link_or_copy, sha256_file
from repro.lock.pick import tag_rank
from repro.lock.place import Place, Target
from repro.lock.target import Answer, probe, room
from repro.lock.write import RECORD, REQUIREMENTS, WHEELS, write_record
from repro.model.lock import Lock, Proof, Wheel


def prove(lock: Lock, into: Path, place: Place, sink: Sink, *, cache: Path | None = None) -> Lock:
    """The lock with its proof, also written to `into/lock.json` and kept in the cache.

    A lock that carries a proof already is returned as it is.

    Raises:
        lock-wheel-missing, lock-wheel-damaged, lock-wheel-unfit: before anything is installed.
        lock-not-closed: a package needs another one that is not locked.
        lock-proof-failed: the install or `pip check` ended badly.
    """
    cache = cache or paths.cache()
    if lock.proof:
        return lock
    check_files(lock, into)
    proof = _install(lock, into, place, sink, cache)
    proven = msgspec.structs.replace(lock, proof=proof)
    write_record(proven, into)
    kept = cache / "locks" / lock.inputs_sha256
    if (kept / RECORD).is_file():
        write_record(proven, kept)
    return proven


def check_files(lock: Lock, into: Path) -> None:
    """Compare the wheelhouse with the lock: every file is there and is what the lock says."""
    for wheel in _all(lock):
        path = into / WHEELS / wheel.file
        if not path.is_file():
            needs = f"sha256 {wheel.sha256}, {wheel.bytes} bytes"
            raise _wheelhouse(
                "lock-wheel-missing", f"`{wheel.file}` is not in the wheelhouse", str(path.name), needs
            )
        found = sha256_file(path)
        if found != wheel.sha256:
            message = f"`{wheel.file}` is not the file that was locked"
            raise _wheelhouse("lock-wheel-damaged", message, f"sha256 {found}", f"sha256 {wheel.sha256}")


def check_tags(lock: Lock, target: Target) -> None:
    """Every wheel must carry a tag that the target takes; pip would only say that nothing was found."""
    order = {tag: rank for rank, tag in enumerate(target.tags)}
    for wheel in _all(lock):
        if tag_rank(wheel.file, order) is None:
            needs = f"a wheel for Python {target.minor} on {target.platform} ({target.libc})"
            message = f"`{wheel.file}` cannot be installed in the target"
            raise _wheelhouse("lock-wheel-unfit", message, f"tags `{wheel.file.split('-', 2)[-1]}`", needs)


def _all(lock: Lock) -> list[Wheel]:
    return [*lock.wheels, *([lock.installer] if lock.installer else [])]


def _wheelhouse(code: str, message: str, found: str, needs: str) -> ReproError:
    return ReproError(
        code, message, found=found, needs=needs, done="nothing was installed", tries=["repro lock"]
    )


def _install(lock: Lock, into: Path, place: Place, sink: Sink, cache: Path) -> Proof:
    with room(place, cache, into / WHEELS) as made:
        tools = made.work / "installer"
        if lock.installer is None:
            raise _wheelhouse("lock-wheel-missing", "the lock names no installer", "none", "a pip wheel")
        link_or_copy(into / WHEELS / lock.installer.file, tools / lock.installer.file)
        made = type(made)(place, made.work, tools)
        check_tags(lock, probe(made, sink))
        for wheel in lock.wheels:
            link_or_copy(into / WHEELS / wheel.file, made.work / WHEELS / wheel.file)
        shutil.copyfile(into / REQUIREMENTS, made.work / REQUIREMENTS)
        answer = made.run("prove", sink)
        if answer.failed:
            raise _refused(answer)
        kind = place.engine.info().kind
        return Proof(
            where=f"{kind} {place.image}".strip(), python=answer.words["python"], pip=answer.words["pip"]
        )


def _refused(answer: Answer) -> ReproError:
    missing = re.findall(
        r"^(\S+ \S+ requires .*|.*must have their versions pinned.*\n.*|.*No matching distribution .*)$",
        answer.output,
        re.MULTILINE,
    )
    if re.search(
        r"requires .*, which is not installed|must have their versions pinned|No matching distribution",
        answer.output,
    ):
        return ReproError(
            "lock-not-closed",
            "a locked package needs another one that is not in the lock",
            found=missing[:6] or answer.tail(6),
            needs="every dependency in the lock, at a version that its users allow",
            done="the lock is not accepted",
            tries=["add the missing package to the dependency file", "repro lock"],
        )
    program = "pip check" if answer.failed == "check" else "pip install"
    return ReproError(
        "lock-proof-failed",
        f"the locked packages do not work together: `{program}` refused",
        found=answer.tail(8),
        done="the lock is not accepted",
        tries=["correct the versions named above", "repro lock"],
    )
