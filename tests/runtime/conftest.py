"""Runs the runtime as users do, as a process of its own, and reads what it leaves."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).resolve().parent
RUNTIME = HERE.parent.parent / "repro" / "runtime"
PROGRAMS = HERE / "programs"


class Attempt:
    """One attempt's folder, its documents read on demand."""

    def __init__(self, run: Path, number: int = 1) -> None:
        self.path = run / f"attempt-{number}"

    def json(self, name: str) -> dict:
        return json.loads((self.path / name).read_text())

    def lines(self, name: str = "trace-0.jsonl") -> list[dict]:
        return [json.loads(line) for line in (self.path / name).read_text().splitlines()]

    def kind(self, letter: str, name: str = "trace-0.jsonl") -> list[dict]:
        return [record for record in self.lines(name) if record["k"] == letter]

    @property
    def state(self) -> dict:
        return self.json("run.json")

    @property
    def log(self) -> str:
        return (self.path / "log.txt").read_text()

    def gates(self) -> dict[str, str]:
        return {row["name"]: row["status"] for row in self.json("gates.json")["gates"]}


def environment(**more: str) -> dict[str, str]:
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "REPRO_"))}
    return {**keep, **more}


def record_words(
    out: Path, *command: str, options: tuple[str, ...] = (), python: str = sys.executable
) -> list[str]:
    return [python, str(RUNTIME / "boot.py"), "record", "--out", str(out), *options, "--", *command]


@pytest.fixture(scope="session")
def rt():
    """Where things lie, and words to start them: for tests that hold the process themselves."""
    return SimpleNamespace(
        runtime=RUNTIME,
        programs=PROGRAMS,
        Attempt=Attempt,
        environment=environment,
        record_words=record_words,
    )


@pytest.fixture
def record(tmp_path):
    """Run a program of `programs/` under `record`; returns process and attempt."""

    def run(name, *arguments, out="run", options=(), env=None, check=0):
        words = record_words(
            tmp_path / out, sys.executable, str(PROGRAMS / name), *arguments, options=options
        )
        done = subprocess.run(
            words, capture_output=True, text=True, cwd=tmp_path, env=environment(**(env or {}))
        )
        assert done.returncode == check, done.stdout + done.stderr
        number = len(list((tmp_path / out).glob("attempt-*")))
        return SimpleNamespace(out=done.stdout, err=done.stderr, attempt=Attempt(tmp_path / out, number))

    return run


@pytest.fixture
def bundle(tmp_path):
    """A small unpacked bundle whose program needs no torch, and a way to run it."""
    return SmallBundle(tmp_path / "bundle")


class SmallBundle:
    """The files of a bundle that the runtime reads."""

    PROGRAM = (
        "import json, sys\n"
        "p = json.load(open(sys.argv[1]))\n"
        "rows = open('data/eval.csv').read().split()\n"
        "print('lr', p['optim']['lr'], 'rows', len(rows), flush=True)\n"
        "json.dump({'acc': p['optim']['lr'] * 2}, open(sys.argv[2] + '/metrics.json', 'w'))\n"
        "rows = 'id,pred,target,correct,loss\\n7,1,1,1,0.25\\n8,0,1,0,1.5\\n'\n"
        "open(sys.argv[2] + '/rows.csv', 'w').write(rows)\n"
        "open('written.txt', 'w').write('kept')\n"
    )

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "code" / "data").mkdir(parents=True)
        (path / "params").mkdir()
        (path / "eval" / "data").mkdir(parents=True)
        self.write("code/train.py", self.PROGRAM)
        self.write("code/notes.txt", "unchanged\n")
        self.write("params/params.json", json.dumps({"optim": {"lr": 0.25}, "seed": 1}))
        self.document(
            "params.json",
            schema=1,
            file="params.json",
            source_sha256="",
            values={"optim": {"lr": 0.25}, "seed": 1},
        )
        self.eval_set({"data/eval.csv": "a,b\n1,2\n3,4\n"})
        self.document(
            "protocol.json", schema=1, name="small", command=["python", "train.py", "{params}", "{out}"],
            params_file="params.json", eval_path="data/eval.csv", subfolder="", eval_command=[],
            metrics="metrics.json", rows="rows.csv", log={"lr": r"lr (\S+)"}, checkpoint_dir="{out}",
            resume=[], protocol={}, params_path="params.json",
        )  # fmt: skip
        self.document("identity.json", id="ab" * 32, name="small", identity={"tree": "0"})

    def write(self, name: str, text: str | bytes) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def document(self, name: str, /, **fields) -> None:
        self.write(name, json.dumps(fields))

    def eval_set(self, files: dict[str, str | bytes], path: str = "data/eval.csv") -> None:
        rows = []
        for name, text in files.items():
            data = text if isinstance(text, bytes) else text.encode()
            self.write(f"eval/{name}", data)
            rows.append({"path": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
        self.document("eval.json", schema=1, path=path, files=rows)

    def protocol(self, **changes) -> None:
        found = json.loads((self.path / "protocol.json").read_text())
        self.document("protocol.json", **{**found, **changes})

    def run(self, out: Path, *options: str, command: tuple[str, ...] = (), env: dict[str, str] | None = None):
        """Run it through a copy of the runtime named `repro_runtime`, as in an unpacked bundle."""
        if not (self.path / "repro_runtime").exists():
            shutil.copytree(
                RUNTIME, self.path / "repro_runtime", ignore=shutil.ignore_patterns("__pycache__")
            )
        words = [sys.executable, "-m", "repro_runtime", "run", "--bundle", ".", "--out", str(out), *options]
        words += ["--", *command] if command else []
        return subprocess.run(
            words, capture_output=True, text=True, cwd=self.path, env=environment(**(env or {}))
        )
