"""An engine, a tiny bundle, and the removal of the images that a test makes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from repro.engine.docker import DockerEngine

from . import bundles


@pytest.fixture(scope="session")
def engine() -> DockerEngine:
    return DockerEngine()


@pytest.fixture
def tiny(engine: DockerEngine, base_image: str, tmp_path: Path) -> Iterator[bundles.Tiny]:
    with bundles.laid(engine, base_image, tmp_path) as made:
        yield made
