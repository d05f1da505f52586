"""A connected engine, and the removal of what a test leaves in it."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from repro.engine.docker import DockerEngine


@pytest.fixture(scope="session")
def engine() -> DockerEngine:
    return DockerEngine()


@dataclass(frozen=True)
class Mine:
    """What this test made: containers by label, images by name."""

    labels: dict[str, str]
    tag: str
    engine: DockerEngine

    def containers(self) -> list[str]:
        key, value = next(iter(self.labels.items()))
        return [
            c.id for c in self.engine.client.containers.list(all=True, filters={"label": f"{key}={value}"})
        ]


@pytest.fixture
def mine(engine: DockerEngine) -> Iterator[Mine]:
    word = uuid.uuid4().hex[:12]
    made = Mine({"dev.reprobundle.test": word}, f"repro-test:{word}", engine)
    yield made
    for container in made.containers():
        engine.client.api.remove_container(container, force=True)
    engine.remove(made.tag)
