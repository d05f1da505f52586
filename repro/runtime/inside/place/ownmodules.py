"""Modules that belong to no distribution: the program's own, and copies on PYTHONPATH.

No version stands for them, so their source does. What environment variables it names is kept too.
"""

import hashlib
import os
import re
import sys
import zlib

from ...variables import environment, is_secret
from .places import PACKAGES, STANDARD, is_foreign

MAIN = "__main__"
MODULES, BYTES = 2000, 2 << 20
NAMED = re.compile(
    r"(?:environ\s*(?:\.\s*(?:get|pop|setdefault)\s*\(|\[)|getenv\s*\()\s*[\"']([A-Za-z_][A-Za-z0-9_]*)[\"']"
)
# They name a place or a person, not a setting.
PLACES = ("HOME", "PATH", "PWD", "USER", "LOGNAME", "HOSTNAME", "SHELL", "TMPDIR", "TEMP", "TMP", "TERM",
          "DISPLAY", "COLUMNS", "LINES", "NO_COLOR")  # fmt: skip
# Most modules by far: looked at no further.
INSTALLED = tuple(os.sep + name + os.sep for name in PACKAGES)


def own_modules():
    """`modules.NAME` (version if it has one, and digest), `env.NAME` of variables named in the sources."""
    sources = _sources()
    tops, named = {}, set()
    for name, text in sorted(sources.items()):
        named.update(NAMED.findall(text.decode("utf-8", "replace")))
        if name != MAIN:
            digest = tops.setdefault(name.partition(".")[0], hashlib.sha256())
            digest.update(name.encode("utf-8") + b"\0" + text + b"\0")
    values = {"modules." + top: _shown(top, digest) for top, digest in tops.items()}
    values.update(_variables(named))
    return values


def _sources():
    """Source by name of each loaded module of the program's own."""
    found, size = {}, 0
    for name, path in _paths():
        if path.startswith(STANDARD + os.sep) or any(part in path for part in INSTALLED):
            continue
        path = os.path.abspath(path)
        if len(found) >= MODULES or is_foreign(path):
            continue
        try:
            size += os.path.getsize(path)
            if size > BYTES:
                break
            with open(path, "rb") as f:
                found[name] = f.read()
        except OSError:
            continue
    return found


def _paths():
    """Name and file of the program's first script, and of every module that is loaded."""
    if sys.argv and sys.argv[0].endswith(".py"):
        yield MAIN, sys.argv[0]
    for name, module in list(sys.modules.items()):
        # Through the dictionary: lazy modules would load themselves when asked for an attribute.
        known = getattr(module, "__dict__", {})
        path, spec = known.get("__file__"), known.get("__spec__")
        if name == MAIN and spec is not None:  # `python -m NAME` runs a module under another name
            name = spec.name
        if isinstance(path, str) and path.endswith(".py") and name not in (MAIN, "__mp_main__"):
            yield name, path


def _shown(top, digest):
    version = getattr(sys.modules.get(top), "__dict__", {}).get("__version__")
    words = [version] if isinstance(version, str) else []
    return " ".join(words + ["sha256 " + digest.hexdigest()[:12]])


def _variables(names):
    """Variables that the program asks for by name and no table knows: a number as it is, else a checksum."""
    known = environment(os.environ)
    kept = (n for n in names if n in os.environ and n not in PLACES and not n.startswith("REPRO_RUNTIME"))
    return {"env." + n: _value(os.environ[n]) for n in kept if "env." + n not in known and not is_secret(n)}


def _value(text):
    try:
        float(text)
    except ValueError:
        return "crc32 %08x" % (zlib.crc32(text.encode("utf-8", "surrogateescape")) & 0xFFFFFFFF)
    return text
