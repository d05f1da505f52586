"""Rebuild one project from empty caches again and again, and count the images that come out: one is wanted.

Each rebuild has a folder, umask, locale, time zone, hash seed and host Python of its own. Nothing that repro
made is left between two rebuilds but the wheels, which are the lock's; the engine's copy of the image goes as
well.
"""

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from repro.engine.interpreters import find_python

HERE = Path(__file__).resolve().parent.parent
LOCALES = ("C", "C.UTF-8", "POSIX")
ZONES = ("UTC", "Asia/Kolkata", "America/St_Johns", "Pacific/Kiritimati")
UMASKS = (0o022, 0o077, 0o002, 0o027)
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


@dataclass(frozen=True)
class Way:
    """One rebuild's surroundings."""

    python: Path
    umask: int
    locale: str
    zone: str
    seed: int


def pythons(room: Path) -> list[Path]:
    """This interpreter, and environments with this tool for each other version that is at hand."""
    found = [Path(sys.executable)]
    for version in PYTHONS:
        if version == f"{sys.version_info.major}.{sys.version_info.minor}":
            continue
        path = find_python(version)
        if path is None:
            continue
        home = room / f"host-{version}"
        subprocess.run([path, "-m", "venv", home], check=True)
        done = subprocess.run(
            [home / "bin/python", "-m", "pip", "install", "-q", str(HERE)], capture_output=True, check=False
        )
        if done.returncode == 0:
            found.append(home / "bin/python")
        else:
            print(
                f"identical: Python {version} is here, but this tool does not install on it", file=sys.stderr
            )
    return found


def ways(hosts: list[Path], count: int) -> Iterator[Way]:
    """Surroundings, all different from one rebuild to the next."""
    rows = zip(*(itertools.cycle(x) for x in (hosts, UMASKS, LOCALES, ZONES)), strict=False)
    for seed, (python, umask, locale, zone) in enumerate(itertools.islice(rows, count)):
        yield Way(python, umask, locale, zone, seed)


def rebuild(way: Way, room: Path, number: int, example: str, wheels: Path) -> dict[str, str]:
    """The three digests of a build from nothing but wheels."""
    top = room / f"{'x' * (number + 1)}-{number}"
    cache = top / "cache"
    cache.mkdir(parents=True)
    for kept in ("wheels", "locks"):
        if (wheels / kept).is_dir():
            shutil.copytree(wheels / kept, cache / kept, copy_function=os.link)
    code = top / "project"
    shutil.copytree(HERE / "bundles" / example, code, ignore=shutil.ignore_patterns(".repro", "__pycache__"))
    env = {
        **os.environ,
        "REPRO_CACHE": str(cache),
        "LC_ALL": way.locale,
        "TZ": way.zone,
        "PYTHONHASHSEED": str(way.seed),
        "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
        "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
    }
    git = ["git", "-c", "user.name=i", "-c", "user.email=i@example.org"]
    for words in (["init", "-q", "."], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], cwd=code, env=env, check=True)
    found = build(way, code, env)
    image = found["image"]
    subprocess.run(["docker", "image", "rm", "-f", image["tag"]], capture_output=True, check=False)
    shutil.rmtree(top)
    return {key: image[f"{key}_digest"] for key in ("config", "manifest", "tree")}


def build(way: Way, code: Path, env: dict[str, str]) -> dict:
    """`repro build --json` in those surroundings."""
    words = ["-m", "repro", "build", "--json", "-q"]
    # A shell, since only the process itself can set its umask.
    line = f'umask {way.umask:03o}; exec "$0" "$@"'
    done = subprocess.run(
        ["sh", "-c", line, way.python, *words], cwd=code, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"identical: a build failed under {way}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def index() -> str:
    """The extra index that torch's CPU build needs, or nothing."""
    said = subprocess.run(
        [sys.executable, "scripts/cpu_torch.py", "--index"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.strip()


def main() -> None:
    """Rebuild, and say how many images came out; exit 1 when it is more than one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--example", default="digits-cnn")
    asked = parser.parse_args()
    seen: dict[tuple[str, ...], list[int]] = {}
    if more := index():
        os.environ["PIP_EXTRA_INDEX_URL"] = more
    with tempfile.TemporaryDirectory(prefix="identical-") as name:
        room = Path(name)
        hosts = pythons(room)
        wheels = room / "wheels-only"
        first = next(ways(hosts, 1))
        fetch(first, room, asked.example, wheels)
        for number, way in enumerate(ways(hosts, asked.times)):
            found = rebuild(way, room, number, asked.example, wheels)
            seen.setdefault(tuple(found.values()), []).append(number)
            print(
                f"{number + 1:>3}  umask {way.umask:03o}  {way.locale:<8} {way.zone:<20}"
                f" {way.python.parent.parent.name}  {' '.join(digest[7:19] for digest in found.values())}",
                flush=True,
            )
    print(f"{asked.times} rebuilds on {len(hosts)} host Pythons: {len(seen)} images")
    sys.exit(len(seen) != 1)


def fetch(way: Way, room: Path, example: str, wheels: Path) -> None:
    """Fill a cache with wheels and the lock, once."""
    code = room / "fetch"
    shutil.copytree(HERE / "bundles" / example, code, ignore=shutil.ignore_patterns(".repro", "__pycache__"))
    env = {**os.environ, "REPRO_CACHE": str(wheels)}
    subprocess.run([way.python, "-m", "repro", "lock"], cwd=code, env=env, check=True, capture_output=True)


if __name__ == "__main__":
    main()
