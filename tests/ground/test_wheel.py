"""What users install holds everything that the tool reads at run time."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.net
def test_the_wheel_is_whole(tmp_path: Path) -> None:
    argv = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(argv, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("reprobundle-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    needed = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "repro").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sorted(needed - packed) == []
    assert {"repro/templates/Dockerfile.j2", "repro/templates/REPRODUCING.md.j2"} <= packed
    assert [name for name in packed if name.startswith(("tests/", "bundles/"))] == []
