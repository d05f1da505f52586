"""The cheapest change that gives a torch with code for a card: another build of it, else another version."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from repro.check.code.serving import serving
from repro.check.known.builds import known_release, known_releases, parsed
from repro.model.check import Stack, Target, Torch
from repro.tables.drivers import reaches
from repro.tables.gpus import find_gpu
from repro.tables.toolkits import cuda_of_driver, driver_floor, last_branch
from repro.tables.torchbuilds import Build, Release


@dataclass(frozen=True)
class _Choice:
    release: Release
    build: Build

    @property
    def lock(self) -> str:
        return lock_line(self.release, self.build)


def lock_line(release: Release, build: Build) -> str:
    """`lock torch==2.0.1+cu118 (index pytorch-cu118)`; the default index has its one build without a tag."""
    if build.on_pypi:
        return f"lock torch=={release.version} (the default index, CUDA {build.cuda})"
    return f"lock torch=={release.version}+{build.tag} (index pytorch-{build.tag})"


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
    said = f"no build of {release.version} has code for {target.capability}: the pin itself must move"
    moved = [choice for choice in (newer, older) if choice][:1]
    if not moved and stack.python:
        return _with_other_python(stack, target, said)
    return [f"{_spelled(choice, torch)}: {said}" for choice in moved]


def _with_other_python(stack: Stack, target: Target, said: str) -> list[str]:
    """The same search for any Python, with the one that the found release needs."""
    rows = list(known_releases().values())
    at = rows.index(known_release(stack.torch.version) or rows[0])
    choice = next(_serving(rows[at + 1 :], msgspec.structs.replace(stack, python=""), target), None)
    if choice is None:
        return []
    python = choice.release.plain_pythons[0]
    return [f"python {python} and {_spelled(choice, stack.torch)}: {said}, and Python {stack.python} with it"]


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
    """The CUDA nearest above the present one, else the newest below; where there is none, the default."""
    now = parsed(torch.cuda)
    known = [(parsed(choice.build.cuda), choice) for choice in choices]
    ordered = sorted(((cuda, choice) for cuda, choice in known if cuda), key=lambda pair: pair[0])
    above = [choice for cuda, choice in ordered if (cuda > now if now else choice.build.on_pypi)]
    return above[0] if above else (ordered[-1][1] if ordered else None)


def driver_remedies(stack: Stack, target: Target) -> list[str]:
    """Builds of the same version that the driver runs, with code for the card where one is meant."""
    release = known_release(stack.torch.version) if stack.torch.version else None
    if stack.torch.make == "vendor" and target.driver:
        newest = cuda_of_driver(target.driver)
        return [f"a container for CUDA {newest} or older"] if newest else []
    if release is None or not target.driver or _before_card(target):
        return []
    fitting = [
        _Choice(release, build)
        for build in release.builds
        if reaches(target.driver, driver_floor(build.cuda))
        and (not target.capability or serving(build.sass, (), target.capability)[0] in ("exact", "compat"))
    ]
    return [_spelled(choice, stack.torch) for choice in fitting[-1:]]
