"""From requests to a lock: the same inputs are answered from the cache, others are resolved in the target."""

from dataclasses import dataclass
from pathlib import Path

import repro
from repro import redact
from repro.errors import ReproError
from repro.events import Note, Sink
from repro.files import folder_aside, sha256_file, write_whole
from repro.lock import write
from repro.lock.making import Making
from repro.lock.pipconf import PipConfig, local_folder, read_pip_config
from repro.lock.place import Place, Tools, tools_for
from repro.lock.requests import WARNING, Requests, Requirement, Source
from repro.lock.sources import sources_of
from repro.lock.store import Store
from repro.lock.walk import files_below
from repro.lock.web import Web
from repro.model.canonical import digest
from repro.model.lock import Lock
from repro.model.project import Project
from repro.tables.torchbuilds import releases


@dataclass(frozen=True)
class Resolved:
    """A lock, and whether the cache answered because nothing that decides it has changed."""

    lock: Lock
    cached: bool


def resolve(
    project: Project,
    requests: Requests,
    place: Place,
    into: Path,
    cache: Path,
    sink: Sink,
    *,
    fresh: bool = False,
) -> Resolved:
    """The lock for a place, written to `into` with its wheels; not yet proven unless the cache knows a proof.

    With `fresh` it is resolved again even when nothing that decides the lock has changed.

    Raises:
        lock-no-wheel, lock-no-version, lock-conflict, lock-needs-build, lock-hash-mismatch ...: exit 2.
        lock-index-dns, lock-index-proxy, lock-index-certificate, lock-vcs-unreachable, disk-full ...: 3.
    """
    check_torch(requests, place.python)
    config = read_pip_config()
    tools = tools_for(place.python, old_metadata=requests.old_metadata)
    sources = sources_of(requests, config)
    key = inputs_digest(project, requests, place, config, tools, sources)
    store = Store(cache)
    known = None if fresh else _from_cache(cache, key, into, store)
    if known:
        return Resolved(known, cached=True)
    making = Making(
        project, requests, place, config, tools, sources, Web(config, requests.trusted), store, sink
    )
    try:
        lock, text = making.lock(cache, key)
    except ReproError:
        # Nothing would say them any more, and one of them may be the reason.
        for finding in requests.findings:
            if finding.severity == WARNING:
                sink(Note("warning", f"{finding.where}  {finding.code}: {finding.text}"))
        raise
    _remember(lock, text, cache)
    write.write_lock(lock, text, into, store)
    return Resolved(lock, cached=False)


def check_torch(requests: Requests, python: str) -> None:
    """Stop before anything is started when the pinned torch has no wheel for the Python.

    Raises:
        lock-no-wheel: with the Pythons that have one.
    """
    pin = requests.pin_of("torch")
    row = releases().get(pin.split("+")[0])
    if row is None or python in row.plain_pythons:
        return
    offered = row.plain_pythons
    asked = requests.named("torch")
    raise ReproError(
        "lock-no-wheel",
        f"torch {pin} has wheels for Python {offered[0]} to {offered[-1]}; Python {python} was asked for",
        found=[f"{asked.place}: {asked.text}" if asked else f"torch {pin}", f"Python {python}"],
        needs=f"one of Python {', '.join(reversed(offered))}, or another torch",
        done="nothing was downloaded; no other version was taken in its place",
        tries=[f'set `dependencies.python = "{offered[-1]}"` in repro.toml'],
    )


def inputs_digest(
    project: Project, requests: Requests, place: Place, config: PipConfig, tools: Tools, sources: list[Source]
) -> str:
    """Digest over all that decides a resolution, except what indexes offer that day."""
    root = Path(project.root)
    folders = {r.path: _folder_digest(root / r.path) for r in requests.requirements if r.path}
    links = {redact.text(s.url): _listing(s) for s in sources if s.kind == "find-links"}
    return digest(
        {
            "tool": repro.__version__,
            "requirements": [_plain(r) for r in requests.requirements],
            "constraints": [[c.text, *c.hashes] for c in requests.constraints],
            "sources": [[s.kind, redact.text(s.url), s.name, s.explicit] for s in sources],
            "place": place.identity(),
            "pip": config.digest(),
            "tools": [tools.pip, tools.pip_tools, *tools.options],
            "folders": folders,
            "links": links,
            "system": list(requests.system),
            "findings": [[f.code, f.where, f.text] for f in requests.findings],
        }
    )


def _plain(r: Requirement) -> list[object]:
    return [r.text, redact.text(r.url), r.path, r.editable, list(r.hashes), r.source, r.place]


def _folder_digest(path: Path) -> str:
    if path.is_file():
        return sha256_file(path)
    return (
        digest([[p.relative_to(path).as_posix(), sha256_file(p)] for p in files_below(path)])
        if path.is_dir()
        else ""
    )


def _listing(source: Source) -> list[list[object]]:
    folder = local_folder(source.url)
    if folder is None or not folder.is_dir():
        return []
    return [[p.name, p.stat().st_size, p.stat().st_mtime_ns] for p in sorted(folder.iterdir()) if p.is_file()]


def _from_cache(cache: Path, key: str, into: Path, store: Store) -> Lock | None:
    kept = cache / "locks" / key
    lock = write.read_record(kept / write.RECORD)
    if lock is None:
        return None
    wheels = [*lock.wheels, *([lock.installer] if lock.installer else [])]
    text = (kept / write.REQUIREMENTS).read_text("utf-8")
    if (
        any(store.find(w.sha256, w.file) is None for w in wheels)
        or write.digest_of(text) != lock.requirements_sha256
    ):
        return None
    write.write_lock(lock, text, into, store)
    return lock


def _remember(lock: Lock, text: str, cache: Path) -> None:
    kept = cache / "locks" / lock.inputs_sha256
    with folder_aside(kept.parent, kept.name[:12]) as aside:
        write_whole(aside.path / write.REQUIREMENTS, text.encode())
        write.write_record(lock, aside.path)
        aside.replace(kept)
