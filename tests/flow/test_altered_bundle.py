"""Bundles and runs that somebody or something altered: every command answers, none breaks."""

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repro.cli import ending
from repro.cli.main import cli

from .conftest import Said

pytestmark = [pytest.mark.docker, pytest.mark.net]
Repro = Callable[..., Said]
VALUES: list[Any] = [
    None, True, -1, 0, 1e308, 10**30, "", "x", "nan", "0x", "0x1p+99999", "../../x", "\x00", [], {}, [None],
]  # fmt: skip
ROUNDS = 60


@pytest.fixture(scope="session")
def original(tiny: Path, tmp_path_factory: pytest.TempPathFactory, repro: Repro, base_image: str) -> Path:
    """A folder with a bundle and two finished runs of it, one with a trace written by hand."""
    folder = tmp_path_factory.mktemp("altered") / "tiny"
    shutil.copytree(tiny, folder, ignore=shutil.ignore_patterns(".repro"))
    assert repro(folder, "build", "--base", base_image).status == 0
    for label in ("one", "two"):
        said = repro(folder, "run", "--label", label, "--json")
        assert said.status == 0, said.err
        attempt = Path(said.json["run"]["path"]) / "attempt-1"
        (attempt / "trace-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in _trace()))
    return folder


def _trace() -> list[dict[str, object]]:
    state = {"weights": ["0" * 16], "norm2": "0x1p+0", "sketch": ["0x0p+0"] * 32, "nonfinite": 0}
    tensor = {"name": "w", "shape": [2], "dtype": "float32"}
    optimizer = {"opt": 0, "class": "SGD", "groups": [{"lr": "0x1p-4"}], "params": [0]}
    start = {"k": "start", "format": 2, "rank": 0, "world": 1, "optimizers": [optimizer], "params": [tensor]}
    steps = [
        line
        for n in range(1, 4)
        for line in (
            {
                "k": "s",
                "step": n,
                "opt": 0,
                "loss": "0x1p-1",
                "nb": 1,
                "gn": "0x1p-2",
                "rng": {"torch": "00"},
            },
            {"k": "p", "step": n, **state},
        )
    ]
    end = {"k": "end", "steps": 3, "share": "0x1p-9", "status": "ok"}
    return [start, {"k": "p", "step": 0, **state}, *steps, {"k": "x", "what": "nonfinite", "step": 2}, end]


class Alteration:
    """One random alteration after another, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - no secret

    def of(self, path: Path) -> str:
        """Alter a file; returns what was done to it."""
        kind = self._dice.choice([*self._kinds, *["a value"] * 10])
        data = path.read_bytes()
        path.unlink()
        self._kinds[kind](self, path, data)
        return f"{kind} of {path.name}"

    def choice(self, options: list[Path]) -> Path:
        return self._dice.choice(options)

    def _empty(self, path: Path, _data: bytes) -> None:
        path.write_bytes(b"")

    def _cut(self, path: Path, data: bytes) -> None:
        path.write_bytes(data[: self._dice.randrange(len(data) + 1)])

    def _flip(self, path: Path, data: bytes) -> None:
        altered = bytearray(data or b"x")
        for _ in range(3):
            altered[self._dice.randrange(len(altered))] = self._dice.randrange(256)
        path.write_bytes(altered)

    def _garbage(self, path: Path, _data: bytes) -> None:
        path.write_bytes(self._dice.randbytes(300))

    def _deep(self, path: Path, _data: bytes) -> None:
        path.write_bytes(b"[" * 5000 + b"]" * 5000)

    def _twice(self, path: Path, data: bytes) -> None:
        path.write_bytes(data + data)

    def _folder(self, path: Path, _data: bytes) -> None:
        path.mkdir()

    def _pipe(self, path: Path, _data: bytes) -> None:
        os.mkfifo(path)

    def _link(self, path: Path, _data: bytes) -> None:
        path.symlink_to(self._dice.choice(["/etc/passwd", "nowhere", "..", path.name]))

    def _gone(self, _path: Path, _data: bytes) -> None:
        pass

    def _value(self, path: Path, data: bytes) -> None:
        """Another value for one key, wherever it stands: in one document, or in each line."""
        lines = data.splitlines() if path.suffix == ".jsonl" else [data]
        try:
            documents = [json.loads(line) for line in lines]
        except ValueError:
            path.write_bytes(data[::-1])
            return
        keys = sorted({key for document in documents for key in _keys(document)})
        key, value, inside = self._dice.choice(keys), self._dice.choice(VALUES), self._dice.random() < 0.4
        altered = [_with(document, key, value, inside=inside) for document in documents]
        path.write_bytes(b"\n".join(json.dumps(document).encode() for document in altered) + b"\n")

    _kinds = {
        "emptying": _empty, "cutting": _cut, "flipping": _flip, "garbage instead": _garbage, "depth": _deep,
        "doubling": _twice, "a folder instead": _folder, "a pipe instead": _pipe, "a link instead": _link,
        "removal": _gone, "a value": _value,
    }  # fmt: skip


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {*value, *(key for item in value.values() for key in _keys(item))}
    return {key for item in value for key in _keys(item)} if isinstance(value, list) else set()


def _with(value: Any, key: str, new: Any, *, inside: bool) -> Any:
    if isinstance(value, list):
        return [_with(item, key, new, inside=inside) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _replaced(item, new, inside=inside) if name == key else _with(item, key, new, inside=inside)
        for name, item in value.items()
    }


def _replaced(old: Any, new: Any, *, inside: bool) -> Any:
    if inside and isinstance(old, list):
        return [new] * len(old)
    return dict.fromkeys(old, new) if inside and isinstance(old, dict) else new


@pytest.mark.parametrize("seed", range(6))
def test_no_alteration_breaks_a_command(
    seed: int,
    original: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    alteration = Alteration(seed)
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        shutil.copytree(original / ".repro", folder / ".repro")
        monkeypatch.chdir(folder)
        files = sorted(p for p in folder.rglob("*") if p.is_file() and "repro_runtime" not in p.parts)
        done = alteration.of(alteration.choice(files))
        for words in (
            ["show", "one"],
            ["show", "one", "--json"],
            ["show", "--json"],
            ["verify", "--json"],
            ["compare", "one", "two"],
            ["compare", "two", "one", "--json"],
            ["compare", "one", "two", "--markdown"],
        ):
            capsys.readouterr()
            status = ending.end(cli, words)
            said = capsys.readouterr()
            assert status in (0, 1, 2, 5, 6, 7), f"{done}: repro {' '.join(words)}: {said.out}{said.err}"
            if "--json" in words:
                assert json.loads(said.out)["command"] == words[0]
        shutil.rmtree(folder)


@pytest.fixture
def altered(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original / ".repro", tmp_path / ".repro")
    return next(tmp_path.glob(".repro/*/bundle.json")).parent


def test_every_altered_file_is_found_before_anything_runs(altered: Path, repro: Repro) -> None:
    manifest = json.loads((altered / "bundle.json").read_text())
    start = altered.parent.parent
    for name in ("params.json", "code.tar", "eval/eval/a.csv", "repro_runtime/job.py", "Dockerfile"):
        assert name in {entry["path"] for entry in manifest["files"]}
        kept = (altered / name).read_bytes()
        (altered / name).unlink()
        (altered / name).write_bytes(kept + b" ")
        for words in (("verify", "--json"), ("run", "--json"), ("run", "--engine", "inplace", "--json")):
            said = repro(start, *words)
            assert (said.status, said.json["error"]["code"]) == (1, "bundle-damaged"), (name, words)
            assert name in str(said.json["error"]["found"])
        (altered / name).write_bytes(kept)
    (altered / "planted").symlink_to("/etc/passwd")
    assert "planted: foreign" in repro(start, "verify", "--json").out
    assert len(list((altered / "runs").iterdir())) == 2


def test_a_manifest_edited_by_hand_gives_itself_away(altered: Path, repro: Repro) -> None:
    manifest = json.loads((altered / "bundle.json").read_text())
    manifest["identity"]["params"] = "0" * 64
    (altered / "bundle.json").write_text(json.dumps(manifest))
    said = repro(altered.parent.parent, "verify", "--json")
    assert (said.status, said.json["error"]["code"]) == (1, "bundle-damaged")
    assert "bundle.json: id" in str(said.json["error"]["found"])


def test_foreign_folders_among_the_runs_are_no_runs(altered: Path, repro: Repro) -> None:
    for name in ("notes", "attempt-1", "20200101-000000-tiny-cpu-000000.one"):
        (altered / "runs" / name).mkdir()
    (altered / "runs" / "notes" / "attempt-x").mkdir()
    (altered / "runs" / "notes" / "attempt-99999999999999999999").mkdir()
    (altered / "runs" / "a file").write_text("")
    start = altered.parent.parent
    assert repro(start, "compare", "one", "two").status in (0, 6)
    assert repro(start, "show", "one").status == 0
    assert repro(start, "show").status == 0


def test_a_result_that_names_what_is_not_there(altered: Path, repro: Repro) -> None:
    run = next(altered.glob("runs/*.one"))
    (run / "result.json").write_text('{"schema": 1, "attempt": 7, "status": "ok"}')
    for words in (("show", "one", "--json"), ("compare", "two", "one", "--json")):
        said = repro(altered.parent.parent, *words)
        assert (said.status, said.json["error"]["code"]) == (5, "run-unreadable")
        assert "attempt 7" in said.json["error"]["message"]


def test_a_torn_last_line_is_passed_over_and_a_damaged_one_is_not(altered: Path, repro: Repro) -> None:
    start, run = altered.parent.parent, next(altered.glob("runs/*.one"))
    trace = run / "attempt-1" / "trace-0.jsonl"
    lines = trace.read_text().splitlines(keepends=True)
    trace.write_text("".join(lines[:-1]) + lines[-1][:9])
    assert "was cut" in repro(start, "show", "one").out
    trace.write_text("".join([*lines[:3], lines[3][:9] + "\n", *lines[4:]]))
    said = repro(start, "show", "one", "--json")
    assert (said.status, said.json["error"]["code"]) == (5, "trace-damaged")
    assert "line 4" in said.json["error"]["message"]
    (run / "attempt-1" / "conditions.json").unlink()
    trace.write_text("".join(lines))
    assert "not recorded" in repro(start, "show", "one").out
