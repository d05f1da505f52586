"""Lines that contradict one another: two pins of one project, a pin outside a range, an empty range."""

from collections import defaultdict

from repro.lock.pipfile import Gathered
from repro.lock.ranges import allowed
from repro.lock.requests import ERROR, Requirement


def judge_clashes(got: Gathered, requirements: list[Requirement], python: str) -> None:
    """Note findings about projects that are named more than once, for a Python minor."""
    groups: dict[str, list[Requirement]] = defaultdict(list)
    foreign = {f.file for f in got.findings if f.code == "other-lock"}
    for r in (*requirements, *(c for c in got.constraints if c.file not in foreign)):
        if r.name and applies(r, python):
            groups[r.name].append(r)
    for name, group in groups.items():
        if len(group) > 1 and any(r in requirements for r in group):
            _judge(got, name, group)


def applies(r: Requirement, python: str) -> bool:
    """Whether a requirement's marker holds on Linux with that Python."""
    from packaging.markers import Marker, UndefinedEnvironmentName

    if not r.marker:
        return True
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.99",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": "x86_64",
        "os_name": "posix",
        "extra": "",
    }
    try:
        return Marker(r.marker).evaluate(environment)
    except UndefinedEnvironmentName:
        return True


def _judge(got: Gathered, name: str, group: list[Requirement]) -> None:
    first, last = group[0], group[-1]
    addresses = {r.url for r in group if r.url} | {r.path for r in group if r.path}
    if not allowed(r.spec for r in group) or len(addresses) > 1:
        said = ", ".join(f"{r.place} {r.spec or r.url or r.path or 'any'}" for r in group)
        lines = [r.line for r in group if r.file == last.file]
        text = f"{name} is asked for in ways that contradict one another: {said}"
        got.find("conflict", last.file, text, *lines, severity=ERROR, remedy=f"keep one line for {name}")
    elif all(r not in got.constraints for r in group):
        lines = [r.line for r in group if r.file == first.file]
        got.find("named-twice", first.file, f"{name} is named {len(group)} times", *lines, severity="note")
