"""What kind of torch it is, as far as the tables are about it."""

from repro.check.known.builds import parsed
from repro.check.rules.named import is_unknown
from repro.model.check import Stack, Torch
from repro.tables.read import table

_CPU_TAGS = ("cpu", "rocm", "xpu")


def is_cpu_only(stack: Stack) -> bool:
    """Whether the build has no CUDA in it: by its tag, or because the machine's default wheel has none."""
    return stack.torch.tag.startswith(_CPU_TAGS) or is_default_aarch64_cpu(stack)


def is_default_aarch64_cpu(stack: Stack) -> bool:
    """Whether a plain requirement gives a wheel without CUDA on aarch64."""
    torch, version = stack.torch, parsed(stack.torch.version)
    first = parsed(table("aarch64_builds")["first_cuda_default"])
    plain = torch.index == "default" and is_wheel(torch) and is_aarch64(stack) and stack.system == "linux"
    return plain and version is not None and first is not None and version < first


def is_aarch64(stack: Stack) -> bool:
    """Whether the machine is a 64-bit ARM one."""
    return stack.machine in ("aarch64", "arm64")


def is_tegra(capability: str) -> bool:
    """Whether a card of this capability sits on one of NVIDIA's boards, whose builds are NVIDIA's own."""
    return capability in table("aarch64_builds")["boards"]["capability"]


def is_wheel(torch: Torch) -> bool:
    """Whether it is one of the project's released wheels."""
    return torch.make in ("", "release")


def is_covered(stack: Stack) -> bool:
    """Whether the tables of builds are about this torch: Linux on x86-64."""
    return stack.system == "linux" and not is_aarch64(stack) and not is_unknown(stack.torch)
