"""What to call things in findings."""

from repro.check.known.builds import Candidate
from repro.model.check import Target, Torch
from repro.tables.gpus import find_gpu


def torch_name(torch: Torch) -> str:
    """`torch 1.13.1+cu117`, else the words that named it."""
    if torch.version:
        tag = f"+{torch.tag}" if torch.tag else f" for CUDA {torch.cuda}" if torch.cuda else ""
        return f"torch {torch.version}{tag}"
    return torch.asked or ("torch" if torch.basis == "unknown" else "the installed torch")


def code_for(target: Target) -> str:
    """`code for capability 8.0 (Ampere)`."""
    known = find_gpu(target.capability)
    architecture = f" ({known.architecture})" if known and known.architecture else ""
    return f"code for capability {target.capability}{architecture}"


def several(builds: list[Candidate]) -> str:
    """Some builds by name, many by number and the first and last of them."""
    names = [build.name for build in builds]
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} builds from {names[0]} to {names[-1]}"
