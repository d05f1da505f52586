"""The rendered files, against ones that a person has read."""

import ast
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from repro import image
from repro.errors import ReproError
from repro.image.naming import base_tag, image_tag
from repro.image.plain.dockerfile import DockerfileFacts, from_reference
from repro.model.bundle import Base
from repro.model.lock import Lock, Wheel
from repro.model.snapshot import Snapshot

HERE = Path(__file__).parent
FACTS = DockerfileFacts(
    name='digits "cnn" $HOME',
    id="0123456789abcdef" * 4,
    python="3.11",
    base="repro-base:3.11",
    base_id="sha256:" + "ba" * 32,
    base_name="repro-base:3.11",
    base_digest="sha256:" + "ba" * 32,
    revision="c" * 40,
    created=1_700_000_000,
    installer="pip==26.1 --hash=sha256:" + "1" * 64,
)
BARE = replace(
    FACTS, python="3.6", installer="", has_wheels=False, has_eval=False, has_params=False, has_stack=False
)
DEBIAN = replace(FACTS, system=("libgl1", "libglib2.0-0"))
TARGETS = replace(FACTS, arch_list="8.0;8.6;9.0+PTX")


@pytest.mark.parametrize(
    ("file", "given"), [("full", FACTS), ("bare", BARE), ("debian", DEBIAN), ("targets", TARGETS)]
)
def test_rendered_files_are_as_read(file: str, given: DockerfileFacts) -> None:
    for kind, text in (("Dockerfile", image.render(given)), ("md", image.reproducing(given))):
        assert text == (HERE / "expected" / f"{file}.{kind}").read_text("utf-8")


def test_only_the_classic_dialect_is_used() -> None:
    text = image.render(DEBIAN)
    for word in ("--mount", "--chmod", "--link", "<<", "# syntax", "# escape"):
        assert word not in text


def test_a_shell_command_cannot_be_a_package() -> None:
    with pytest.raises(ReproError) as caught:
        facts(system=["libgl1", "x; rm -rf /"])
    assert caught.value.code == "system-package-name"


def facts(**more: object) -> DockerfileFacts:
    held = Wheel(name="pip", version="26.1", file="pip.whl", sha256="1" * 64, bytes=1, origin="local")
    lock = Lock(
        python="3.11",
        platform="linux_x86_64",
        libc="glibc 2.36",
        resolver="",
        inputs={},
        inputs_sha256="",
        requirements_sha256="",
        wheels=[held],
        installer=held,
    )
    snapshot = Snapshot(
        commit="c" * 40,
        branch="",
        commit_time=1_700_000_000,
        tree="",
        subfolder="",
        num_files=1,
        code_sha256="",
    )
    base = Base(asked="b", used="repro-base:3.11", id=FACTS.base_id, layers=["sha256:1"])
    changed = msgspec.structs.replace(lock, **more)
    return image.facts(
        FACTS.name, FACTS.id, base, changed, snapshot, has_eval=True, has_params=True, has_stack=True
    )


def test_the_arch_list_is_set_in_both_stages_before_anything_is_installed() -> None:
    assert "TORCH_CUDA_ARCH_LIST" not in image.render(FACTS)
    lines = image.render(TARGETS).split("\n")
    places = [n for n, line in enumerate(lines) if line == 'ENV TORCH_CUDA_ARCH_LIST="8.0;8.6;9.0+PTX"']
    stages = [n for n, line in enumerate(lines) if line.startswith("FROM ")]
    first_pip = next(n for n, line in enumerate(lines) if " -m pip " in line)
    assert len(places) == 2
    assert stages[0] < places[0] < first_pip < stages[1] < places[1]


def test_facts_come_from_the_records() -> None:
    assert facts() == FACTS


def test_a_registrys_digest_goes_before_a_name() -> None:
    base = Base(
        asked="python:3.11", used="python:3.11", id="sha256:1", repo_digest="python@sha256:2", layers=["x"]
    )
    assert from_reference(base, "3.11") == "python@sha256:2"


def test_a_bundle_made_in_place_starts_from_what_was_asked_for() -> None:
    base = Base(asked="", used="this machine", id="inplace")
    assert from_reference(base, "3.12") == "python:3.12-slim-bookworm"
    assert from_reference(base, "3.6") == "python:3.6-slim-bullseye"


def test_names() -> None:
    assert image_tag("My Project_2", "0123456789abcdef") == "repro/my-project-2:0123456789ab"
    assert base_tag("3.11.7") == "repro-base:3.11"


def test_the_context_of_a_plain_build_holds_what_it_reads_and_nothing_else() -> None:
    first, *kept = image.dockerignore().splitlines()
    assert first == "*"
    for name in ("Dockerfile", "code.tar", "protocol.json", "wheels", "eval", "params", "repro_runtime"):
        assert f"!{name}" in kept
    for name in ("runs", "seed", "reference", "base", "dirty.patch", "image.json", "bundle.json"):
        assert f"!{name}" not in kept


def test_the_probe_reads_on_old_pythons() -> None:
    source = HERE.parents[1] / "repro" / "image" / "import_probe.py"
    assert ast.parse(source.read_text("utf-8"), feature_version=(3, 6)).body
