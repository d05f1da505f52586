"""Finds containers among other bytes that go by once, in pieces of any size."""

from repro.scan.fatbin.container import (
    CONTAINER_HEADER,
    IMAGE_HEADER,
    MAGIC,
    MOST_ENTRIES,
    Container,
    Image,
    certain,
    image,
)

_ENOUGH = CONTAINER_HEADER + IMAGE_HEADER


class Finder:
    """Looks for the magic number, checks what follows it strictly, and jumps over payloads.

    Attributes:
        at: offset of the next byte to be fed.
        whole: containers that were read to their end, as `data`: where they lie is for others to say.
        broken: (offset, offset where it broke) of containers with an impossible image.
        entries: containers, images and false hits so far.
        full: there were more than a file can have; the rest was passed over.
    """

    def __init__(self, start: int, end: int, entries: int = 0) -> None:
        self.at = start
        self.whole: list[Container] = []
        self.broken: list[tuple[int, int]] = []
        self.entries = entries
        self._end = end
        self._next = start  # nothing before this offset is looked at
        self._rest = b""
        self._began: tuple[int, int] | None = None  # offset and end of the container that is open
        self._images: list[Image] = []

    @property
    def full(self) -> bool:
        """There were more containers, images and false hits than one file may have."""
        return self.entries >= MOST_ENTRIES

    @property
    def wanted(self) -> int:
        """Offset of the next byte it will look at; what lies before may be left out by `jump`."""
        return max(self.at, min(self._next, self._end))

    def jump(self) -> None:
        """Go on at `wanted` without having been fed what lies before."""
        self.at = self.wanted

    def feed(self, chunk: bytes) -> None:
        """Take the bytes at `at`."""
        self.at += len(chunk)
        if self._next < self.at and not self.full:
            self._look(self._rest + chunk, last=False)

    def finish(self) -> None:
        """Take what was held back; after it only `whole` and `broken` are of use."""
        if self._rest:
            self._look(self._rest, last=True)
        if self._began:
            self._break(self.at)

    def _look(self, data: bytes, *, last: bool) -> None:
        base = self.at - len(data)
        cursor = max(self._next - base, 0)
        while cursor < len(data) and not self.full:
            if self._began is None:
                hit = data.find(MAGIC, cursor)
                if hit < 0:
                    cursor = max(cursor, len(data) - len(MAGIC) + 1)
                    break
                cursor = hit
            needed = _ENOUGH if self._began is None else IMAGE_HEADER
            if len(data) - cursor < needed and not last:
                break
            head = data[cursor : cursor + needed]
            cursor += (
                self._begin(head, base + cursor) if self._began is None else self._image(head, base + cursor)
            )
        self._next = base + cursor
        self._rest = data[cursor:]

    def _begin(self, head: bytes, offset: int) -> int:
        """Bytes to go on by, after a hit of the magic number."""
        self.entries += 1
        found = certain(head, self._end - offset)
        if found is None:
            return len(MAGIC)
        if found[1] == CONTAINER_HEADER:
            self.whole.append(Container("data", offset, CONTAINER_HEADER))
        else:
            self._began = (offset, offset + found[1])
        return CONTAINER_HEADER

    def _image(self, head: bytes, offset: int) -> int:
        """Bytes to go on by, at the place of an image."""
        start, end = self._began or (offset, offset)
        self.entries += 1
        found = image(head, end - offset)
        if found is None:
            self._break(offset)
            return 0
        self._images.append(found)
        length = found.header_size + found.padded_size
        if offset + length == end:
            self.whole.append(Container("data", start, end - start, tuple(self._images)))
            self._began, self._images = None, []
        return length

    def _break(self, offset: int) -> None:
        start, _ = self._began or (offset, offset)
        self.broken.append((start, offset))
        self._began, self._images = None, []
