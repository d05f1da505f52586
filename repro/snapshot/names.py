"""Names of files: shown so that every byte can be told, and compared as other file systems would."""

from collections import defaultdict
from collections.abc import Iterable

from repro.model.snapshot import Warned

_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}


def shown(name: str) -> str:
    """A name on one line: control characters, backslashes and bytes that are not UTF-8 are escaped."""
    return "".join(_SHORT.get(c) or (c if c.isprintable() else _escaped(c)) for c in name)


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8, as Python keeps it
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def listed(names: Iterable[str], most: int = 20) -> list[str]:
    """At most `most` names, shown, and how many more there are."""
    names = list(names)
    more = [f"and {len(names) - most} more"] if len(names) > most else []
    return [shown(n) for n in names[:most]] + more


def size(num_bytes: int) -> str:
    """A size for people: `130 bytes`, `60.0 MiB`."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if num_bytes >= factor:
            return f"{num_bytes / factor:.1f} {unit}"
    return "1 byte" if num_bytes == 1 else f"{num_bytes} bytes"


def collisions(paths: Iterable[str]) -> list[Warned]:
    """A warning for each group of paths that a file system without case would take for one."""
    groups: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        groups[path.casefold()].append(path)
    return [
        Warned(
            code="case-collision",
            where=shown(same[0]),
            text=f"{' and '.join(shown(p) for p in same)} would collide on a file system that ignores case",
        )
        for same in groups.values()
        if len(same) > 1
    ]


def under(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies below it; the empty folder holds everything."""
    return not folder or path == folder or path.startswith(folder + "/")
