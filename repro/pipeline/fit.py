"""Where a build asks whether its stack runs on the targets: after the lock, before the image."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from repro import paths
from repro.bundle import Bundle
from repro.check.carried import carried
from repro.errors import ReproError
from repro.events import Note, Sink, step
from repro.files import sha256_bytes, write_whole
from repro.model import canonical
from repro.model.check import CheckReport, Stack, TargetReport
from repro.model.image import ImageContent
from repro.model.lock import Lock
from repro.model.project import Project
from repro.model.sizes import bytes_of
from repro.model.snapshot import FileEntry
from repro.pipeline import stacks
from repro.pipeline.check import Wishes, judge
from repro.pipeline.locked import packed_stack

FINDINGS, STACK = "findings.json", "stack.json"
_MOST_TRIES = 3
_SET = msgspec.structs.replace


@dataclass(frozen=True)
class Fitness:
    """What a bundle carries of the check: `findings.json` and `stack.json`."""

    report: CheckReport
    files: dict[str, bytes]


def fitness(
    project: Project, lock: Lock, folder: Path, asked: Wishes, sink: Sink, *, allowed: bool
) -> Fitness:
    """The check of what lies in `folder`: its wheels and code, for the cards asked or those of the settings.

    Without any card only the facts of the lock are kept; no wheel is opened.

    Raises:
        incompatible: a target will fail, and `allowed` is not set.
    """
    own = project.settings.targets
    wishes = asked.or_else(own.gpus, own.driver, bytes_of(own.memory))
    precision = project.settings.protocol.precision
    if not wishes.gpus:
        sink(
            Note("note", "no targets are set, so no card was judged: [targets] gpus in repro.toml, or --gpu")
        )
        stack = _SET(stacks.of_lock(lock, "bundle"), precision=precision)
        report = _SET(judge(stack, []), targets=[])
        return _fitness(report, stack, wishes)
    with step(sink, "check") as shown:
        base = project.settings.dependencies.base
        stack = packed_stack(lock, folder, paths.cache(), sink, precision=precision, base=base)
        stack = wishes.over(stack)
        report = judge(stack, wishes.targets())
        refused = [target for target in report.targets if target.verdict == "will-fail"]
        if refused and not allowed:
            raise _refusal(refused)
        shown.detail = ", ".join(f"{t.gpu} {t.verdict}" for t in report.targets)
    return _fitness(_SET(report, allowed=bool(refused)), stack, wishes)


def _fitness(report: CheckReport, stack: Stack, wishes: Wishes) -> Fitness:
    documents = {FINDINGS: report, STACK: carried(stack, wishes.targets(), allowed=report.allowed)}
    return Fitness(report, {name: canonical.pretty(document) for name, document in documents.items()})


def _refusal(refused: list[TargetReport]) -> ReproError:
    errors = [(target, f) for target in refused for f in target.findings if f.severity == "error"]
    fixes = list(dict.fromkeys(fix for _target, f in errors for fix in f.fix))
    cards = ", ".join(target.name or target.gpu for target in refused)
    return ReproError(
        "incompatible",
        f"the locked stack cannot work on {cards}",
        found=[f"{target.gpu}  {f.rule}: {f.found}" for target, f in errors],
        needs=list(dict.fromkeys(f.needed for _target, f in errors if f.needed)),
        why=errors[0][1].why if errors else "",
        done="no image was built and no bundle was made; the lock is kept",
        tries=[
            *fixes[: _MOST_TRIES - 1],
            "repro build --allow-incompatible      (the bundle says that it was allowed)",
        ],
    )


@dataclass
class Renewal:
    """Names of the files that changed; the block may add its own, and the image that it made again."""

    changed: list[str]
    added: list[str] = field(default_factory=list)
    image: ImageContent | None = None


@contextmanager
def renewed(bundle: Bundle, fit: Fitness) -> Iterator[Renewal]:
    """Put what the check says now into a bundle that is there.

    The files are no part of the id. The digests of all other files stay as they were packed. The manifest is
    written last, when the block that rebuilds the image has ended well: a build that is killed before finds
    the same files changed again.
    """
    packed = {entry.path: entry for entry in bundle.manifest.files}
    now = {name: _entry(name, data) for name, data in fit.files.items()}
    renewal = Renewal([name for name, entry in now.items() if packed.get(name) != entry])
    for name in renewal.changed:
        write_whole(bundle.path / name, fit.files[name])
    yield renewal
    for name in renewal.added:
        now[name] = _entry(name, (bundle.path / name).read_bytes())
    image = renewal.image or bundle.manifest.image
    if renewal.changed or renewal.added or image != bundle.manifest.image:
        files = sorted((packed | now).values(), key=lambda entry: entry.path)
        manifest = _SET(bundle.manifest, files=files, image=image)
        write_whole(bundle.path / "bundle.json", canonical.pretty(manifest))


def _entry(name: str, data: bytes) -> FileEntry:
    return FileEntry(path=name, bytes=len(data), sha256=sha256_bytes(data))


def recorded_targets(bundle: Path) -> tuple[list[str], str, int | None]:
    """Cards, driver and need of memory that a bundle was checked for; none for one that was made without."""
    try:
        document = msgspec.json.decode((bundle / STACK).read_bytes())
        targets = document["targets"]
        driver = next((t["driver"] for t in targets if t["driver"]), "")
        return [t["asked"] for t in targets], driver, document.get("memory_bytes")
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        return [], "", None
