"""Rules about requirements that are no packages, or that no index has; rows in `requirement_traps.toml`."""

import re
import sys
from typing import Any

from repro.lock.judged import Judged
from repro.lock.requests import ERROR, Hint, Requirement, normal
from repro.lock.table import table


def _trap(section: str, name: str) -> dict[str, Any] | None:
    """The row of a list in `requirement_traps.toml` whose pattern or names fit."""
    for row in table("requirement_traps")[section]:
        names = row["names"]
        if re.match(names, name) if isinstance(names, str) else name in names:
            found: dict[str, Any] = row
            return found
    return None


def stdlib(judged: Judged, r: Requirement) -> Requirement | None:
    """What Python has itself; the index has nothing of that name, or an old copy that hides it."""
    row = table("requirement_traps")["stdlib"].get(r.name)
    module = row["module"] if row else r.name.replace("-", "_")
    if r.url or r.path or (row is None and module not in sys.stdlib_module_names):
        return r
    since = row["since"] if row else "3.6"
    if _minor(judged.python) < _minor(since):
        return r
    judged.left_out[r.name] = "part of Python's standard library"
    text = f"{r.name}: `{module}` is part of Python {judged.python} itself; it is left out"
    judged.got.find("stdlib-name", r.file, text, r.line, remedy="take the line out")
    return None


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(p) for p in version.split(".")[:2])


def conda_name(judged: Judged, r: Requirement) -> Requirement | None:
    """Leave out what is a name of conda; `python` becomes a hint."""
    if r.name not in table("requirement_traps")["conda_names"]["names"] or r.url or r.path:
        return r
    judged.left_out[r.name] = "a name of conda, which the Python index does not have"
    text = f"{r.name} is a name of conda, not of the Python index; it is left out"
    remedy = (
        f"set `dependencies.python` in repro.toml to {r.spec or 'the version'}"
        if r.name == "python"
        else ("the CUDA libraries come with torch; choose its build: `torch==VERSION+cuNNN`")
    )
    judged.got.find("conda-name", r.file, text, r.line, remedy=remedy)
    if r.name == "python" and r.spec:
        judged.hints.append(Hint(python=r.pinned or r.spec, where=r.place))
    return None


def not_on_index(judged: Judged, r: Requirement) -> Requirement | None:
    """Stop at names that the index does not have, or has for something else."""
    row = _trap("not_on_index", r.name)
    if row is None or r.url or r.path or _has_other_source(judged):
        return r
    text = f"{r.name} {row['what']}"
    judged.got.find("not-on-index", r.file, text, r.line, severity=ERROR, remedy=row["remedy"])
    return r


def needs_torch(judged: Judged, r: Requirement) -> Requirement | None:
    """Stop at what must be built against torch, where no page or index of wheels is named for it."""
    row = _trap("needs_torch", r.name) or _trap("needs_torch", _repository_name(r.url))
    if (
        row is None
        or r.path
        or r.url.split("#")[0].endswith(".whl")
        or (_trap("not_on_index", r.name) and not r.url)
    ):
        return r
    name = r.name or _repository_name(r.url)
    if r.url or not _has_other_source(judged):
        text = f"{name} is there as source alone; its build imports torch, and mostly needs nvcc as well"
        remedy = (
            f"name a wheel of {name} that was built for this torch, CUDA and Python: its address, "
            "or a folder or page in `dependencies.find_links`"
        )
        judged.got.find("build-needs-torch", r.file, text, r.line, severity=ERROR, remedy=remedy)
    else:
        text = f"{name} must come as a wheel from a named page; the index has its source alone"
        judged.got.find("build-needs-torch", r.file, text, r.line)
    return r


def _repository_name(url: str) -> str:
    """`detectron2` of `git+https://host/x/detectron2.git@v1#egg=y`; empty for another address."""
    found = re.match(r"git[+@].*[/:]([\w.-]+?)(?:\.git)?(?:@[^/#]*)?(?:#.*)?$", url)
    return normal(found[1]) if found else ""


def _has_other_source(judged: Judged) -> bool:
    return any(s.kind in ("find-links", "extra-index", "index") for s in judged.got.sources)
