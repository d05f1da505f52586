"""Layers held against pip itself: every file that it makes of a wheel."""

import io
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from repro.image.layers.scripts import console_names, fixed, launcher, template_of
from repro.image.layers.wheel import Target, UnusualError, members
from repro.tarball import Member

NEW = "import sys\nfrom %(module)s import %(import_name)s\nsys.exit(%(func)s())\n"


def wheel_of(
    folder: Path, files: dict[str, str], name: str = "odd", executables: tuple[str, ...] = ()
) -> Path:
    """A wheel made by hand, its files as they are given; RECORD lists them."""
    info = f"{name}-1.0.dist-info"
    content = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **files,
    }
    content[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*content, f"{info}/RECORD"])
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in content.items():
            entry = zipfile.ZipInfo(place, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if place in executables else 0o100644) << 16
            archive.writestr(entry, text)
    return path


ODD = {
    "odd/__init__.py": "def main(): print('odd')\nclass Deep:\n    run = staticmethod(main)\n",
    "odd/tool.sh": "#!/bin/sh\n",
    "odd/deep/er/data.txt": "x\n",
    "odd-1.0.data/scripts/by-hand": "#!python -s\nprint('by hand')\n",
    "odd-1.0.data/scripts/plain": "#!/bin/sh\necho plain\n",
    "odd-1.0.data/scripts/odd-run": "#!python\nprint('replaced by the entry point')\n",
    "odd-1.0.data/data/share/odd/é.txt": "data\n",
    "odd-1.0.data/purelib/odd_more.py": "MORE = 1\n",
    "odd-1.0.data/headers/odd.h": "/* h */\n",
    "odd-1.0.dist-info/entry_points.txt": (
        "[console_scripts]\nodd-run = odd:main\nodd-deep = odd:Deep.run [extra]\n\n"
        "[gui_scripts]\nodd-window=odd:main\n\n[other]\na = odd:main\n"
    ),
}
# Oldest and newest ways of writing scripts, and what this Python brings.
PIPS = ["20.3.4", "25.3", ""]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    wheel_of(folder, ODD, executables=("odd/tool.sh", "odd-1.0.data/scripts/by-hand"))
    return folder


@pytest.fixture(params=PIPS, ids=lambda version: version or "own")
def pip(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """An environment at `/opt/env`'s stand-in, with that pip in it."""
    env = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", env], check=True)
    if request.param:
        wanted = f"pip=={request.param}"
        done = subprocess.run(
            [env / "bin/python", "-m", "pip", "install", "-q", wanted],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    yield env
    shutil.rmtree(env)


def laid(members_: list[Member]) -> dict[str, tuple[bool, bytes]]:
    found = {}
    for member in members_:
        with member.content().open() as source:
            found[member.name.removeprefix("opt/env/")] = (member.executable, source.read())
    return found


@pytest.mark.net
def test_a_wheel_is_laid_as_pip_lays_it(wheels: Path, pip: Path) -> None:
    site = next((pip / "lib").glob("python*/site-packages"))
    before = set(pip.rglob("*"))
    words = ["install", "-q", "--no-index", "--no-compile", "--find-links", wheels, "odd==1.0"]
    subprocess.run([pip / "bin/python", "-m", "pip", *words], check=True, capture_output=True)
    new = {path for path in pip.rglob("*") if path.is_file() and "__pycache__" not in path.parts} - before
    python = site.parent.name.removeprefix("python")
    target = Target(python, template_of(lambda name: (site / name).read_bytes()))
    with zipfile.ZipFile(next(wheels.iterdir())) as zipped:
        made = laid(members(zipped, target))
    place = str(pip).encode()
    wanted = {
        str(path.relative_to(pip)): (bool(path.stat().st_mode & 0o100), path.read_bytes()) for path in new
    }
    records = [name for name in made if name.endswith("RECORD")]
    # The stand-in's own path is in the scripts, and so in their digests in RECORD.
    assert {n: (x, d.replace(place, b"/opt/env")) for n, (x, d) in wanted.items() if n not in records} == {
        n: entry for n, entry in made.items() if n not in records
    }
    for name in records:
        rows = zip(made[name][1].splitlines(), wanted[name][1].splitlines(), strict=True)
        for ours, theirs in rows:
            assert ours.split(b",")[0] == theirs.split(b",")[0]
            if b"bin/" not in ours:
                assert ours == theirs


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({"../outside.py": ""}, "leads out"),
        ({"odd-1.0.data/nowhere/x": ""}, "no usual place"),
        ({"other-2.0.dist-info/METADATA": ""}, "2 folders"),
    ],
)
def test_what_only_pip_can_lay_is_said(tmp_path: Path, files: dict[str, str], word: str) -> None:
    path = wheel_of(tmp_path, files)
    with zipfile.ZipFile(path) as zipped, pytest.raises(UnusualError, match=word):
        members(zipped, Target("3.11", NEW))


def test_names_of_scripts() -> None:
    points = {"pip": "pip:main", "pip3.9": "pip:main", "tool": "tool:main"}
    assert sorted(console_names(points, "3.12")) == ["pip", "pip3", "pip3.12", "tool"]
    assert launcher("t", "a.b:C.run [x]", NEW).startswith(
        b"#!/opt/env/bin/python\nimport sys\nfrom a.b import C\n"
    )
    with pytest.raises(ValueError, match="names no function"):
        launcher("t", "a.b", NEW)
    assert fixed(b"#!python -s\nx\n") == b"#!/opt/env/bin/python\nx\n"
    assert fixed(b"#!/bin/sh\nx\n") == b"#!/bin/sh\nx\n"


def test_a_damaged_wheel_is_unusual(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("odd-1.0.dist-info/METADATA", "x")
    with zipfile.ZipFile(out) as zipped, pytest.raises(UnusualError):
        members(zipped, Target("3.11", NEW))
