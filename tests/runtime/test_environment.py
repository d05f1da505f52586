"""An unpacked bundle on a machine with a Python and nothing of ours: environment from its wheels, run."""

import base64
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from repro.bundle import lay_runtime
from repro.engine.interpreters import find_python

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
USES = "import tiny, sys, json\nprint(tiny.VALUE, sys.prefix)\n"


def wheel(name: str, value: int, requires: str = "") -> bytes:
    """A wheel of one module, as small as pip takes it."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": f"VALUE = {value}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requires}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in files.items()]
    files[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"])
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return made.getvalue()


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


class Unpacked:
    """A bundle as `tar` leaves it, and the words to start it."""

    def __init__(self, bundle) -> None:
        self.bundle = bundle
        self.path: Path = bundle.path
        self.env = Path(f"{self.path}.env")
        lay_runtime(self.path)
        bundle.write("code/train.py", USES)
        bundle.protocol(command=["python", "train.py"], metrics="", rows="", log={})
        self.lock(tiny=wheel("tiny", 41))

    def lock(self, python: str = VERSION, **wheels: bytes) -> None:
        rows, lines = [], []
        for name, data in wheels.items():
            file, digest = f"{name}-1.0-py3-none-any.whl", hashlib.sha256(data).hexdigest()
            self.bundle.write(f"wheels/{file}", data)
            rows.append({"name": name, "version": "1.0", "file": file, "sha256": digest, "bytes": len(data)})
            lines.append(f"{name}==1.0 --hash=sha256:{digest}\n")
        self.bundle.write("requirements.lock", "".join(lines))
        digest = hashlib.sha256("".join(lines).encode()).hexdigest()
        self.bundle.document("lock.json", python=python, requirements_sha256=digest, wheels=rows)

    def words(self, *words: str, python: str = sys.executable) -> list[str]:
        return [python, "-m", "repro_runtime", *words]

    def start(self, *words: str, python: str = sys.executable, apart: bool = False):
        alone = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])] if apart else []
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "REPRO_", "PIP_"))}
        return subprocess.run(
            [*alone, *self.words(*words, python=python)],
            cwd=self.path,
            env=env,
            capture_output=True,
            text=True,
        )

    def files(self) -> set[str]:
        found = (p.relative_to(self.path).as_posix() for p in self.path.rglob("*") if p.is_file())
        return {name for name in found if not name.startswith("runs/")}

    def attempts(self) -> list[Path]:
        return sorted(self.path.glob("runs/*/attempt-*"))


@pytest.fixture
def unpacked(bundle) -> Unpacked:
    return Unpacked(bundle)


def test_it_runs_without_a_network_and_leaves_the_bundle_as_it_was(unpacked: Unpacked) -> None:
    before = unpacked.files()
    done = unpacked.start("run", "--label", "pod", apart=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"41 {unpacked.env}\n"
    assert unpacked.files() == before
    (attempt,) = unpacked.attempts()
    record = json.loads((attempt / "run.json").read_text())
    assert (record["status"], record["engine"], record["label"]) == ("ok", "inplace", "pod")
    assert record["run_id"] == attempt.parent.name
    assert record["bundle"]["id"] == "ab" * 32
    result = json.loads((attempt.parent / "result.json").read_text())
    assert result["status"] == "ok"
    for name, digest in result["files"].items():
        assert hashlib.sha256((attempt / name).read_bytes()).hexdigest() == digest


def test_the_environment_is_used_again_and_remade_for_another_lock(unpacked: Unpacked) -> None:
    first = unpacked.start("setup")
    assert first.returncode == 0, first.stderr
    assert first.stdout == f"{unpacked.env / 'bin' / 'python'}\n"
    again = unpacked.start("setup")
    assert (again.returncode, "as it was made" in again.stderr) == (0, True)
    unpacked.lock(tiny=wheel("tiny", 42))
    other = unpacked.start("run")
    assert (other.returncode, other.stdout) == (0, f"42 {unpacked.env}\n")


def test_an_environment_that_is_half_made_is_made_again(unpacked: Unpacked) -> None:
    assert unpacked.start("setup").returncode == 0
    (unpacked.env / "reprobundle-whole").unlink()
    shutil.rmtree(next(unpacked.env.glob("lib/python*/site-packages")) / "tiny-1.0.dist-info")
    done = unpacked.start("run")
    assert (done.returncode, done.stdout) == (0, f"41 {unpacked.env}\n")


@pytest.mark.parametrize("after", [0.05, 0.4, 1.2])
def test_a_kill_leaves_nothing_that_is_taken_for_whole(unpacked: Unpacked, after: float) -> None:
    process = subprocess.Popen(
        unpacked.words("setup"), cwd=unpacked.path, start_new_session=True, stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(after)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = unpacked.start("run")
    assert (done.returncode, done.stdout) == (0, f"41 {unpacked.env}\n"), done.stderr


def test_two_at_once_share_one(unpacked: Unpacked) -> None:
    both = [
        subprocess.Popen(unpacked.words("run"), cwd=unpacked.path, stdout=subprocess.PIPE, stderr=-3)
        for _ in range(2)
    ]
    said = [process.communicate()[0].decode() for process in both]
    assert said == [f"41 {unpacked.env}\n"] * 2
    assert [process.returncode for process in both] == [0, 0]


def altered(unpacked: Unpacked) -> None:
    unpacked.bundle.write("wheels/tiny-1.0-py3-none-any.whl", wheel("tiny", 13))


def gone(unpacked: Unpacked) -> None:
    (unpacked.path / "wheels" / "tiny-1.0-py3-none-any.whl").unlink()


def thin(unpacked: Unpacked) -> None:
    gone(unpacked)
    unpacked.bundle.document("thin.json", schema=1)


def another_lock(unpacked: Unpacked) -> None:
    unpacked.bundle.write("requirements.lock", "tiny==1.0\n")


def another_python(unpacked: Unpacked) -> None:
    unpacked.lock(python="3.99", tiny=wheel("tiny", 41))


def in_the_way(unpacked: Unpacked) -> None:
    unpacked.env.mkdir()
    (unpacked.env / "thesis.tex").write_text("mine")


def contradiction(unpacked: Unpacked) -> None:
    unpacked.lock(tiny=wheel("tiny", 41, "Requires-Dist: nowhere\n"))


REFUSALS = [
    (altered, "DO NOT MATCH THE HASHES"),
    (gone, "unpack the bundle again"),
    (thin, "packed thin"),
    (another_lock, "not the file that was packed"),
    (another_python, "locked for Python 3.99, and this machine has none"),
    (in_the_way, "is in the way and no environment"),
    (contradiction, "nowhere"),
]


@pytest.mark.parametrize(("spoil", "says"), REFUSALS, ids=lambda value: getattr(value, "__name__", ""))
def test_what_cannot_be_made_is_told_and_nothing_runs(unpacked: Unpacked, spoil, says: str) -> None:
    spoil(unpacked)
    done = unpacked.start("run")
    assert done.returncode == 3
    assert says in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert unpacked.attempts() == []
    assert not (unpacked.env / "reprobundle-whole").exists()
    if spoil is in_the_way:
        assert (unpacked.env / "thesis.tex").read_text() == "mine"


@pytest.mark.parametrize("minor", ["3.6", "3.8", "3.13"])
def test_an_older_or_newer_python_finds_the_locked_one(unpacked: Unpacked, minor: str) -> None:
    python = find_python(minor)
    if python is None:
        pytest.skip(f"this machine has no Python {minor}")
    done = unpacked.start("run", python=str(python))
    assert (done.returncode, done.stdout) == (0, f"41 {unpacked.env}\n"), done.stderr


def test_another_interpreter_and_folder_are_taken_as_told(unpacked: Unpacked, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    assert unpacked.start("setup", "--env", str(elsewhere)).returncode == 0
    out = tmp_path / "out"
    done = unpacked.start("run", "--python", str(elsewhere / "bin" / "python"), "--out", str(out))
    assert (done.returncode, done.stdout) == (0, f"41 {elsewhere}\n")
    assert (out / "result.json").is_file()
    assert not unpacked.env.exists()


def test_no_bundle_has_no_environment(rt, tmp_path: Path) -> None:
    words = [sys.executable, str(rt.runtime / "boot.py"), "setup", "--bundle", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, "no unpacked bundle" in done.stderr) == (2, True)


def test_a_lock_without_packages_is_an_environment_too(unpacked: Unpacked) -> None:
    unpacked.lock()
    shutil.rmtree(unpacked.path / "wheels")
    unpacked.bundle.write("code/train.py", "import sys\nprint(sys.prefix)\n")
    done = unpacked.start("run")
    assert (done.returncode, done.stdout) == (0, f"{unpacked.env}\n"), done.stderr
