"""The precision that the project asks for, against what the card multiplies."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from repro.check.code.containers import chip
from repro.check.finding import finding
from repro.model.check import Finding, Stack, Target

_NAMES = {
    "bfloat16": "bf16", "half": "fp16", "float16": "fp16", "16": "fp16", "amp": "fp16", "float8": "fp8",
    "e4m3": "fp8", "e5m2": "fp8", "nvfp4": "fp4", "mxfp4": "fp4",
    "float32": "fp32", "32": "fp32", "float64": "fp64", "64": "fp64", "double": "fp64",
}  # fmt: skip


@dataclass(frozen=True)
class _Format:
    """A format, the capability from which tensor cores multiply it, and what a card below means."""

    lowest: str
    below: str
    instead: tuple[str, ...]


# Tensor formats by generation: NVIDIA architecture whitepapers of Volta, Ampere, Ada, Hopper and Blackwell.
_FORMATS = {
    "bf16": _Format("8.0", "bf16-emulated", ("fp16 with loss scaling", "a card of 8.0 or newer")),
    "fp16": _Format("7.0", "fp16-no-tensor-cores", ()),
    "tf32": _Format("8.0", "tf32-no-effect", ()),
    "fp8": _Format("8.9", "fp8-missing", ("bf16 or fp16", "a card of 8.9 or newer")),
    "fp4": _Format("10.0", "fp4-missing", ("fp8, bf16 or fp16", "a card of 10.0 or newer")),
}
_PLAIN = ("", "fp32", "fp64")
_QUANTIZED = "quantized"
# Formats in longer words, the most demanding first. Integer weights are multiplied by any card, somehow.
_IN_WORDS = (
    (r"(?:fp|float)4", "fp4"),
    (r"(?<!mx)(?:fp|float)8|e4m3|e5m2", "fp8"),
    (r"bf16|bfloat16", "bf16"),
    (r"(?:fp|float)16|\bhalf\b|\bamp\b", "fp16"),
    (r"\btf32\b", "tf32"),
    (r"\bu?int[48]\b|\bnf4\b|\b[48]-?bit\b|gptq|\bawq\b", _QUANTIZED),
    (r"(?:fp|float)(?:32|64)", "fp32"),
)


def precision_of_card(stack: Stack, target: Target) -> Iterator[Finding]:
    """Findings on a precision that the card lacks, or that has no effect on it; none for an unknown card."""
    asked = format_of(stack.precision)
    row = _FORMATS.get(asked)
    if row is None:
        if asked not in (*_PLAIN, _QUANTIZED):
            known = ", ".join([*_FORMATS, *_PLAIN[1:]])
            yield finding(
                "precision-unknown", f"precision {stack.precision!r}", needed=known, fix="one of these"
            )
        return
    if target.capability and chip(target.capability) < chip(row.lowest):
        yield finding(
            row.below,
            f"{asked} asked for, {target.name or 'the card'} has capability {target.capability}",
            needed=f"capability {row.lowest} or newer",
            fix=row.instead,
            where="precision",
        )


def format_of(words: str) -> str:
    """The format that a word for a precision means: `bf16` for `bf16-mixed`; an unknown word as it is."""
    text = words.strip().lower().removeprefix("torch.")
    plain = text.removesuffix("-autocast").removesuffix("-true").removesuffix("-mixed")
    told = _NAMES.get(text, _NAMES.get(plain, plain))
    if told in _FORMATS or told in _PLAIN:
        return told
    return next((name for pattern, name in _IN_WORDS if re.search(pattern, text)), told)
