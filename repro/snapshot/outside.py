"""What a project in a sub-folder of a repository imports from outside that folder, found in syntax trees."""

import ast
import posixpath
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from repro.snapshot.names import under

Read = Callable[[str], bytes]


@dataclass(frozen=True)
class Outside:
    """A file or folder of the repository outside the project, and the place that needs it."""

    path: str
    where: str


class _Tree:
    """The paths of a commit, asked about modules."""

    def __init__(self, paths: Iterable[str], folder: str) -> None:
        self.folder = folder
        self.files = set(paths)
        self.python = sorted(p for p in self.files if p.endswith(".py"))
        self.packages = {parent for p in self.python for parent in _parents(p)}

    def module(self, base: str, dotted: str) -> str | None:
        """Path of a module below `base`: its folder, its file, or None."""
        path = posixpath.join(base, *dotted.split("."))
        if path in self.packages:
            return path
        return f"{path}.py" if f"{path}.py" in self.files else None

    def outermost(self, base: str, dotted: str) -> str | None:
        """The shortest part of a dotted module below `base` that lies beside the project, not around it."""
        parts = dotted.split(".")
        for end in range(1, len(parts) + 1):
            found = self.module(base, ".".join(parts[:end]))
            if found is None:
                return None
            if not under(self.folder, found):
                return None if under(found, self.folder) else found
        return None


def _parents(path: str) -> Iterator[str]:
    path = posixpath.dirname(path)
    while path:
        yield path
        path = posixpath.dirname(path)


def find(paths: Sequence[str], folder: str, read: Read) -> list[Outside]:
    """What the Python files below `folder`, and what they need in turn, import from outside it.

    Args:
        paths: every path of the commit.
        folder: the project's, relative to the repository; empty gives no result.
        read: content of a path of the commit.
    """
    if not folder:
        return []
    tree = _Tree(paths, folder)
    above = ["", *reversed(list(_parents(folder)))]
    names = sorted({m for base in above for m in _modules(tree, base)} - set(sys.stdlib_module_names))
    worth = re.compile(rf"(?:import|from)\s+(?:{'|'.join(map(re.escape, names)) or '(?!)'})\b|\.\.".encode())
    found: dict[str, Outside] = {}
    todo = [p for p in tree.python if under(p, folder)]
    while todo:
        path = todo.pop(0)
        content = read(path)
        if not worth.search(content):
            continue
        for needed, line in _needs(tree, above, path, content):
            if not any(under(needed, f) for f in found):
                found[needed] = Outside(needed, f"{path}:{line}")
                todo += [p for p in tree.python if under(p, needed)]
    return list(found.values())


def _modules(tree: _Tree, base: str) -> set[str]:
    start = f"{base}/" if base else ""
    return {p[len(start) :].split("/")[0].removesuffix(".py") for p in tree.python if p.startswith(start)}


def _needs(tree: _Tree, above: list[str], path: str, content: bytes) -> Iterator[tuple[str, int]]:
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    here = posixpath.dirname(path)
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _absolute(tree, above, here, alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            for name in _from(node):
                if node.level:
                    yield from _relative(tree, here, node.level, name, node.lineno)
                else:
                    yield from _absolute(tree, above, here, name, node.lineno)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and ".." in node.value:
            yield from _text(tree, here, node.value, node.lineno)


def _from(node: ast.ImportFrom) -> list[str]:
    return [".".join(filter(None, (node.module, alias.name))) for alias in node.names]


def _absolute(tree: _Tree, above: list[str], here: str, dotted: str, line: int) -> Iterator[tuple[str, int]]:
    top = dotted.split(".")[0]
    inside = (here, tree.folder, posixpath.join(tree.folder, "src"))
    if top in sys.stdlib_module_names or any(tree.module(base, top) for base in inside):
        return
    for base in above:
        found = tree.outermost(base, dotted)
        if found:
            yield found, line
            return


def _relative(tree: _Tree, here: str, level: int, dotted: str, line: int) -> Iterator[tuple[str, int]]:
    base = posixpath.normpath(posixpath.join(here, *[".."] * (level - 1)))
    if base.startswith(".."):
        return
    found = tree.outermost("" if base == "." else base, dotted)
    if found:
        yield found, line


def _text(tree: _Tree, here: str, text: str, line: int) -> Iterator[tuple[str, int]]:
    """A path in text, as in `sys.path.append("../shared")`, seen from the project or the file's folder."""
    if not re.fullmatch(r"(?:\./)?\.\./[\w./ -]+", text):
        return
    for base in (tree.folder, here):
        path = posixpath.normpath(posixpath.join(base, text))
        inside = not path.startswith("..") and not under(path, tree.folder) and not under(tree.folder, path)
        if inside and (path in tree.files or any(under(f, path) for f in tree.files)):
            yield path, line
            return
