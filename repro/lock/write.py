"""Writes `requirements.lock` and `lock.json`: ordinary pip file with hashes, no path and no login in it."""

from pathlib import Path

import msgspec

from repro.files import link_or_copy, sha256_bytes, write_whole
from repro.lock.compile import Pin
from repro.lock.place import Target
from repro.lock.requests import Requests
from repro.lock.store import Store
from repro.model.canonical import pretty
from repro.model.lock import Lock, Wheel

REQUIREMENTS, RECORD, WHEELS = "requirements.lock", "lock.json", "wheels"


def requirements_text(pins: list[Pin], wheels: dict[str, Wheel], requests: Requests, target: Target) -> str:
    """Content of `requirements.lock`; the same for the same pins, wherever it is made."""
    head = [
        f"# Locked for Python {target.minor} on {target.platform}. In the folder that holds `wheels`:",
        "#   pip install --no-index --find-links wheels --require-hashes -r requirements.lock",
    ]
    lines = []
    for pin in pins:
        lines.append(
            f"{pin.name}=={wheels[pin.name].version} \\\n    --hash=sha256:{wheels[pin.name].sha256}"
        )
        asked = sorted({r.place for r in requests.requirements if r.name == pin.name} | set(pin.via))
        lines += [f"    # for {', '.join(asked)}"] if asked else []
    return "\n".join([*head, "", *lines, ""])


def write_lock(lock: Lock, text: str, into: Path, store: Store) -> None:
    """Put the record, the requirements and the wheels into `into`; other wheels there are removed."""
    wheels = [*lock.wheels, *([lock.installer] if lock.installer else [])]
    folder = into / WHEELS
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {w.file: w for w in wheels}
    for old in folder.iterdir():
        old.unlink()
    for file, wheel in wanted.items():
        held = store.find(wheel.sha256, file)
        if held is None:
            raise FileNotFoundError(file)
        link_or_copy(held.path, folder / file)
    write_whole(into / REQUIREMENTS, text.encode())
    write_record(lock, into)


def write_record(lock: Lock, into: Path) -> None:
    """Write `lock.json`."""
    write_whole(into / RECORD, pretty(lock))


def read_record(path: Path) -> Lock | None:
    """The lock of a `lock.json`, or None when there is none that this version reads."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Lock)
    except (OSError, msgspec.DecodeError):
        return None


def digest_of(text: str) -> str:
    """Digest of the requirements as they are written."""
    return sha256_bytes(text.encode())
