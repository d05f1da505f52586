"""The cheapest change that gives a torch with code for a card: another build of it, else another version."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from repro.check.code.serving import serving
from repro.check.known.builds import known_release, known_releases, parsed
from repro.model.check import Stack, Target, Torch
from repro.tables.drivers import reaches
from repro.tables.gpus import find_gpu
from repro.tables.toolkits import driver_floor, last_branch
from repro.tables.torchbuilds import Build, Release


@dataclass(frozen=True)
class _Choice:
    release: Release
    build: Build

    @property
    def lock(self) -> str:
        return f"lock torch=={self.release.version}+{self.build.tag}{self.place}"

    @property
    def place(self) -> str:
        return "" if self.build.on_pypi else f" (index pytorch-{self.build.tag})"


def remedies(stack: Stack, target: Target) -> list[str]:
    """Edits that help, the cheapest first; empty when no known build serves the target.

    The same version with another tag, nearest in CUDA; else the nearest newer version, else the nearest
    older one, with the words that the pin itself must move.
    """
    torch, release = stack.torch, known_release(stack.torch.version) if stack.torch.version else None
    if release is None:
        return _for_unknown(stack, target)
    same = _nearest(_serving([release], stack, target), torch)
    if same:
        return [_spelled(same, torch)]
    rows = list(known_releases().values())
    at = rows.index(release)
    newer = next(_serving(rows[at + 1 :], stack, target), None)
    older = next(_serving(reversed(rows[:at]), stack, target), None)
    moved = [choice for choice in (newer, older) if choice][:1]
    said = f"no build of {release.version} has code for {target.capability}: the pin itself must move"
    return [f"{_spelled(choice, torch)}: {said}" for choice in moved]


def oldest_serving(target: Target) -> str:
    """`2.0.0+cu118`, the oldest wheel with machine code for a card; empty when there is none."""
    choice = next(_serving(known_releases().values(), Stack(origin="words"), target), None)
    return f"{choice.release.version}+{choice.build.tag}" if choice else ""


def python_remedies(version: str, python: str) -> list[str]:
    """Edits for a release without a wheel for a Python: a Python that has one, the next release for this."""
    release = known_release(version)
    if release is None:
        return []
    rows = list(known_releases().values())
    newer = next((row.version for row in rows[rows.index(release) + 1 :] if python in row.pythons), "")
    pythons = [f"python {release.plain_pythons[-1]}"] if release.plain_pythons else []
    return [
        *pythons,
        *([f"lock torch=={newer}: the oldest newer release for Python {python}"] if newer else []),
    ]


def _for_unknown(stack: Stack, target: Target) -> list[str]:
    """The oldest build that serves the card, for a torch of which only targets are known."""
    choice = next(_serving(known_releases().values(), stack, target), None)
    if choice is None:
        return []
    name = f"torch=={choice.release.version}+{choice.build.tag}"
    oldest = f"{name} is the oldest wheel with code for {target.capability}"
    return [f"a build for CUDA {choice.build.cuda} or newer; {oldest}"]


def _spelled(choice: _Choice, torch: Torch) -> str:
    if torch.make == "conda":
        return f"pytorch=={choice.release.version} built for CUDA {choice.build.cuda}"
    return choice.lock


def _serving(rows: Iterable[Release], stack: Stack, target: Target) -> Iterator[_Choice]:
    """Builds with machine code for the card that the driver and the Python allow, in the order of `rows`."""
    for row in rows:
        if stack.python and stack.python not in row.pythons and row.version != stack.torch.version:
            continue
        for build in row.builds:
            word, _ = serving(build.sass, build.ptx, target.capability)
            if word in ("exact", "compat") and _driver_allows(build, target):
                yield _Choice(row, build)


def _driver_allows(build: Build, target: Target) -> bool:
    if target.driver:
        return reaches(target.driver, driver_floor(build.cuda)) is not False
    last = last_branch(target.capability)
    return not last or reaches(last, driver_floor(build.cuda)) is not False


def _before_card(target: Target) -> bool:
    """Whether the driver is older than the first branch that lists the card: then no build helps."""
    known = find_gpu(target.asked) if target.gpu else None
    return known is not None and reaches(target.driver, known.min_driver_branch) is False


def _nearest(choices: Iterable[_Choice], torch: Torch) -> _Choice | None:
    """The choice whose CUDA is nearest above the present one, else the newest below."""
    now = parsed(torch.cuda or "0")
    known = [(parsed(choice.build.cuda), choice) for choice in choices]
    ordered = sorted(((cuda, choice) for cuda, choice in known if cuda), key=lambda pair: pair[0])
    above = [choice for cuda, choice in ordered if now and cuda > now]
    return above[0] if above else (ordered[-1][1] if ordered else None)


def driver_remedies(stack: Stack, target: Target) -> list[str]:
    """Builds of the same version that the driver runs, with code for the card where one is meant."""
    release = known_release(stack.torch.version) if stack.torch.version else None
    if release is None or not target.driver or _before_card(target):
        return []
    fitting = [
        _Choice(release, build)
        for build in release.builds
        if reaches(target.driver, driver_floor(build.cuda))
        and (not target.capability or serving(build.sass, (), target.capability)[0] in ("exact", "compat"))
    ]
    return [_spelled(choice, stack.torch) for choice in fitting[-1:]]
