import ast
import tomllib
from pathlib import Path

import pytest

from repro.console import Console, size
from repro.errors import ReproError, kinds

REPRO = Path(__file__).resolve().parents[2] / "repro"


def _string_constants() -> set[str]:
    found: set[str] = set()
    for path in REPRO.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def _raised_literally() -> set[str]:
    found: set[str] = set()
    for path in REPRO.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ReproError" and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    found.add(first.value)
    return found


def test_every_raised_code_has_a_row() -> None:
    raised = _raised_literally()
    assert len(raised) > 20
    assert raised - set(kinds()) == set()


def test_a_code_has_one_row() -> None:
    tables = sorted((REPRO / "data" / "errors").glob("*.toml"))
    codes = [code for table in tables for code in tomllib.loads(table.read_text("utf-8"))]
    assert sorted(set(codes)) == sorted(codes)


def test_every_row_is_raised_somewhere() -> None:
    known = _string_constants()
    text = "\n".join(p.read_text("utf-8") for p in (REPRO / "data").glob("*.toml"))
    unused = {code for code in kinds() if code not in known and code not in text}
    assert unused == set()


@pytest.mark.parametrize("code", sorted(kinds()))
def test_a_row_explains_itself(code: str) -> None:
    kind = kinds()[code]
    assert kind.exit in (1, 2, 3, 4, 5, 6, 7, 70)
    assert len(kind.explain) > 40
    assert code == code.lower()


def test_an_error_shows_both_sides_and_the_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    error = ReproError(
        "bundle-damaged",
        "bundle `x` is not what was packed",
        found=["params.json: altered"],
        needs="sha256 41aa",
        done="nothing was run",
        tries="repro build",
    )
    Console().error(error)
    said = capsys.readouterr().err
    assert said == (
        "error[bundle-damaged]: bundle `x` is not what was packed\n"
        "  found   params.json: altered\n"
        "  needs   sha256 41aa\n"
        "  done    nothing was run\n"
        "  try     repro build\n"
        "  see     repro explain bundle-damaged\n"
    )
    assert error.document()["needed"] == ["sha256 41aa"]
    assert error.exit_status == 1


@pytest.mark.parametrize(
    ("num_bytes", "text"), [(0, "0 B"), (812, "812 B"), (34_120, "34.1 kB"), (2_760_000_000, "2.76 GB")]
)
def test_sizes_read_well(num_bytes: int, text: str) -> None:
    assert size(num_bytes) == text
