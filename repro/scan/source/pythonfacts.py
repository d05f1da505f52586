"""Facts of Python files. Comments and documentation do not count, only code."""

import ast
import warnings

from repro.model.check import SourceFact
from repro.scan.source.archflags import flag_targets, list_targets, variables
from repro.scan.source.buildscripts import add_targets, shown
from repro.scan.source.oldpython import old_python_facts
from repro.scan.source.pythonnames import Imports, marks, uses

# Longer texts are data.
_LONGEST_TEXT = 10_000
_SPEAKING = ("print", "warn", "warning", "info", "debug", "error", "add_argument", "get", "getenv", "pop")


def python_facts(name: str, text: str) -> list[SourceFact]:
    """The facts of one file, in order of their lines; Python 2 is read by its lines."""
    is_setup = name.rpartition("/")[2] == "setup.py"
    if not is_setup and not _worth_reading(text):
        return []
    tree = _parsed(text)
    if tree is None:
        return old_python_facts(name, text)
    lines = text.split("\n")
    nodes = list(ast.walk(tree))
    found = [*_uses(name, nodes, lines), *_targets(name, nodes, lines)]
    if is_setup:
        found += _needs_torch(name, nodes, lines)
    return sorted(found, key=lambda fact: int(fact.where.rpartition(":")[2]))


def _worth_reading(text: str) -> bool:
    """Whether the words are there at all; to parse every file of a big project takes minutes."""
    asked = any(all(part in text for part in name.split(".")) for name in marks())
    return asked or any(word in text for word in ("sm_", "compute_", *variables()))


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes such as "\d" in other people's code
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _uses(file: str, nodes: list[ast.AST], lines: list[str]) -> list[SourceFact]:
    found: dict[tuple[str, int], SourceFact] = {}
    for kind, _full, node, call in uses(nodes, Imports(nodes)):
        fact = SourceFact(
            kind=kind,
            where=f"{file}:{node.lineno}",
            text=shown(_line(lines, node.lineno)),
            name=_named(call) if kind.endswith("-extension") else "",
        )
        found.setdefault((kind, node.lineno), fact)
    return list(found.values())


def _named(call: ast.Call | None) -> str:
    """The extension's name: first argument, or `name=`."""
    if call is None:
        return ""
    given = [k.value for k in call.keywords if k.arg == "name"] or call.args[:1]
    return _text_of(given[0]) if given else ""


def _needs_torch(file: str, nodes: list[ast.AST], lines: list[str]) -> list[SourceFact]:
    for node in nodes:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        if any(n.partition(".")[0] == "torch" for n in names) and isinstance(node, ast.stmt):
            text = shown(_line(lines, node.lineno))
            return [SourceFact(kind="build-needs-torch", where=f"{file}:{node.lineno}", text=text)]
    return []


def _targets(file: str, nodes: list[ast.AST], lines: list[str]) -> list[SourceFact]:
    seen: dict[str, SourceFact] = {}
    silent = _not_code(nodes)
    constants = [n for n in nodes if isinstance(n, ast.Constant) and id(n) not in silent]
    flags = [(node, flag_targets(text)) for node in constants if len(text := _text_of(node)) < _LONGEST_TEXT]
    named = [(value, name) for node in nodes for name, value in _assigned(node)]
    lists = [(value, name, list_targets(name, _text_of(value))) for value, name in named]
    for node, how, targets in [*((node, "nvcc", found) for node, found in flags), *lists]:
        if targets:
            add_targets(seen, how, f"{file}:{node.lineno}", _line(lines, node.lineno), targets)
    return list(seen.values())


def _assigned(node: ast.AST) -> list[tuple[str, ast.expr]]:
    """Variables with lists of targets that get a value here, in `os.environ` or in a table."""
    pairs: list[tuple[ast.expr | None, ast.expr]] = []
    if isinstance(node, ast.Assign):
        pairs = [(t.slice, node.value) for t in node.targets if isinstance(t, ast.Subscript)]
    elif isinstance(node, ast.Dict):
        pairs = list(zip(node.keys, node.values, strict=True))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "putenv":
        pairs = [(node.args[0], node.args[1])] if len(node.args) == 2 else []
    return [(_text_of(key), value) for key, value in pairs if _text_of(key) in variables()]


def _not_code(nodes: list[ast.AST]) -> set[int]:
    """Texts that are documentation, or are only said to somebody."""
    silent: set[int] = set()
    for node in nodes:
        spoken = isinstance(node, ast.Raise) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )
        if spoken or (isinstance(node, ast.Call) and _called(node) in _SPEAKING):
            silent |= {id(inner) for inner in ast.walk(node) if isinstance(inner, ast.Constant)}
    return silent


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _text_of(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""
