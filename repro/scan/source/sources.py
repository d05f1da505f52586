"""GPU code in source form: what of a project is compiled, when, and for which cards."""

from collections.abc import Iterable
from pathlib import Path

from repro.model.check import SourceFact
from repro.scan.source.buildscripts import is_script, pyproject_facts, script_facts
from repro.scan.source.codefiles import code_files
from repro.scan.source.leftovers import leftovers
from repro.scan.source.pythonfacts import python_facts


def scan_sources(code: Path | Iterable[tuple[str, str]]) -> list[SourceFact]:
    """The facts of a project's code, file by file in the order given; nothing of it is run.

    Args:
        code: its folder, or (name, text) pairs as `code_files` gives them: every file by its name relative
            to the top, with an empty text where `is_read` says that the text does not count.
    """
    facts: list[SourceFact] = []
    names: list[str] = []
    for name, text in code_files(code) if isinstance(code, Path) else code:
        names.append(name)
        facts += file_facts(name, text)
    return facts + leftovers(names)


def file_facts(name: str, text: str) -> list[SourceFact]:
    """The facts of one file."""
    if name.endswith((".cu", ".cuh")):
        return [SourceFact(kind="cuda-source", where=f"{name}:1", text="CUDA source")]
    if not text:
        return []
    if name.endswith(".py"):
        return python_facts(name, text)
    if name.rpartition("/")[2] == "pyproject.toml":
        return pyproject_facts(name, text)
    return script_facts(name, text) if is_script(name) else []
