"""Recognises what programs leave behind: build products of another machine, caches, our own output."""

import re
from collections.abc import Iterable

from repro.model.snapshot import Warned
from repro.snapshot.names import listed, shown

# Made again whenever it is needed; nobody misses it and nobody is told.
_CACHES = re.compile(
    r"(?:^|/)(?:__pycache__|\.ipynb_checkpoints|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.repro|\.venv|venv"
    r"|\.DS_Store)(?:/|$)|\.py[co]$"
)
# Compiled for one machine and one torch: on another it fails, or runs and gives wrong results.
_PRODUCTS = re.compile(
    r"\.(?:so|so\.\d[\d.]*|o|obj|a|lib|pyd|dll|dylib|egg|cubin|fatbin|ptx)$|(?:^|/)[^/]+\.egg-info(?:/|$)|(?:^|/)\.eggs(?:/|$)"
    r"|(?:^|/)(?:build|cmake-build-[^/]+)/(?:lib|temp|bdist)[^/]*(?:/|$)|(?:^|/)\.ninja_(?:log|deps)$"
)
_BUILD_FOLDER = re.compile(r"(?:^|/)(?:build|cmake-build-[^/]+)(?:/|$)")


def is_cache(path: str) -> bool:
    """Whether a path is a cache that is never packed and never counts as a change."""
    return bool(_CACHES.search(path))


def is_product(path: str, *, ignored: bool = False) -> bool:
    """Whether a path is a build product. A folder `build` is one only where git ignores it."""
    return bool(_PRODUCTS.search(path)) or (ignored and bool(_BUILD_FOLDER.search(path)))


def warnings(ignored: Iterable[str], untracked: Iterable[str], tracked: Iterable[str]) -> list[Warned]:
    """What is said about build products: those left out, and those that the commit itself holds."""
    out = sorted({*(p for p in ignored if is_product(p, ignored=True)), *untracked})
    found = []
    if out:
        names = ", ".join(listed(p.rstrip("/") for p in out))
        text = f"left over from an earlier build, not taken along: {names}; compiled again for the target"
        found.append(Warned(code="stale-build", where=shown(out[0].rstrip("/")), text=text))
    found += [
        Warned(
            code="build-product-tracked",
            where=shown(p),
            text=f"{shown(p)} was compiled for one machine, and is packed",
        )
        for p in sorted(tracked)
        if is_product(p) and ".egg-info" not in p
    ]
    return found
