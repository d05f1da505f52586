"""The documents say what is there: folders, commands, settings, and nothing of one machine."""

import re
import subprocess
import tomllib
from pathlib import Path

import msgspec
import pytest

from repro.cli.main import COMMANDS
from repro.model.project import Settings

ROOT = Path(__file__).resolve().parents[2]
DOCS = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_every_folder_is_in_the_code_map() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    folders = sorted(p.name for p in (ROOT / "repro").iterdir() if p.is_dir() and not p.name.startswith("_"))
    assert [name for name in folders if f"`repro/{name}`" not in text] == []


def test_every_command_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    named = set(re.findall(r"`(?:repro )?([a-z]+(?:-[a-z]+)*)\b", text))
    assert sorted(set(COMMANDS) - named) == []


def test_the_settings_page_is_a_valid_settings_file_with_every_key() -> None:
    text = (ROOT / "docs" / "settings.md").read_text("utf-8")
    block = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert block is not None
    table = tomllib.loads(block.group(1))
    msgspec.convert(table, Settings)
    known = {f.name: f.type for f in msgspec.structs.fields(Settings)}
    assert set(known) == set(table)
    for name, kind in known.items():
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            assert {f.name for f in msgspec.structs.fields(kind)} == set(table[name]), name


def test_the_examples_settings_are_valid() -> None:
    found = sorted((ROOT / "bundles").glob("*/repro.toml"))
    assert len(found) == 2
    for path in found:
        msgspec.convert(tomllib.loads(path.read_text("utf-8")), Settings)


@pytest.mark.parametrize("path", DOCS, ids=lambda p: p.name)
def test_files_that_the_documents_name_exist(path: Path) -> None:
    named = re.findall(
        r"`((?:docs|repro|scripts|tests|bundles|templates)/[\w./-]+)`", path.read_text("utf-8")
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_no_file_names_this_machine_or_a_registry() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    hosts = re.compile(rb"https?://[a-z0-9.]*(?:pypi|pythonhosted|debian|npmjs)[a-z.]*")
    found = []
    for name in listed.decode().split("\0"):
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".sh", ".j2", ".txt"} and path.is_file():
            data = path.read_bytes()
            if hosts.search(data) or str(ROOT).encode() in data:
                found.append(name)
    assert found == []
