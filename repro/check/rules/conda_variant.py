"""A channel that builds torch on its own: whether the package has CUDA is decided where it is installed."""

import re
from collections.abc import Iterator

from repro.check.finding import finding
from repro.model.check import Finding, Stack, Target

_CHANNEL = re.compile(r"conda[-:_ ]?forge", re.IGNORECASE)
# A build string, a CUDA package or the metapackage beside it choose the variant by name.
_CHOSEN = re.compile(r"cuda|cpu|gpu|cu\d{2,3}\b|mkl", re.IGNORECASE)
_WITHOUT_CARD = re.compile(
    r"(?:no|without(?: an?)?|lacks?) (?:gpu|card|driver)|docker ?build|docker ?file|image build|login node"
    r"|no conda_override_cuda",
    re.IGNORECASE,
)
_OVERRIDDEN = re.compile(r"(?<!no )(?<!without )conda_override_cuda", re.IGNORECASE)


def variant_by_machine(stack: Stack, _: Target) -> Iterator[Finding]:
    """One finding on a package of conda-forge that is to be installed where no card is visible."""
    torch = stack.torch
    said = f"{torch.index} {torch.asked}"
    open_choice = _CHANNEL.search(said) and not _CHOSEN.search(_CHANNEL.sub(" ", said))
    if open_choice and _WITHOUT_CARD.search(stack.detail) and not _OVERRIDDEN.search(stack.detail):
        yield finding(
            "conda-variant-by-machine",
            f"{torch.asked} from conda-forge; {stack.detail}",
            needed="a variant that is chosen by name",
            fix=["pytorch-gpu, or pytorch=*=cuda*", "or CONDA_OVERRIDE_CUDA=12.6 while the image is built"],
            where=torch.where,
        )
