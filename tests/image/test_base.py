"""Which base image is taken, and what is said when there is none."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from repro import image
from repro.engine.contract import Exit
from repro.engine.docker import DockerEngine
from repro.engine.fake import FakeEngine, Played
from repro.engine.fake import image as fake_image
from repro.errors import ReproError
from repro.events import Note, silent
from repro.image.base import bootstrap, create, rootfs
from repro.image.base.interpreter import without_home
from repro.model.project import Dependencies

OFFICIAL = "python:3.11-slim-bookworm"


def says(version: str, *, venv: bool = True) -> Played:
    answer = {"version": version, "has_venv": venv, "libc": "glibc 2.36", "machine": "x86_64"}
    return Played(f"repro-python {json.dumps(answer)}\n".encode())


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path))
    return FakeEngine(script=[says("3.11.2")])


def find(engine: FakeEngine, seen: list | None = None, **wanted: str):
    notes = [] if seen is None else seen
    return image.find_base(Dependencies(**{"python": "3.11"} | wanted), engine, notes.append)


def test_the_official_image_goes_first(engine: FakeEngine) -> None:
    engine.hold(OFFICIAL, fake_image(b"official", OFFICIAL))
    engine.hold("repro-base:3.11", fake_image(b"own", "repro-base:3.11"))
    found = find(engine)
    assert (found.asked, found.used) == (OFFICIAL, OFFICIAL)
    assert found.layers == list(engine.images[OFFICIAL].layers)


def test_our_own_stands_in_and_that_is_said(engine: FakeEngine) -> None:
    engine.hold("repro-base:3.11", fake_image(b"own", "repro-base:3.11"))
    seen: list[Note] = []
    assert find(engine, seen).used == "repro-base:3.11"
    assert "repro-base:3.11" in seen[0].text
    assert "pull" not in " ".join(engine.calls)


def test_what_a_registry_gives_is_known_by_digest(engine: FakeEngine) -> None:
    held = fake_image(b"official", OFFICIAL)
    engine.registry[OFFICIAL] = type(held)(
        held.id, held.tags, ("python@sha256:12", "x@sha256:13"), held.layers, 1
    )
    assert find(engine).repo_digest == "python@sha256:12"


def test_no_registry_names_the_way_out(engine: FakeEngine) -> None:
    with pytest.raises(ReproError) as caught:
        find(engine)
    assert caught.value.code == "registry-unreachable"
    assert caught.value.tries[0].startswith("repro base create --python 3.11")


def test_an_image_asked_for_by_id_gets_a_name(engine: FakeEngine) -> None:
    held = fake_image(b"mine", "")
    engine.hold(held.id, type(held)(held.id, (), (), held.layers, 1))
    found = find(engine, base=held.id)
    assert found.used == f"repro-base:{held.id[7:19]}"
    assert engine.find(found.used).id == held.id


@pytest.mark.parametrize(
    "answer", [says("3.10.1"), says("3.11.2", venv=False), Played(b"sh: not found", Exit(127))]
)
def test_a_base_must_hold_the_python(engine: FakeEngine, answer: Played) -> None:
    engine.script[:] = [answer]
    engine.hold("mine:1", fake_image(b"mine", "mine:1"))
    with pytest.raises(ReproError) as caught:
        find(engine, base="mine:1")
    assert caught.value.code == "base-wrong-python"


def test_an_image_is_asked_once(engine: FakeEngine) -> None:
    engine.hold(OFFICIAL, fake_image(b"official", OFFICIAL))
    assert find(engine) == find(engine)
    assert engine.calls.count("run") == 1


def test_without_python_there_is_no_default(engine: FakeEngine) -> None:
    with pytest.raises(ReproError) as caught:
        find(engine, python="")
    assert caught.value.code == "base-python-unset"


def test_recipes() -> None:
    assert create.recipe_for("3.11").suite == "bookworm"
    assert create.recipe_for("3.9.2").suite == "bullseye"
    with pytest.raises(ReproError) as caught:
        create.recipe_for("3.99")
    assert caught.value.code == "base-python-missing"


def test_a_mirror_with_a_password_is_refused() -> None:
    with pytest.raises(ReproError) as caught:
        image.create_base(FakeEngine(), "3.11", silent, mirror="http://me:secret@mirror.example/debian")
    assert "secret" not in str(caught.value.document())


def test_without_tools_the_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bootstrap, "_path", lambda: str(tmp_path))
    with pytest.raises(ReproError) as caught:
        image.create_base(FakeEngine(), "3.11", silent)
    assert caught.value.code == "base-tools-missing"
    assert caught.value.tries == ("sudo apt-get install mmdebstrap",)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (
            "E: Failed to fetch http://mirror.example/x  Temporary failure resolving 'mirror.example'",
            "mirror-unreachable",
        ),
        ("E: newuidmap 1 0 1000 1 failed", "base-needs-root"),
        ("dpkg: error: write: No space left on device", "disk-full"),
        ("E: something else", "base-create-failed"),
    ],
)
def test_a_failed_bootstrap_has_a_cause(line: str, code: str) -> None:
    assert bootstrap._explain("mmdebstrap", ["I: starting", line]).code == code


def _tar(*members: tuple[str, bytes, str], when: int = 5) -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data, link in members:
            info = tarfile.TarInfo(name)
            info.mtime, info.size, info.uname, info.uid, info.mode = when, len(data), "someone", 7, 0o4755
            if link:
                info.type, info.linkname = tarfile.LNKTYPE, link
            tar.addfile(info, io.BytesIO(data))
    return out


def test_a_root_is_written_the_same_whatever_the_order() -> None:
    first = _tar(
        ("./b", b"content", ""), ("./a", b"", "./b"), ("./etc/hostname", b"me", ""), ("./var/log/x", b"x", "")
    )
    second = _tar(("./a", b"content", ""), ("./b", b"", "./a"), when=99)
    written = []
    for root in (first, second):
        out = io.BytesIO()
        rootfs.rewrite(root, out)
        written.append(out.getvalue())
    assert written[0] == written[1]
    with tarfile.open(fileobj=io.BytesIO(written[0])) as tar:
        a, b = tar.getmembers()
        assert (a.name, a.isreg(), a.uid, a.uname, a.mode) == ("a", True, 7, "", 0o4755)
        assert (b.name, b.islnk(), b.linkname) == ("b", True, "a")
        assert tar.extractfile("b").read() == b"content"


def test_a_machines_folder_leaves_text_and_binaries() -> None:
    home = Path("/home/someone/.pyenv/versions/3.8.18")
    assert (
        without_home(b"#!/home/someone/.pyenv/versions/3.8.18/bin/python\n", home)
        == b"#!/usr/local/bin/python\n"
    )
    binary = b"\x7fELF\0/home/someone/.pyenv/versions/3.8.18/lib\0/home/someone/.pyenv/versions/3.8.18\0"
    changed = without_home(binary, home)
    assert len(changed) == len(binary)
    assert b".pyenv" not in changed
    # The linker may have shared this ending with the version's own text.
    assert changed.endswith(b"/3.8.18\0")
    assert changed.split(b"\0")[1].rstrip(b"lib").rstrip(b"/") == b"/usr/local"


@pytest.mark.docker
@pytest.mark.net
def test_two_creations_are_one_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(create, "base_tag", lambda python: f"repro-test-base:{python}")
    engine = DockerEngine()
    first = image.create_base(engine, "3.11", silent)
    second = image.create_base(engine, "3.11", silent)
    try:
        assert first.id == second.id
        assert image.find_base(Dependencies(python="3.11", base=first.id), engine, silent).id == first.id
    finally:
        engine.remove(first.tags[0])
