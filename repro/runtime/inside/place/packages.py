"""Which installed distributions the program has really imported, with their versions.

Reads only the small files of each distribution's metadata folder: of `RECORD` no more than tells
which top-level names it owns. importlib.metadata is younger than Python 3.6 and slower.
"""

import os
import re
import sys

METADATA = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+?)(?:-py[^-]*)?\.(?:dist-info|egg-info)\Z")


def imported_packages():
    """Version by normalised name of each distribution that owns an imported top-level module."""
    tops = {name.partition(".")[0] for name in list(sys.modules)}
    found = {}
    for folder in _folders():
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            match = METADATA.match(name)
            if (
                match
                and _normal(match.group("name")) not in found
                and _owns(os.path.join(folder, name), match, tops)
            ):
                found[_normal(match.group("name"))] = match.group("version")
    return found


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _folders():
    """Folders of the import path that hold an imported module, in order."""
    holding = set()
    for name, module in list(sys.modules.items()):
        # Through the dictionary: lazy modules would load themselves when asked for an attribute.
        path = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(path, str) and "." not in name:
            folder = os.path.dirname(path)
            holding.add(os.path.dirname(folder) if os.path.basename(path).startswith("__init__.") else folder)
    seen = []
    for path in sys.path:
        path = os.path.abspath(path or ".")
        if path not in seen and path in holding:
            seen.append(path)
    return seen


def _owns(metadata, match, tops):
    try:
        with open(os.path.join(metadata, "top_level.txt"), encoding="utf-8") as f:
            names = set(f.read().split())
    except OSError:
        names = _from_record(metadata)
    if not names:
        names = {match.group("name").lower().replace("-", "_")}
    return bool(names & tops)


def _from_record(metadata):
    names = set()
    try:
        with open(os.path.join(metadata, "RECORD"), encoding="utf-8", errors="replace") as f:
            for line in f:
                first, slash, _ = line.partition("/")
                if not slash:
                    first = first.partition(".py,")[0] if ".py," in first else ""
                if first and not first.endswith((".dist-info", ".data")) and first != "..":
                    names.add(first)
    except OSError:
        pass
    return names
