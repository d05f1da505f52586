"""What a run that came from elsewhere says of itself, and whether it is whole."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TypeVar

import msgspec

from repro.errors import ReproError
from repro.files import sha256_file
from repro.model.record import Json, Open
from repro.model.run import Attempt
from repro.run.home.source import Member, Source, copy, pieces, unreadable

T = TypeVar("T")
_ATTEMPT = re.compile(r"attempt-([1-9]\d{0,5})")
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,150}")
_DOCUMENT_BYTES = 64 << 20
# Of a run's folder, beside its attempts: what runtime and host write there.
_BESIDE = ("result.json", "host.json")
_GIVEN = "given"


class _Result(Open, kw_only=True):
    schema: int
    attempt: int
    status: str = ""
    files: dict[str, str] = {}


class _Saved(Open, kw_only=True):
    path: str = ""
    sha256: str | None = None


class _Checkpoints(Open, kw_only=True):
    checkpoints: list[_Saved] = []


@dataclass(frozen=True)
class Brought:
    """A run as it came: attempts by number, the number that has the result (0 without), what was left out."""

    run_id: str
    bundle_id: str
    attempts: dict[int, Attempt]
    result: int
    top: str
    left_out: list[str] = field(default_factory=list)

    @property
    def unfinished(self) -> list[int]:
        """Attempts that have no end: killed, or still going on when they were fetched."""
        return [number for number, attempt in self.attempts.items() if attempt.status == "running"]


def read(source: Source) -> Brought:
    """What the run is, from its small documents alone; raises import-run-unreadable, import-run-foreign."""
    tops: set[str] = set()
    attempts: dict[int, Attempt] = {}
    result, names = 0, []
    for member in source.members():
        top, inside = _split(member.name)
        number = _number(inside)
        if inside.name == "run.json" and number and len(inside.parts) == 2:
            tops.add(top)
            attempts[number] = document(source, member, Attempt)
        elif str(inside) == "result.json":
            result = document(source, member, _Result).attempt
        names.append(member.name)
    if len(tops) != 1:
        raise source.refused("no attempt-1/run.json" if not tops else f"{len(tops)} runs: name one")
    first = attempts[min(attempts)]
    if not _RUN_ID.fullmatch(first.run_id):
        raise source.refused(f"the run's id is `{first.run_id}`")
    top = tops.pop()
    beside = [name for name in names if _split(name)[0] != top or not _belongs(_split(name)[1])]
    bundle_id = str(first.bundle.get("id") or "")
    return Brought(
        first.run_id, bundle_id, dict(sorted(attempts.items())), result, top, beside + source.links
    )


def lay(source: Source, brought: Brought, folder: Path) -> int:
    """Write the run's files into an empty folder; how many bytes."""
    total = 0
    for member in source.members():
        top, inside = _split(member.name)
        if top == brought.top and _belongs(inside):
            copy(member, folder / inside)
            total += member.size
    return total


def check(folder: Path, brought: Brought) -> None:
    """Hold a run's files against its own records.

    Raises:
        import-run-altered: a file is not the one that the result or a checkpoint's row names, or is missing.
        import-run-unreadable: a document cannot be decoded.
    """
    wrong = list(_against_result(folder))
    for number, attempt in brought.attempts.items():
        wrong += _contradictions(folder, number, attempt, brought)
        wrong += _against_checkpoints(folder / f"attempt-{number}")
    if wrong:
        raise altered(brought.run_id, wrong)


def altered(run_id: str, found: list[str]) -> ReproError:
    """The error for a run whose files are not those that were recorded."""
    return ReproError(
        "import-run-altered",
        f"run `{run_id}` is not as it was recorded: {len(found)} differences",
        found=found[:10],
        needs="every file as the run's result names it",
        done="nothing was written",
        tries=["fetch the run's folder again, with all of its attempts"],
    )


