"""Which options a training script takes, read from its syntax tree; nothing is ever executed."""

import ast
from pathlib import Path

_FLAG_ACTIONS = ("store_true", "store_false", "store_const", "count", "help", "version", "append_const")
_MOST_SCRIPTS = 300  # so that a folder of data with many files is not read for ever
_FLAG_TYPES = ("int", "float", "bool")


def options(root: Path, script: str) -> dict[str, str]:
    """Long options that take a text value, spelled as in the script, by their name with dashes.

    Modules of the project that the script imports (`options.py`, `config.py`) are read too.
    """
    found: dict[str, str] = {}
    for path in _with_imports(root, root / script):
        for call in _calls(_tree(path)):
            for name in _long_names(call):
                found.setdefault(name.lstrip("-").replace("_", "-").lower(), name)
    return found


def that_train(root: Path) -> list[str]:
    """Scripts of the project, at most two folders deep, that call `backward` themselves."""
    paths = [path for depth in ("*", "*/*", "*/*/*") for path in sorted(root.glob(f"{depth}.py"))]
    return [p.relative_to(root).as_posix() for p in paths[:_MOST_SCRIPTS] if _trains(p)]


def _trains(path: Path) -> bool:
    try:
        if b"backward" not in path.read_bytes():  # to parse every script of a big project takes seconds
            return False
    except OSError:
        return False
    nodes = ast.walk(_tree(path))
    return any(isinstance(node, ast.Attribute) and node.attr == "backward" for node in nodes)


def _tree(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def _with_imports(root: Path, script: Path) -> list[Path]:
    found = [script]
    for node in ast.walk(_tree(script)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            inside = name.replace(".", "/") + ".py"
            found += [p for p in (script.parent / inside, root / inside) if p.is_file() and p not in found]
    return found


def _calls(tree: ast.Module) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("add_argument", "option")
    ]


def _long_names(call: ast.Call) -> list[str]:
    words = {k.arg: k.value for k in call.keywords}
    if (
        _text(words.get("action")) in _FLAG_ACTIONS
        or _text(words.get("type")) in _FLAG_TYPES
        or "is_flag" in words
    ):
        return []
    names = [_text(a) for a in call.args]
    return [n for n in names if n.startswith("--")]


def _text(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return node.id if isinstance(node, ast.Name) else ""
