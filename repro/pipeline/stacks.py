"""What is known of the software, gathered from a lock, a project's files, compiled files, or words."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from repro.check.code.containers import code_of_torch
from repro.check.words.question import stack_and_target
from repro.model.binary import ImageFacts, WheelFacts
from repro.model.check import Doubt, Question, Stack, Torch
from repro.model.lock import Lock, Wheel

if TYPE_CHECKING:  # the lock's rooms take longer to import than words take to answer
    from repro.lock.requests import Requests, Requirement

# `https://download.pytorch.org/whl/cu118/...`, and the nightly builds below it.
_PYTORCH_INDEX = re.compile(r"/whl/(nightly/)?(cu\d+|cpu)\b")
_SET = msgspec.structs.replace


def of_lock(lock: Lock, origin: str) -> Stack:
    """The stack of a lock: torch and where it came from, packages, Python, C library, warnings."""
    torch = next((w for w in lock.wheels if w.name == "torch"), None)
    system, _, machine = lock.platform.partition("_")
    question = Question(
        torch=f"torch=={torch.version}" if torch else "",
        index=_index(torch) if torch else "",
        python=lock.python,
        system=system or "linux",
        machine=machine or "x86_64",
        glibc=lock.libc.rpartition(" ")[2] if lock.libc.startswith("glibc") else "",
    )
    stack = stack_and_target(question)[0]
    return _SET(
        stack,
        origin=origin,
        torch=_SET(stack.torch, where="lock.json") if torch else Torch(),
        packages={w.name: w.version for w in lock.wheels},
        system_packages=lock.system,
        doubts=[Doubt(code=w.code, where=w.where, text=w.text) for w in lock.warnings],
    )


def _index(wheel: Wheel) -> str:
    """Which of the known indexes offered a wheel; a torch without a tag is the default index's build."""
    tag = wheel.version.partition("+")[2]
    if tag:
        return f"pytorch-{tag}"
    found = _PYTORCH_INDEX.search(wheel.origin)
    if found:
        return f"pytorch-{'nightly-' if found[1] else ''}{found[2]}"
    return "default"


def of_requests(requests: "Requests", python: str, index_urls: Iterable[str] = ()) -> Stack:
    """The stack that a project's files ask for, before any lock: only what they pin is known."""
    torch = requests.named("torch")
    question = Question(python=python)
    if torch:
        pin = requests.pin_of("torch")
        question = Question(
            python=python,
            torch=f"torch=={pin}" if pin else f"torch{torch.spec}",
            index=_asked_index(torch, pin, [*index_urls, *(s.url for s in requests.sources)]),
        )
    stack = stack_and_target(question)[0]
    return _SET(
        stack,
        origin="project",
        torch=_SET(stack.torch, where=torch.place) if torch else Torch(),
        packages={r.name: r.pinned for r in requests.requirements if r.name and r.pinned},
        system_packages=list(requests.system),
        doubts=[
            Doubt(code=f.code, where=f.where, text=f.text, severity=_severity(f.severity), remedy=f.remedy)
            for f in requests.findings
        ],
    )


def _severity(word: str) -> Any:
    return word if word in ("error", "note") else "warning"


def _asked_index(torch: "Requirement", pin: str, urls: Iterable[str]) -> str:
    tag = pin.partition("+")[2]
    if tag:
        return f"pytorch-{tag}"
    if torch.source:
        return torch.source
    found = next((m for m in map(_PYTORCH_INDEX.search, urls) if m), None)
    return f"pytorch-{found[2]}" if found else "default"


def of_installed(facts: ImageFacts) -> Stack:
    """The stack of an image: what is installed in it, and what its system offers."""
    torch = next((wheel.version for wheel in facts.wheels if wheel.name == "torch"), "")
    tag = torch.partition("+")[2]
    question = Question(
        torch=f"torch=={torch}" if torch else "",
        index=f"pytorch-{tag}" if tag else "default" if torch else "",
        python=facts.python,
        glibc=facts.glibc,
    )
    stack = _SET(stack_and_target(question)[0], origin="image", libraries=facts.libraries)
    return with_binaries(stack, facts.wheels)


def with_binaries(stack: Stack, facts: Iterable[WheelFacts]) -> Stack:
    """The stack with compiled files, and torch's own kernels as they were read there."""
    wheels = list(facts)
    binaries = [binary for wheel in wheels for binary in wheel.binaries]
    packages = {wheel.name: wheel.version for wheel in wheels if wheel.name} | stack.packages
    # Without a single compiled file it is a name, and says nothing against the table.
    torch = next((wheel for wheel in wheels if wheel.name == "torch" and wheel.binaries), None)
    return _SET(
        stack,
        packages=packages,
        binaries=[*stack.binaries, *binaries],
        torch=_torch_of(torch, stack.torch) if torch else stack.torch,
    )


def counted(facts: Sequence[WheelFacts]) -> str:
    """What was read, for a step's line: `12 compiled files in 3 wheels`."""
    files = sum(len(wheel.binaries) for wheel in facts)
    return f"{files} compiled file{'s' * (files != 1)} in {len(facts)} wheel{'s' * (len(facts) != 1)}"


def _torch_of(wheel: WheelFacts, known: Torch) -> Torch:
    """What the compiled files of torch say goes before any table; files without GPU code are a CPU build."""
    version, _, tag = wheel.version.partition("+")
    code = code_of_torch(wheel.binaries)
    sass, ptx = code or ([], [])
    cuda = wheel.torch_cuda if wheel.torch_cuda != "None" else ""
    own_tag = tag or (f"cu{cuda.replace('.', '')}" if cuda else "cpu" if code is None else known.tag)
    return Torch(
        version=version,
        tag=own_tag,
        cuda=cuda or (known.cuda if code else ""),
        sass=sass,
        ptx=ptx,
        basis="files",
        source=f"containers of {wheel.file or 'the installed files'}",
        where=known.where or wheel.file,
    )


def overlaid(stack: Stack, said: Question) -> Stack:
    """The stack with everything that the user said in words, which goes first; lists are joined."""
    words, silent = (stack_and_target(question, "command line")[0] for question in (said, Question()))
    changed: dict[str, Any] = {}
    for name in stack.__struct_fields__:
        new, old = getattr(words, name), getattr(stack, name)
        if new != getattr(silent, name):
            changed[name] = [*old, *new] if isinstance(new, list) and isinstance(old, list) else new
    return _SET(stack, **changed)
