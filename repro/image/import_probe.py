"""Runs inside the image: load the packages named on the command line, say which fail.

Python 3.6 and later, standard library only. A line of output is `importing NAME`, so that
a crash can be told; then `failed MODULE<tab>KIND<tab>TEXT` where an import ended badly.
"""

# ruff: noqa: T201 - printing is how it answers

import importlib
import re
import sys
import sysconfig
from pathlib import Path
from typing import List  # noqa: UP035 - Python 3.6


def modules_of(site: Path, distribution: str) -> List[str]:  # noqa: UP006 - Python 3.6
    """Names that a distribution can be imported by, as its metadata says."""
    wanted = _plain(distribution)
    for folder in site.glob("*.dist-info"):
        if _plain(folder.name.split("-")[0]) == wanted:
            return _top_level(folder)
    return []


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _top_level(folder: Path) -> List[str]:  # noqa: UP006 - Python 3.6
    """Names in top_level.txt, or the first parts of the paths in RECORD."""
    listed = folder / "top_level.txt"
    if listed.exists():
        names = set(listed.read_text(encoding="utf-8").split())
    else:
        paths = [line.split(",")[0] for line in (folder / "RECORD").read_text(encoding="utf-8").splitlines()]
        names = {path.split("/")[0] for path in paths if path.endswith("/__init__.py")}
    return sorted(name for name in names if name.isidentifier() and not name.startswith("_"))


def try_import(name: str) -> None:
    """Import one module; a line of output when that fails."""
    print("importing " + name, flush=True)
    try:
        importlib.import_module(name)
    except BaseException as problem:
        text = " ".join(str(problem).split())[:500]
        print("failed " + name + "\t" + type(problem).__name__ + "\t" + text, flush=True)


def main() -> None:
    """Try every package named on the command line."""
    site = Path(sysconfig.get_paths()["platlib"])
    for distribution in sys.argv[1:]:
        for name in modules_of(site, distribution):
            try_import(name)
    print("done", flush=True)


if __name__ == "__main__":
    main()
