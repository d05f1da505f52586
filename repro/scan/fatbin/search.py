"""GPU code of a file that goes by once: a member of a wheel, or of the tar of an image."""

from repro.scan.elf.layout import sections
from repro.scan.fatbin.container import Code
from repro.scan.fatbin.finder import Finder
from repro.scan.fatbin.form import form
from repro.scan.fatbin.kept import Kept
from repro.scan.fatbin.place import Seen, placed, unplaced
from repro.scan.fatbin.steps import TOO_MANY
from repro.scan.fatbin.walk import bare
from repro.scan.reader import Bytes, Unreadable


class Search:
    """Takes a file of known size from its first byte to its last, in chunks of any size.

    An ELF file has its section table at the end, so containers are found by their magic number first and
    put into sections afterwards. Needs about 2 MiB beside the chunks.
    """

    def __init__(self, size: int) -> None:
        self._kept = Kept(size)
        self._finder = Finder(0, size)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the file."""
        self._kept.feed(chunk)
        self._finder.feed(chunk)

    def finish(self, reader: Bytes, deep: bool = False) -> Code:
        """What `walk` says of the same file; call it once, after the last byte.

        Args:
            reader: serves the parts that are read a second time: registrations, and relocations in the
                first some megabytes. With one that cannot (`NoBytes`) the code is judged by its section,
                `joined` is false, and the problems say so.
            deep: keep the containers of data sections too.

        Raises Unreadable when the file is no library, container file or machine code, or was cut.
        """
        kept = self._kept
        if kept.at != kept.size:
            raise Unreadable(f"cut at byte {kept.at} of {kept.size}")
        self._finder.finish()
        kept.before(reader)
        kind = form(kept.head)
        if kind != "elf":
            return bare(kind, kept.head, kept, self._finder.whole)
        try:
            elf = sections(kept)
        except Unreadable as error:
            return unplaced(self._seen(), str(error))
        return placed(elf, kept, deep, self._seen())

    def _seen(self) -> Seen:
        finder = self._finder
        spans = [(c.offset, c.offset + c.size) for c in finder.whole] + finder.broken
        problems = (TOO_MANY,) if finder.full else ()
        return Seen(tuple(finder.whole), tuple(sorted(spans)), problems)
