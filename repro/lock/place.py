"""Where the lock is for: an engine, an image, a Python; and which pip tools serve that Python."""

from dataclasses import dataclass, field

from repro.engine.contract import Engine
from repro.errors import ReproError
from repro.lock.table import table


@dataclass(frozen=True)
class Place:
    """The target. `python` is a minor such as `3.11`; `image` is empty for an engine without images."""

    engine: Engine
    image: str
    python: str

    def identity(self) -> dict[str, str]:
        """What of the target decides a resolution: Python, engine kind, image id."""
        info = self.engine.info()
        find = getattr(self.engine, "find", None)
        held = find(self.image) if find and self.image else None
        image = held.id if held else self.image
        return {"python": self.python, "kind": info.kind, "image": image, "architecture": info.architecture}


@dataclass(frozen=True)
class Tools:
    """A row of `lock_tools.toml`. `source`: where the bounds of the versions were read."""

    python: str
    pip: str
    pip_tools: str
    why: str
    source: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """What the target's interpreter said of itself; `tags` are wheel tags, best first."""

    python: str
    platform: str
    libc: str
    tags: tuple[str, ...]
    markers: dict[str, str] = field(default_factory=dict)

    @property
    def minor(self) -> str:
        """`3.11` of `3.11.2`."""
        return ".".join(self.python.split(".")[:2])


def tools_for(python: str, *, old_metadata: bool = False) -> Tools:
    """Versions of pip and pip-tools for a Python minor.

    Raises:
        lock-python-unsupported: older than the oldest row of the table, or not a version.
    """
    rows = [Tools(**row) for row in table("lock_tools")["tools"]]
    try:
        asked = tuple(int(part) for part in python.split(".")[:2])
    except ValueError:
        asked = ()
    if old_metadata:
        rows = [Tools(**row) for row in table("lock_tools")["old_metadata"]] + rows
    for row in rows:
        if len(asked) == 2 and asked >= tuple(int(part) for part in row.python.split(".")):
            return row
    raise ReproError(
        "lock-python-unsupported",
        f"nothing can be locked for Python `{python}`",
        found=f"Python {python or '(none named)'}",
        needs=f"a minor version such as 3.11; the oldest that can be locked is {rows[-1].python}",
        tries=['set `dependencies.python = "3.11"` in repro.toml'],
    )
