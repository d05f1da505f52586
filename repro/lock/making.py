"""Makes a lock: asks the target, builds what has no wheel, chooses and fetches files, writes the record."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from repro import redact
from repro.errors import ReproError
from repro.events import Note, Sink, step
from repro.files import link_or_copy
from repro.lock import write
from repro.lock.build import Built, Workshop
from repro.lock.compile import Pin, question, run_pip_compile
from repro.lock.index import Offer, Shelf, project_of, version_of
from repro.lock.pick import Wanted, check_direct, choose
from repro.lock.pipconf import PipConfig
from repro.lock.place import Place, Target, Tools
from repro.lock.requests import Finding, Requests, Requirement, Source
from repro.lock.sources import named_source_pins, needed_aliases, tool_sources
from repro.lock.store import Held, Store, fetch_all
from repro.lock.target import Room, probe, room
from repro.lock.unmet import hash_mismatch
from repro.lock.web import Web
from repro.model.canonical import digest
from repro.model.lock import Lock, Wheel
from repro.model.project import Project
from repro.model.snapshot import Warned


@dataclass
class Making:
    """One resolution, from the first question to the record."""

    project: Project
    requests: Requests
    place: Place
    config: PipConfig
    tools: Tools
    sources: list[Source]
    web: Web
    store: Store
    sink: Sink

    def __post_init__(self) -> None:
        self.findings: list[Finding] = []
        self.shelf = Shelf(self.sources, self.web)

    def lock(self, cache: Path, key: str) -> tuple[Lock, str]:
        """The record and the requirements text."""
        installer = self._installer()
        folder = self._tools_folder(cache, installer)
        with room(self.place, cache, folder) as made:
            target = probe(made, self.sink)
            pins, wheels = self._resolved(made, target)
        text = write.requirements_text(pins, wheels, self.requests, target)
        return self._record(key, target, installer, wheels, text), text

    def _installer(self) -> Wheel:
        shelf = Shelf(tool_sources(self.sources, self.config), self.web)
        try:
            offer = choose(shelf, Wanted("pip", self.tools.pip), _python(self.place.python))
        except ReproError as problem:
            raise self._no_tools(problem, shelf) from problem
        held = self.store.fetch(offer, self.web, lambda _done: None)
        return _wheel("pip", self.tools.pip, offer.file, held, self._origin(offer, held.sha256))

    def _no_tools(self, problem: ReproError, shelf: Shelf) -> ReproError:
        """The user asked for no pip: an index without it is no index, or a mirror of a few projects."""
        if problem.code not in ("lock-no-version", "lock-no-wheel"):
            return problem
        wanted = f"pip {self.tools.pip}"
        return ReproError(
            "lock-index-unreachable",
            f"no configured index offers {wanted}, which locks for Python {self.place.python}",
            found=[*(f"asked: {redact.text(s.url)}" for s in shelf.sources), *problem.found[-1:]],
            needs=f"an index or folder that has {wanted} and pip-tools {self.tools.pip_tools}",
            done="nothing was locked",
            tries=["check the address of the index: it often ends in /simple", "pip config list"],
        )

    def _tools_folder(self, cache: Path, installer: Wheel) -> Path:
        """Where pip-tools is kept; an environment fits one interpreter alone."""
        interpreter = self.place.engine.info().facts.get("python", "")
        key = digest([self.place.identity(), interpreter, self.tools.pip, self.tools.pip_tools])
        folder = cache / "tools" / f"py{self.place.python}-{key[:16]}"
        held = self.store.find(installer.sha256, installer.file)
        if held and not (folder / installer.file).is_file():
            link_or_copy(held.path, folder / installer.file)
        return folder

    def _resolved(self, made: Room, target: Target) -> tuple[list[Pin], dict[str, Wheel]]:
        aliases, findings = needed_aliases(self.requests, self.shelf)
        self.findings += findings
        self.sources += aliases
        self.shelf = Shelf(self.sources, self.web)
        self._check_all(target)
        fixed = named_source_pins(self.requests, self.shelf, target)
        workshop = Workshop(
            made, self.store, self.tools, (self.config, tool_sources(self.sources, self.config)), self.sink
        )
        built = self._made_here(workshop)
        with step(self.sink, "resolve versions") as told:
            asked = question(
                self.requests, self.config, self.sources, {r: b.file for r, b in built.items()}, fixed
            )
            pins = run_pip_compile(made, self.tools, asked, self.requests, self.config, self.sink)
            told.detail = f"{len(pins)} packages for Python {target.python}, {self.tools.pip_tools} pip-tools"
        wheels = {b.name: self._built_wheel(b) for b in built.values()}
        rest = [pin for pin in pins if pin.name not in wheels]
        return pins, wheels | self._fetched(rest, target, workshop)

    def _check_all(self, target: Target) -> None:
        from packaging.markers import Marker

        for r in self.requests.requirements:
            applies = not r.marker or Marker(r.marker).evaluate(dict(target.markers) | {"extra": ""})
            if r.name and not r.url and not r.path and applies:
                check_direct(self.shelf, r, target)

    def _made_here(self, workshop: Workshop) -> dict[Requirement, Built]:
        made: dict[Requirement, Built] = {}
        for r in self.requests.requirements:
            if r.path:
                path = Path(self.project.root) / r.path
                origin = f"project:{r.path}"
                made[r] = (
                    workshop.of_folder(path, origin, r)
                    if path.is_dir()
                    else self._archive(workshop, path, origin, r)
                )
            elif r.url and not r.url.startswith(("http:", "https:")):
                made[r] = workshop.of_repository(r)
            elif r.url:
                made[r] = self._address(workshop, r)
        for built in made.values():
            self.findings += built.findings
        return made

    def _archive(self, workshop: Workshop, path: Path, origin: str, r: Requirement) -> Built:
        if path.suffix != ".whl":
            return workshop.of_archive(path, path.name, origin, r)
        held = self.store.keep(path, path.name)
        link_or_copy(held.path, workshop.room.work / "built" / path.name)
        return Built(path.name, held, origin)

    def _address(self, workshop: Workshop, r: Requirement) -> Built:
        file = r.url.split("#")[0].rsplit("/", 1)[-1]
        source = Source(kind="find-links", url=r.url)
        sha256 = r.url.partition("#sha256=")[2]
        held = self.store.fetch(Offer(file, r.url, source, sha256), self.web, lambda _done: None)
        return self._archive(workshop, held.path, redact.text(r.url.split("#")[0]), r)

    def _fetched(self, pins: list[Pin], target: Target, workshop: Workshop) -> dict[str, Wheel]:
        wanted = [self._wanted(pin) for pin in pins]
        offers = {w.name: choose(self.shelf, w, target) for w in wanted}
        with step(self.sink, "fetch wheels") as told:
            held = fetch_all(list(offers.values()), self.store, self.web, self.sink)
            told.detail = f"{len(held)} files, {sum(h.bytes for h in held.values()) / 1e6:.1f} MB"
        wheels = {}
        for one in wanted:
            offer = offers[one.name]
            got = held[offer.file]
            if one.hashes and f"sha256:{got.sha256}" not in one.hashes:
                seen = [dataclasses.replace(offer, sha256=got.sha256)]
                raise hash_mismatch(one.name, one.version, one.place, one.hashes, seen)
            wheels[one.name] = self._finished(offer, got, one, workshop)
        return wheels

    def _wanted(self, pin: Pin) -> Wanted:
        asked = self.requests.named(pin.name)
        if asked is None:
            return Wanted(pin.name, pin.version)
        limits = [h for c in self.requests.constraints if c.name == pin.name for h in c.hashes]
        hashes = tuple(h for h in (*asked.hashes, *limits) if h.startswith("sha256:"))
        return Wanted(pin.name, pin.version, asked.source, hashes, asked.place)

    def _finished(self, offer: Offer, held: Held, wanted: Wanted, workshop: Workshop) -> Wheel:
        origin = self._origin(offer, held.sha256)
        if offer.yanked:
            text = f"{wanted.name} {wanted.version} was withdrawn by its makers; it is locked as it is pinned"
            self.findings.append(
                Finding(code="yanked", file=wanted.place.split(":")[0] or write.REQUIREMENTS, text=text)
            )
        if offer.file.endswith(".whl"):
            return _wheel(wanted.name, version_of(offer.file), offer.file, held, origin)
        asked = self.requests.named(wanted.name) or Requirement(name=wanted.name)
        built = workshop.of_archive(held.path, offer.file, offer.file, asked)
        self.findings += built.findings
        made_of = f"built from {origin}" if origin != "local" else "local"
        return _wheel(wanted.name, built.version, built.file, built.held, made_of, built.source)

    def _built_wheel(self, built: Built) -> Wheel:
        return _wheel(built.name, built.version, built.file, built.held, built.origin, built.source)

    def _origin(self, offer: Offer, sha256: str) -> str:
        """A file that lies here may be offered, the same in every byte, by an index that others reach."""
        if offer.path is None:
            return offer.origin
        named = self.shelf.offers(project_of(offer.file))
        same = next(
            (o for o in named if o.path is None and o.file == offer.file and o.sha256 == sha256), None
        )
        return same.origin if same else "local"

    def _record(
        self, key: str, target: Target, installer: Wheel, wheels: dict[str, Wheel], text: str
    ) -> Lock:
        ordered = [wheels[name] for name in sorted(wheels)]
        warnings = [f.warned() for f in (*self.requests.findings, *self.findings) if f.severity != "note"]
        left = _not_portable(ordered)
        for warning in left:
            self.sink(Note("warning", warning.text))
        return Lock(
            python=target.minor,
            platform=target.platform,
            libc=target.libc,
            resolver=f"pip-tools {self.tools.pip_tools}, pip {self.tools.pip}",
            inputs=self.requests.inputs,
            inputs_sha256=key,
            requirements_sha256=write.digest_of(text),
            wheels=ordered,
            installer=installer,
            system=list(self.requests.system),
            warnings=[*warnings, *left],
        )


def _python(minor: str) -> Target:
    """A target that takes pure wheels alone, before the real one was asked."""
    return Target(f"{minor}.99", "any", "", ("py3-none-any", "py2.py3-none-any"))


def _wheel(
    name: str, version: str, file: str, held: Held, origin: str, source: tuple[str, str] = ("", "")
) -> Wheel:
    portable = origin.startswith(("http://", "https://"))
    return Wheel(
        name=name,
        version=version,
        file=file,
        sha256=held.sha256,
        bytes=held.bytes,
        origin=origin,
        portable=portable,
        source=source[0],
        source_sha256=source[1],
    )


def _not_portable(wheels: list[Wheel]) -> list[Warned]:
    """One warning for wheels that no index in use offers to others."""
    here = [w for w in wheels if not w.portable]
    if not here:
        return []
    names = ", ".join(f"{w.name} {w.version}" for w in here)
    text = f"no index in use offers these files to others, so the bundle must carry them: {names}"
    return [Warned(code="not-portable", where=write.REQUIREMENTS, text=text)]
