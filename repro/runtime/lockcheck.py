"""Whether the packages that the program imported are those that the bundle's lock names."""

import re

from .files import read_json, write_json

PINNED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9._]*)==([^\s;\\]+)")
PREFIX = "packages."


def locked(path):
    """Version by normalised name in a requirements file; empty where there is none."""
    found = {}
    try:
        with open(path, encoding="utf-8") as f:
            for line in f:
                match = PINNED.match(line)
                if match:
                    found[re.sub(r"[-_.]+", "-", match.group(1)).lower()] = match.group(2)
    except OSError:
        pass
    return found


def add_differences(lock, conditions):
    """Write `lock.NAME` into a conditions file for each imported package that is not the locked one."""
    pins, document = locked(lock), read_json(conditions)
    if not pins or not document:
        return
    values = document["values"]
    imported = {name[len(PREFIX) :]: values[name] for name in values if name.startswith(PREFIX)}
    differing = {
        "lock." + name: "locked %s, imported %s" % (pins.get(name, "none"), version)
        for name, version in imported.items()
        if pins.get(name) != version
    }
    if differing:
        values.update(differing)
        write_json(conditions, document)
