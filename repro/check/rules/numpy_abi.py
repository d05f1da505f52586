"""Rules about NumPy 2 under a torch, or under other packages, that were compiled for NumPy 1."""

from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from repro.check.finding import finding
from repro.check.known.builds import parsed
from repro.check.known.called import torch_name
from repro.check.rules.partners import version_of
from repro.model.check import Extra, Finding, Stack, Target

# First torch that was compiled against NumPy 2, as its release notes say, and the first Python with NumPy 2.
_TORCH = Version("2.3.0")
_PYTHON = Version("3.9")
_SOME_NUMPY_2 = ("2.0.2", "2.2.6", "2.4.0")


def numpy_two(stack: Stack, _target: Target) -> Iterator[Finding]:
    """A NumPy that is 2, or may be on the day of the install, with a torch from before or of unknown age."""
    numpy, where = _numpy(stack)
    torch = parsed(stack.torch.version)
    if not numpy or (torch is not None and torch >= _TORCH):
        return
    if torch is not None and parsed(numpy):
        yield finding(
            "numpy-2-old-torch",
            f"numpy {numpy} with {torch_name(stack.torch)}",
            needed=f"numpy < 2, or torch >= {_TORCH}",
            fix="lock numpy<2",
            where=where,
        )
    elif torch is not None or stack.origin == "words":
        others = [f", {extra.name}" for extra in stack.extras if not _is_numpy(extra)]
        age = torch_name(stack.torch) if torch else "a torch of unknown version"
        yield finding(
            "numpy-2-unpinned",
            f"numpy {numpy} with {age}{''.join(others)}",
            needed="every compiled package made for NumPy 2, or numpy < 2",
            fix=["lock numpy<2", f"lock torch>={_TORCH} and new releases of the others"],
            where=where,
        )


def _numpy(stack: Stack) -> tuple[str, str]:
    """The version, or the words that allow a NumPy 2, and where they stand; empty for NumPy 1 or none."""
    text, where = version_of(stack, "numpy")
    version = parsed(text)
    if version is not None:
        return (text, where) if version.major >= 2 else ("", "")
    python = parsed(stack.python)
    open_end = next(
        (extra for extra in stack.extras if _is_numpy(extra) and _allows_two(extra.version)), None
    )
    if open_end is None or (python is not None and python < _PYTHON):
        return "", ""
    return open_end.version or "without a version", open_end.where


def _is_numpy(extra: Extra) -> bool:
    return canonicalize_name(extra.name) == "numpy"


def _allows_two(accepts: str) -> bool:
    try:
        wanted = SpecifierSet(accepts)
    except InvalidSpecifier:
        return False
    return any(wanted.contains(version) for version in _SOME_NUMPY_2)
