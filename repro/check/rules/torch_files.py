"""Torch's own libraries as they were read: kernels for the card, container by container."""

from collections.abc import Iterator

from repro.check.code.containers import in_words, torch_fits, total, usable
from repro.check.finding import finding
from repro.model.check import FileFit, Finding, Stack, Target


def torch_containers(stack: Stack, target: Target) -> Iterator[Finding]:
    """Findings on the libraries with torch's kernels, the largest first; none when they were not read."""
    if not target.capability:
        return
    for found in torch_fits(stack.binaries, target):
        yield finding(
            _code(found),
            f"{found.path}: {in_words(found)} on {target.capability}",
            needed=f"code for sm_{target.capability.replace('.', '')} in every container that training calls",
            where=found.path,
        )


def _code(found: FileFit) -> str:
    if usable(found) == total(found):
        return "torch-file-fits"
    if 2 * usable(found) >= total(found):
        return "torch-file-partly"
    return "torch-file-mostly-none" if usable(found) else "torch-file-none"
