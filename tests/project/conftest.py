"""Folders that look like projects."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Make a project folder from file names (`/` allowed) and texts; `train.py` is always there."""

    def build(files: dict[str, str] | None = None, *, script: str = "train.py") -> Path:
        root = tmp_path / "My Project"
        for name, text in {script: "print('hello')\n", **(files or {})}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    return build
