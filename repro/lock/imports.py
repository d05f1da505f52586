"""What the project's Python files import, and which project on the index that means."""

import ast
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from repro.lock.table import known
from repro.lock.text import read_text
from repro.lock.walk import files_below

_MODULES = (".py", ".pyx", ".so")


@cache
def imported(root: Path, only: frozenset[str] = frozenset()) -> dict[str, str]:
    """Top-level modules that Python files of the project (`only` some) import, with the first `file:line`."""
    found: dict[str, str] = {}
    for path in files_below(root):
        if path.suffix != ".py" or path.name in ("setup.py", "conftest.py"):
            continue
        file = path.relative_to(root).as_posix()
        for name, line in _imports(path) if not only or file in only else ():
            found.setdefault(name, f"{file}:{line}")
    return found


def _imports(path: Path) -> list[tuple[str, int]]:
    try:
        about = path.stat()
    except OSError:
        return []
    return _imports_once(path, about.st_mtime_ns, about.st_size)


@cache  # a project's files are asked for all, and then for those that the command reaches
def _imports_once(path: Path, _changed: int, _size: int) -> list[tuple[str, int]]:
    try:
        parsed = ast.parse(read_text(path))
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = []
    for node in _statements(parsed):
        if isinstance(node, ast.Import):
            found += [(alias.name.split(".")[0], node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.append((node.module.split(".")[0], node.lineno))
    return found


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements, those outside of blocks first; expressions hold no imports, and most of the nodes."""
    todo: deque[ast.AST] = deque([tree])
    while todo:
        node = todo.popleft()
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            todo.extend(getattr(node, name, ()))
        yield node


def reached(root: Path, command: Sequence[str]) -> set[str]:
    """The scripts of a command and all files that they import; empty without a script."""
    todo = [root / word for word in command if word.endswith(".py") and (root / word).is_file()]
    modules = [after for word, after in pairwise(command) if word == "-m"]
    todo += [path for name in modules for path in _files_of(root, root, name)]
    found: dict[Path, None] = {}
    while todo:
        path = todo.pop()
        if path not in found:
            found[path] = None
            todo += [p for name in _dotted(path) for p in _files_of(root, path.parent, name)]
    return {p.relative_to(root).as_posix() for p in found}


def _dotted(path: Path) -> Iterator[str]:
    """Every module that a file may mean, relative ones without their dots."""
    try:
        parsed = ast.parse(read_text(path))
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(parsed):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (".".join(filter(None, (node.module, alias.name))) for alias in node.names)


def _files_of(root: Path, here: Path, dotted: str) -> Iterator[Path]:
    parts = dotted.split(".")
    for base in dict.fromkeys((here, root, root / "src", here.parent if here != root else root)):
        for end in range(1, len(parts) + 1):
            path = base.joinpath(*parts[:end])
            yield from (p for p in (path.with_name(f"{path.name}.py"), path / "__init__.py") if p.is_file())


def foreign(root: Path, only: frozenset[str] = frozenset()) -> dict[str, str]:
    """Imported modules that are neither standard library nor the project's own, with the first place."""
    files = [p.relative_to(root) for p in files_below(root) if p.suffix in _MODULES]
    own = {p.name.partition(".")[0] for p in files} | {p.parent.name for p in files}
    own |= {p.parts[0] for p in files if len(p.parts) > 1}  # a folder of packages needs no __init__.py
    others = sys.stdlib_module_names | known("python2").keys()
    return {n: w for n, w in imported(root, only).items() if n not in others and n not in own}


def project_of(module: str) -> str:
    """Project on the Python index that holds a module, as far as the table knows; else the module's name."""
    return known("imports").get(module, module)
