"""Names in Python code as its imports resolve them: `ext.load` is `torch.utils.cpp_extension.load`."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from repro.tables.read import table


@cache
def marks() -> dict[str, str]:
    """Names that mean compiled GPU code, with the kind of fact; one with a dot at its end is a prefix."""
    return {row["name"]: row["kind"] for row in table("source_marks")["name"]}


def kind_of(name: str) -> str:
    """Kind of fact that a full name stands for, or empty."""
    return marks().get(name) or next(
        (k for n, k in marks().items() if n[-1] == "." and name.startswith(n)), ""
    )


class Imports:
    """The names that the imports of a file bind, wherever in the file they stand."""

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        self._bound: dict[str, str] = {}
        self._stars: list[str] = []
        for node in nodes:
            if isinstance(node, ast.Import):
                self._plain(node)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                self._from(node, node.module)

    def full_name(self, node: ast.expr) -> str:
        """The dotted name behind a name or an attribute; empty for another expression."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        head = self._bound.get(node.id) or self._starred(node.id)
        return ".".join([head, *reversed(parts)]) if head else ""

    def _plain(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            self._bound[alias.asname or top] = alias.name if alias.asname else top

    def _from(self, node: ast.ImportFrom, module: str) -> None:
        for alias in node.names:
            if alias.name == "*":
                self._stars.append(module)
            else:
                self._bound[alias.asname or alias.name] = f"{module}.{alias.name}"

    def _starred(self, name: str) -> str:
        return next((f"{m}.{name}" for m in self._stars if f"{m}.{name}" in marks()), "")


def uses(nodes: Sequence[ast.AST], imports: Imports) -> Iterator[tuple[str, str, ast.expr, ast.Call | None]]:
    """Each use of a marked name: its kind, the full name, the node, and the call if it is called."""
    called = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in inner:
            name = imports.full_name(node)
            if name and isinstance(node.ctx, ast.Load) and (kind := kind_of(name)):
                yield kind, name, node, called.get(id(node))
