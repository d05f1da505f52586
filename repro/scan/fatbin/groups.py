"""Containers of one file, those that are alike counted together."""

from collections import Counter

from repro.model.binary import ContainerGroup, GpuCode, Kind
from repro.scan.fatbin.container import Code, Container, Image


def groups(code: Code) -> list[ContainerGroup]:
    """The containers as the model has them, in the order in which each kind was met first."""
    counts: Counter[tuple[object, ...]] = Counter()
    first: dict[tuple[object, ...], Container] = {}
    for container in code.containers:
        alike = (container.section, container.judged, container.wrapper, _short(container.images))
        first.setdefault(alike, container)
        counts[alike] += 1
    return [_group(first[alike], count) for alike, count in counts.items()]


def _group(container: Container, count: int) -> ContainerGroup:
    images = [GpuCode(kind=kind, arch=arch, isa=isa) for kind, arch, isa in _short(container.images)]
    return ContainerGroup(
        section=container.section,
        judged=container.judged,
        wrapper=container.wrapper,
        images=images,
        count=count,
    )


def _short(images: tuple[Image, ...]) -> tuple[tuple[Kind, str, str], ...]:
    """Kind, architecture and, for text that the driver compiles, version of its language."""
    return tuple((i.kind, i.arch, i.version if i.kind == "ptx" else "") for i in images)
