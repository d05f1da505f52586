"""What the program needs and git does not hold: its script, or modules that an ignore rule swallows."""

import ast
import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from repro.errors import ReproError
from repro.model.snapshot import Warned
from repro.snapshot.names import shown, under

_SCRIPTS = (".py", ".sh")


def judge(
    top: Path, folder: str, command: Sequence[str], ignored: Sequence[str], packed: Mapping[str, object]
) -> list[Warned]:
    """Warnings for files that the command names and that are not packed.

    Args:
        top: of the working tree.
        folder: the project's, relative to it.
        command: the training command.
        ignored: what git ignores, folders with a slash at their end.
        packed: contents by path.

    Raises:
        snapshot-not-packed: a script or an imported module lies here, but is not among what is packed.
    """
    named = [p for p in _named(folder, command) if p not in packed and (top / p).is_file()]
    scripts = {p: "the command runs it" for p in named if p.endswith(_SCRIPTS)}
    missing = scripts | dict(_modules(top, folder, ignored, packed))
    if missing:
        raise _not_packed(missing, ignored)
    return [
        Warned(
            code="command-file-left-out",
            where=shown(p),
            text=f"{shown(p)} is named by the command and not packed; --include or --mount brings it",
        )
        for p in named
    ]


def _named(folder: str, command: Sequence[str]) -> list[str]:
    words = [w for w in command if not w.startswith(("-", "/")) and "{" not in w]
    modules = [after.replace(".", "/") for word, after in itertools.pairwise(command) if word == "-m"]
    tried = [*words, *(f"{m}{end}" for m in modules for end in (".py", "/__main__.py"))]
    return [posixpath.normpath(posixpath.join(folder, w)) for w in tried]


def _modules(
    top: Path, folder: str, ignored: Sequence[str], packed: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    names = {posixpath.basename(p.rstrip("/")).removesuffix(".py") for p in ignored if _may_hold(top, p)}
    if not names:
        return
    worth = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b".encode())
    swallowed = [p.rstrip("/") for p in ignored]
    for path, content in packed.items():
        if not (
            path.endswith(".py")
            and under(path, folder)
            and isinstance(content, bytes)
            and worth.search(content)
        ):
            continue
        for dotted, bases, line in _imports(path, folder, content):
            for found in _places(dotted, bases):
                if (
                    found not in packed
                    and any(under(found, s) for s in swallowed)
                    and (top / found).is_file()
                ):
                    yield found, f"imported at {shown(path)}:{line}"


def _may_hold(top: Path, path: str) -> bool:
    return path.endswith(".py") or (path.endswith("/") and any((top / path).glob("*.py")))


def _imports(path: str, folder: str, content: bytes) -> Iterator[tuple[str, list[str], int]]:
    """Imports that always happen: those at the top level of a module, outside of `try` and `if`."""
    try:
        body = ast.parse(content).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    here = posixpath.dirname(path)
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, [here, folder, posixpath.join(folder, "src")], node.lineno
        elif isinstance(node, ast.ImportFrom):
            up = posixpath.normpath(posixpath.join(here, *[".."] * (node.level - 1)))
            bases = [up] if node.level else [here, folder, posixpath.join(folder, "src")]
            for alias in node.names:
                yield ".".join(filter(None, (node.module, alias.name))), bases, node.lineno


def _places(dotted: str, bases: Sequence[str]) -> Iterator[str]:
    parts = dotted.split(".")
    for base in bases:
        for end in range(1, len(parts) + 1):
            path = posixpath.normpath(posixpath.join(base, *parts[:end]))
            yield from (f"{path}.py", f"{path}/__init__.py")


def _not_packed(missing: Mapping[str, str], ignored: Sequence[str]) -> ReproError:
    by_rule = [p for p in missing if any(under(p, i.rstrip("/")) for i in ignored)]
    first = next(iter(by_rule or missing))
    return ReproError(
        "snapshot-not-packed",
        f"the commit lacks {len(missing)} file{'s' if len(missing) > 1 else ''} that the program needs",
        found=[
            f"{shown(p)}: {why}" + ("; git ignores it" if p in by_rule else "") for p, why in missing.items()
        ],
        needs="every file of the program in the commit",
        why="what git does not hold is not packed, and the program would stop without it",
        done="nothing was packed",
        tries=[
            f"git add -f {shown(first)} && git commit",
            f"git check-ignore -v {shown(first)}      (says by which rule)",
        ],
    )
