"""What a user meets first: help, usage errors, explanations, an unknown word."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from repro.cli.ending import end
from repro.cli.main import COMMANDS, cli
from repro.errors import ReproError

ROOT = Path(__file__).resolve().parents[2]


def _repro(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = end(cli, list(words))
    said = capsys.readouterr()
    return status, said.out, said.err


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = _repro("--help", capsys=capsys)
    assert status == 0
    for name, (_module, section, line) in COMMANDS.items():
        assert f"  {name} " in out
        assert section in out
        assert line.split(":")[0][:30] in " ".join(out.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = _repro(name, "--help", capsys=capsys)
    assert status == 0
    assert len(out.splitlines()) > 5
    assert "\\b" not in out


def test_an_unknown_command_gets_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = _repro("biuld", capsys=capsys)
    assert status == 2
    assert "Did you mean `build`?" in err


def test_explain_knows_codes_and_near_misses(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = _repro("explain", "bundle-damaged", "--json", capsys=capsys)
    assert status == 0
    assert json.loads(out)["exit"] == 1
    status, _, err = _repro("explain", "bundle-damagd", capsys=capsys)
    assert status == 2
    assert "bundle-damaged" in err


def test_errors_are_json_with_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = _repro("verify", str(tmp_path / "no"), "--json", capsys=capsys)
    assert status == 2
    assert err == ""
    error = json.loads(out)["error"]
    assert error["code"] == "bundle-not-found"
    assert set(error) == {"code", "message", "found", "needed", "why", "done", "try", "see"}


def test_a_bug_says_so_and_keeps_the_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path))

    def broken(*_words: object, **_more: object) -> None:
        raise RuntimeError("token=swordfish")

    monkeypatch.setattr(cli, "main", broken)
    status, _, err = _repro("show", capsys=capsys)
    assert status == 70
    assert "swordfish" not in err
    logs = list((tmp_path / "bugs").iterdir())
    assert len(logs) == 1
    assert "RuntimeError" in logs[0].read_text()
    assert "swordfish" not in logs[0].read_text()


@pytest.mark.parametrize(
    ("raised", "status"), [(KeyboardInterrupt(), 130), (ReproError("disk-full", "no room"), 3)]
)
def test_ends_have_their_status(
    raised: BaseException, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_words: object, **_more: object) -> None:
        raise raised

    monkeypatch.setattr(cli, "main", stop)
    assert _repro("show", capsys=capsys)[0] == status


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from repro.cli.ending import end; from repro.cli.main import cli\n"
        "end(cli, ['--help'])\n"
        "heavy = {'docker', 'git', 'msgspec', 'jinja2', 'yaml', 'torch', 'pynvml'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr


def test_help_costs_little_more_than_python_with_click() -> None:
    """A ratio of processor times in the same run: absolute seconds say nothing on a shared machine."""

    def cpu(*argv: str) -> float:
        best = 99.0
        for _ in range(3):
            import resource

            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *argv], capture_output=True, check=True, cwd=ROOT)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return best

    assert cpu("-m", "repro", "--help") < 3 * cpu("-c", "import click, importlib.resources")


def test_completion_script_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = _repro("completion", "bash", capsys=capsys)
    assert status == 0
    assert "_REPRO_COMPLETE=bash_complete" in out


def test_nothing_here_says_what_is_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _repro("show", capsys=capsys)[1].strip() == "no bundle here yet; next: repro build"
