"""Rules for machines on aarch64, of whose wheels only a few facts are known."""

import re
from collections.abc import Iterator
from typing import Any

from repro.check.code.serving import in_words, serving
from repro.check.finding import finding
from repro.check.known.builds import parsed
from repro.check.known.called import torch_name
from repro.check.known.official import is_aarch64, is_cpu_only, is_tegra, is_wheel
from repro.check.rules.named import ASK_TORCH, is_unknown
from repro.model.check import Finding, Stack, Target
from repro.tables.read import table
from repro.tables.toolkits import toolkit

# Words for the two kinds of builds that NVIDIA makes for aarch64: of its boards, and of servers.
_BOARD = re.compile(r"jetson|jetpack|\bl4t\b|tegra|[+.]nv\d\d\.|\bjp\d", re.IGNORECASE)
_SERVER = re.compile(r"nvcr\.io|\bngc\b|nvidia.{0,20}container|vendor (?:image|container)", re.IGNORECASE)


def aarch64_kernels(stack: Stack, target: Target) -> Iterator[Finding]:
    """How the kernels of a CUDA build for aarch64 reach the card, where that is known; else the question."""
    torch = stack.torch
    told = torch.basis in ("arch-list", "files", "live") or is_unknown(torch)
    if not is_aarch64(stack) or not target.capability or told or is_cpu_only(stack):
        return
    if is_wheel(torch) or torch.make == "nightly":
        yield _of_wheel(stack, target)
    elif torch.make == "vendor" and _is_made_for(stack, target):
        yield finding(
            "torch-code-inferred",
            f"{torch_name(torch)} is NVIDIA's own build for such machines",
            needed=f"code for capability {target.capability}",
            why="a maker's build for its own board or server has code for the card there",
            source="NVIDIA, Installing PyTorch for Jetson Platform; NGC catalog, PyTorch for arm64",
            where=torch.where,
        )
    else:
        yield _unknown(stack)


def _of_wheel(stack: Stack, target: Target) -> Finding:
    torch, row = stack.torch, _row(stack)
    word, by = serving(row["sass"], (), target.capability) if row else ("none", "")
    if row is None or word not in ("exact", "compat"):
        return _unknown(stack)
    return finding(
        "torch-code-inferred",
        f"CUDA {torch.cuda} wheels for aarch64 have {in_words(row['sass'])}",
        needed=f"code for capability {target.capability}",
        why=f"{by} serves the card",
        source=table("aarch64_builds")["source"],
        where=torch.where,
    )


def _unknown(stack: Stack) -> Finding:
    torch = stack.torch
    return finding(
        "torch-build-unknown",
        f"{torch_name(torch)} for aarch64",
        needed="the list that the installed torch prints",
        fix=ASK_TORCH,
        source=table("aarch64_builds")["source"],
        where=torch.where,
    )


def _is_made_for(stack: Stack, target: Target) -> bool:
    """Whether a build of NVIDIA's is of the kind that the card is in, and not made before the card."""
    torch, tegra = stack.torch, is_tegra(target.capability)
    words = _BOARD if tegra else _SERVER
    said = f"{torch.asked} {torch.index} {stack.detail}"
    compiler = toolkit(torch.cuda)
    newer = compiler is not None and serving(compiler.sass, (), target.capability)[0] == "none"
    return words.search(said) is not None and not newer


def _row(stack: Stack) -> dict[str, Any] | None:
    """The row for the CUDA of a release that has such wheels."""
    facts, version, cuda = table("aarch64_builds"), parsed(stack.torch.version), parsed(stack.torch.cuda)
    first = parsed(facts["first_cuda_index"])
    early = stack.torch.make != "nightly" and (version is None or first is None or version < first)
    if early or cuda is None:
        return None
    fitting = [row for row in facts["targets"] if (since := parsed(row["cuda_from"])) and since <= cuda]
    return fitting[-1] if fitting else None
