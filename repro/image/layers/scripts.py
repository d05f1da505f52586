"""The little programs that pip makes from entry points, in the words of the pip that installs."""

import ast
import re
import textwrap
from collections.abc import Callable

_PYTHON = b"/opt/env/bin/python"
# `module:object` with extras behind it, as the entry points specification has it.
_VALUE = re.compile(r"(?P<module>[\w.]+)\s*:\s*(?P<object>[\w.]+)\s*(\[.*\])?$")
_OWN_MAKER = "pip/_internal/operations/install/wheel.py"
_LIBRARY = "pip/_vendor/distlib/scripts.py"


def template_of(read: Callable[[str], bytes]) -> str:
    """The text that a pip makes its scripts of, found in its own source.

    `read` gives the content of one of its files by its path below site-packages. Since 25.1 pip has a text of
    its own; before, that of distlib counts.

    Raises:
        ValueError: neither file has one.
    """
    for path, name in ((_OWN_MAKER, "script_template"), (_LIBRARY, "SCRIPT_TEMPLATE")):
        for node in ast.walk(ast.parse(read(path))):
            if isinstance(node, ast.Assign) and _names(node) == [name]:
                return _text(node.value)
    raise ValueError("this pip holds no text for scripts")


def _names(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def _text(value: ast.expr) -> str:
    """A string literal, or one inside `textwrap.dedent(...)`."""
    if isinstance(value, ast.Call):
        return textwrap.dedent(str(ast.literal_eval(value.args[0])))
    return str(ast.literal_eval(value))


def launcher(name: str, value: str, template: str) -> bytes:
    """The program for an entry point; raises ValueError for a value that names no object."""
    found = _VALUE.match(value.strip())
    if not found:
        raise ValueError(f"entry point `{name} = {value}` names no function")
    names = {
        "module": found["module"],
        "import_name": found["object"].partition(".")[0],
        "func": found["object"],
    }
    return b"#!" + _PYTHON + b"\n" + (template % names).encode()


def console_names(points: dict[str, str], python: str) -> dict[str, str]:
    """Entry points with the names that pip gives: its own and easy_install's carry the version of Python."""
    named = dict(points)
    if pip := named.pop("pip", ""):
        named = {k: v for k, v in named.items() if not re.fullmatch(r"pip(\d+(\.\d+)?)?", k)}
        named |= dict.fromkeys(("pip", f"pip{python.partition('.')[0]}", f"pip{python}"), pip)
    if easy := named.pop("easy_install", ""):
        named = {k: v for k, v in named.items() if not re.fullmatch(r"easy_install(-\d+\.\d+)?", k)}
        named |= dict.fromkeys(("easy_install", f"easy_install-{python}"), easy)
    return named


def fixed(data: bytes) -> bytes:
    """A script of the wheel with `#!python` in its first line replaced by the environment's interpreter."""
    first, newline, rest = data.partition(b"\n")
    return b"#!" + _PYTHON + b"\n" + rest if newline and first.startswith(b"#!python") else data
