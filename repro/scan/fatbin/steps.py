"""Steps from container to container through a section that holds nothing else."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from repro.model.binary import Section
from repro.scan.fatbin.container import (
    CONTAINER_HEADER,
    IMAGE_HEADER,
    MAGIC,
    MOST_ENTRIES,
    Container,
    Image,
    image,
    opening,
)
from repro.scan.fatbin.finder import Finder
from repro.scan.fatbin.problems import Problems
from repro.scan.reader import Bytes, Unreadable

_BLOCK = 1 << 20
_FIRST_BLOCK = 1 << 9  # the next container is near, or far
_ALIGN = 8

TOO_MANY = "has more containers and images than a file may have; the rest was left"


class Steps:
    """Collects containers, gaps between them and problems of one file, with one bound for them all."""

    def __init__(self, reader: Bytes) -> None:
        self.containers: list[Container] = []
        self.gaps: list[tuple[int, int]] = []
        self.problems = Problems()
        self._reader = reader
        self._entries = 0

    def section(
        self, name: str, kind: Section, start: int, end: int, seen: Sequence[Container] | None = None
    ) -> None:
        """Take the containers from `start` to `end`: those `seen` going by, if they leave no gap."""
        known = between(seen or (), start, end)
        if known and _tile(known, start, end):
            self.containers += [replace(c, section=kind) for c in known]
            return
        try:
            self._walk(name, kind, start, end)
        except Unreadable as error:
            if seen is None:
                raise
            self.containers += [replace(c, section=kind) for c in known]
            self.problems.add(f"{name} holds more than its containers, and {error}")

    def search(self, start: int, end: int) -> None:
        """Take the containers among other data from `start` to `end`."""
        finder = Finder(start, end, self._entries)
        while finder.at < end and not finder.full:
            finder.jump()
            chunk = self._reader.read(finder.at, min(_BLOCK, end - finder.at))
            if not chunk:
                break
            finder.feed(chunk)
        finder.finish()
        self._entries = finder.entries
        self.containers += finder.whole
        if finder.full:
            self.problems.add(TOO_MANY)

    def _walk(self, name: str, kind: Section, start: int, end: int) -> None:
        at, gap = start, start
        while at < end:
            if self._entries >= MOST_ENTRIES:
                self.problems.add(TOO_MANY)
                break
            after = self._container(name, kind, at, end)
            if after is None:
                at = self._magic(at + _ALIGN - (at - start) % _ALIGN, start, end)
                continue
            self._gap(name, gap, at)
            at = gap = after
        self._gap(name, gap, min(at, end))

    def _container(self, name: str, kind: Section, at: int, end: int) -> int | None:
        """Where to go on after the container at `at`; None when there is none."""
        head = self._reader.read(at, min(CONTAINER_HEADER + IMAGE_HEADER, end - at))
        found = opening(head, end - at)
        self._entries += 1
        if found is None:
            if head.startswith(MAGIC):
                self.problems.add(
                    f"the container at byte {at} does not fit in {name}, or its header is broken"
                )
            return None
        start, stop = at + found[0], at + found[1]
        first = head[CONTAINER_HEADER:] if found[0] == CONTAINER_HEADER else b""
        images, place, broken = self._images(start, stop, first)
        if broken:
            self.problems.add(f"the container at byte {at} of {name} has a broken image at byte {place}")
        self.containers.append(Container(kind, at, found[1], images))
        return place

    def _images(self, place: int, stop: int, head: bytes) -> tuple[tuple[Image, ...], int, bool]:
        """Images from `place` on, where they end, and whether that is because one is broken.

        `head` are the bytes of the first one, where they were read already.
        """
        images: list[Image] = []
        while place < stop and self._entries < MOST_ENTRIES:
            this = image(head or self._reader.read(place, min(IMAGE_HEADER, stop - place)), stop - place)
            if this is None:
                return tuple(images), place, True
            images.append(this)
            self._entries += 1
            place, head = place + this.header_size + this.padded_size, b""
        return tuple(images), place, False

    def _magic(self, at: int, start: int, end: int) -> int:
        """The next offset with the magic number on a boundary of eight bytes, `end` when there is none."""
        length = _FIRST_BLOCK
        while at < end:
            block = self._reader.read(at, min(length, end - at))
            hit = block.find(MAGIC)
            while hit >= 0 and (at + hit - start) % _ALIGN and self._entries < MOST_ENTRIES:
                self._entries += 1
                hit = block.find(MAGIC, hit + 1)
            if hit >= 0:
                return at + hit
            if len(block) < length:
                return end
            at, length = at + length, min(2 * length, _BLOCK)
        return end

    def _gap(self, name: str, start: int, end: int) -> None:
        if start >= end:
            return
        self.gaps.append((start, end - start))
        if not self._zero(start, end):
            self.problems.add(f"{end - start} bytes at byte {start} of {name} belong to no container")

    def _zero(self, start: int, end: int) -> bool:
        for at in range(start, end, _BLOCK):
            block = self._reader.read(at, min(_BLOCK, end - at))
            if block.count(0) != len(block):
                return False
        return True


def between(seen: Sequence[Container], start: int, end: int) -> Sequence[Container]:
    """Those of the containers, in the order of the file, that start in the range."""
    first = bisect_left(seen, start, key=lambda c: c.offset)
    return seen[first : bisect_left(seen, end, lo=first, key=lambda c: c.offset)]


def _tile(containers: Sequence[Container], start: int, end: int) -> bool:
    for container in containers:
        if container.offset != start:
            return False
        start += container.size
    return start == end
