"""Rules for machines on aarch64, of whose wheels only a few facts are known."""

from collections.abc import Iterator
from typing import Any

from repro.check.code.serving import in_words, serving
from repro.check.finding import finding
from repro.check.known.builds import parsed
from repro.check.known.official import is_aarch64, is_cpu_only, is_wheel
from repro.check.rules.named import ASK_TORCH
from repro.model.check import Finding, Stack, Target
from repro.tables.read import table


def aarch64_kernels(stack: Stack, target: Target) -> Iterator[Finding]:
    """How the kernels of the project's CUDA wheels for aarch64 reach the card, where that is known."""
    torch = stack.torch
    looked_into = torch.basis in ("arch-list", "files", "live")
    if (
        not is_aarch64(stack)
        or not target.capability
        or looked_into
        or is_cpu_only(stack)
        or not is_wheel(torch)
    ):
        return
    row = _row(stack)
    word, by = serving(row["sass"], (), target.capability) if row else ("none", "")
    if row and word in ("exact", "compat"):
        yield finding(
            "torch-code-inferred",
            f"CUDA {torch.cuda} wheels for aarch64 have {in_words(row['sass'])}",
            needed=f"code for capability {target.capability}",
            why=f"{by} serves the card",
            source=table("aarch64_builds")["source"],
            where=torch.where,
        )
    elif torch.version or torch.cuda:
        yield finding(
            "torch-build-unknown",
            f"a CUDA {torch.cuda or '?'} wheel of torch {torch.version or '?'} for aarch64",
            needed="the list that the installed torch prints",
            fix=ASK_TORCH,
            source=table("aarch64_builds")["source"],
            where=torch.where,
        )


def _row(stack: Stack) -> dict[str, Any] | None:
    """The row for the CUDA of a release that has such wheels."""
    facts, version, cuda = table("aarch64_builds"), parsed(stack.torch.version), parsed(stack.torch.cuda)
    first = parsed(facts["first_cuda_index"])
    if version is None or cuda is None or first is None or version < first:
        return None
    fitting = [row for row in facts["targets"] if (since := parsed(row["cuda_from"])) and since <= cuda]
    return fitting[-1] if fitting else None
