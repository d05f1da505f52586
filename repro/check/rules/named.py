"""Rules about what the words leave open: which torch, which card, which system."""

from collections.abc import Iterator

from repro.check.finding import finding
from repro.model.check import Finding, Stack, Target, Torch
from repro.tables.gpus import nearest

ASK_TORCH = (
    'python -c "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.get_arch_list())"'
)
_MACHINES = ("x86_64", "aarch64", "arm64")
ASK_CARD = "nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv"


def torch_unpinned(stack: Stack, _target: Target) -> Iterator[Finding]:
    """A torch that is named without a version is another one next month."""
    torch = stack.torch
    if torch.asked and not torch.version and torch.make in ("", "release", "nightly", "conda"):
        yield finding(
            "torch-unpinned",
            f"`{torch.asked}` names no version",
            needed="one version and one build",
            fix="repro lock",
            where=torch.where,
        )


def torch_unknown(stack: Stack, target: Target) -> Iterator[Finding]:
    """A card is asked for, and nothing says what torch it is."""
    if not target.asked or not is_unknown(stack.torch):
        return
    # What a project's files pin is not yet all that gets installed: torch may come with another package.
    if stack.packages and stack.origin != "project" and not stack.torch.asked:
        yield finding(
            "torch-absent",
            f"{len(stack.packages)} packages, no torch",
            fix="repro check --image TAG",
        )
    else:
        yield finding(
            "torch-unknown",
            _no_torch(stack),
            needed="the version with its build tag, or the list that the installed torch prints",
            fix=[ASK_TORCH, f'repro check {_again(stack)}--torch VERSION+TAG, or --arch-list "sm_70 sm_80"'],
            where=stack.torch.where,
        )


def _no_torch(stack: Stack) -> str:
    if stack.origin == "image":
        return f"the image {stack.detail} holds {'no torch' if stack.python else 'neither torch nor Python'}"
    return f"torch: {stack.torch.asked or 'not named'}; no version, build tag or list of targets"


def _again(stack: Stack) -> str:
    """What the command must name again, so that the rest of the stack is looked at too."""
    return {"project": "PROJECT ", "image": f"--image {stack.detail} "}.get(stack.origin, "")


def is_unknown(torch: Torch) -> bool:
    """Whether neither its targets nor anything that leads to them is said."""
    return torch.sass is None and not (
        torch.version or torch.accepts or torch.cuda or torch.tag or torch.index
    )


def card_unknown(_stack: Stack, target: Target) -> Iterator[Finding]:
    """A card that the table does not have, and no capability that would do instead."""
    if target.asked and not target.capability:
        close = nearest(target.asked)
        yield finding(
            "card-unknown",
            f"`{target.asked}` is not in the table of cards",
            needed=f"one of {', '.join(close)}"
            if close
            else "a card in `repro gpus`, or its compute capability",
            fix=[f"repro check --gpu {close[0]}" if close else "repro gpus", ASK_CARD],
        )


def platform_outside(stack: Stack, target: Target) -> Iterator[Finding]:
    """The tables are of wheels for Linux; a list that the installed torch printed holds anywhere."""
    judged = stack.torch.basis in ("arch-list", "files", "live")
    outside = stack.system != "linux" or stack.machine not in _MACHINES
    if outside and target.asked and not judged:
        yield finding(
            "platform-outside-tables",
            f"system {stack.system}, machine {stack.machine}",
            needed="Linux on x86_64 (for some builds aarch64), or the list that the installed torch prints",
            fix=ASK_TORCH,
        )