def _contradictions(folder: Path, number: int, attempt: Attempt, brought: Brought) -> Iterator[str]:
    if _decode(folder / f"attempt-{number}" / "run.json", Attempt) != attempt:
        yield f"attempt-{number}/run.json: changed while it was read"
    if attempt.attempt != number:
        yield f"attempt-{number}/run.json: says attempt {attempt.attempt}"
    if attempt.run_id != brought.run_id:
        yield f"attempt-{number}/run.json: of run `{attempt.run_id}`"
    if attempt.status == "ok" and not brought.result:
        yield f"result.json: is not there, and attempt {number} ended well"
    if number == brought.result and attempt.status != "ok":
        yield f"result.json: names attempt {number}, which is `{attempt.status}`"


def _against_result(folder: Path) -> Iterator[str]:
    path = folder / "result.json"
    if not path.exists():
        return
    result = _decode(path, _Result)
    attempt = folder / f"attempt-{result.attempt}"
    if not (attempt / "run.json").is_file():
        yield f"result.json: names attempt {result.attempt}, which is not there"
    if not {"run.json", "log.txt"} <= set(result.files):
        yield "result.json: names no run.json and log.txt"
    for name, digest in sorted(result.files.items()):
        if "/" in name or name in ("", ".", ".."):
            yield f"result.json: names `{name}`"
        elif not (attempt / name).is_file():
            yield f"{attempt.name}/{name}: is not there"
        elif (found := sha256_file(attempt / name)) != digest:
            yield f"{attempt.name}/{name}: sha256 {found[:12]}, recorded {digest[:12]}"
    # A trace that the result does not name would be read as a rank's all the same.
    for path in sorted(attempt.glob("trace-*")):
        if path.name not in result.files:
            yield f"{attempt.name}/{path.name}: is not in result.json"


def _against_checkpoints(attempt: Path) -> Iterator[str]:
    path = attempt / "checkpoints.json"
    if not path.exists():
        return
    for row in _decode(path, _Checkpoints).checkpoints:
        parts = PurePosixPath(row.path).parts
        if not row.sha256 or not parts or parts[0] not in ("out", "work") or ".." in parts:
            continue
        saved = attempt / row.path
        if saved.is_file() and (found := sha256_file(saved)) != row.sha256:
            yield f"{attempt.name}/{row.path}: sha256 {found[:12]}, recorded {row.sha256[:12]}"


def _split(name: str) -> tuple[str, PurePosixPath]:
    """The folder that the run lies in, empty for the top itself, and the path in the run."""
    path = PurePosixPath(name)
    first = path.parts[0]
    if len(path.parts) == 1 or _ATTEMPT.fullmatch(first) or first == _GIVEN:
        return "", path
    return first, PurePosixPath(*path.parts[1:])


def _number(inside: PurePosixPath) -> int:
    match = _ATTEMPT.fullmatch(inside.parts[0])
    return int(match[1]) if match else 0


def _belongs(inside: PurePosixPath) -> bool:
    in_attempt = bool(_number(inside)) and len(inside.parts) > 1
    return in_attempt or str(inside) in _BESIDE or (inside.parts[0] == _GIVEN and len(inside.parts) > 1)


def document(source: Source, member: Member, kind: type[T]) -> T:
    """A member's JSON; raises import-run-unreadable."""
    if member.size > _DOCUMENT_BYTES:
        raise source.refused(f"`{member.name}` has {member.size} bytes")
    try:
        return msgspec.json.decode(b"".join(pieces(member)), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise source.refused(f"`{member.name}`: {problem}") from problem


def _decode(path: Path, kind: type[T]) -> T:
    try:
        if path.stat().st_size > _DOCUMENT_BYTES:
            raise unreadable(path.name, f"{path.stat().st_size} bytes")
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise unreadable(path.name, str(problem)) from problem


def values_of(attempt: Path) -> Json:
    """The document `params.json` of an attempt; empty where it has none."""
    path = attempt / "params.json"
    return _decode(path, dict) if path.is_file() else {}
