"""Nothing that comes from outside is unpickled on the host: no module of it can."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPRO = Path(__file__).resolve().parents[2] / "repro"
MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "torch"}
CALLS = {
    "torch.load",
    "joblib.load",
    "pandas.read_pickle",
    "numpy.load",
    "np.load",
    "eval",
    "exec",
    "yaml.load",
}


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]


def _host() -> list[Path]:
    """The host's own modules; the runtime lives beside the program, and reads what that made."""
    return [p for p in sorted(REPRO.rglob("*.py")) if "runtime" not in p.relative_to(REPRO).parts[:1]]


def _is_safe(call: ast.Call) -> bool:
    return any(word.arg == "Loader" and "Safe" in ast.unparse(word.value) for word in call.keywords)


@pytest.mark.parametrize("path", _host(), ids=lambda path: path.relative_to(REPRO).as_posix())
def test_a_host_module_reads_data_as_data(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert set(_imports(tree)) & MODULES == set()
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert [ast.unparse(c) for c in calls if ast.unparse(c.func) in CALLS and not _is_safe(c)] == []
