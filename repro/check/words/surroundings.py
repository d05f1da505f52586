"""A machine as people write it down: system, processor, C library, Python, driver, capability."""

import re

from repro.tables.drivers import driver_key

_SYSTEMS = (
    (r"wsl|linux|ubuntu|debian|centos|rhel|red ?hat|rocky|alma|fedora|suse|\barch\b|l4t|jetpack", "linux"),
    (r"\bwin(?:dows|32|64)?", "windows"),
    (r"darwin|mac ?os", "darwin"),
)
_MACHINES = {"amd64": "x86_64", "x64": "x86_64", "x86-64": "x86_64", "x86_64": "x86_64", "": "x86_64"}
_NOTHING = re.compile(r"\W*(?:n/?a|unknown|none|null|not (?:said|given|known)|\?)?\W*", re.IGNORECASE)
# Three digits lead in a driver's version since 2007, and never in that of a toolkit.
_DRIVER = re.compile(r"(?<![\d.])(\d{3}(?:\.\d{1,4}){0,3})(?![\d])")
_CUDA = re.compile(r"(?<![\d.])(\d{1,2}(?:\.\d{1,2})?)(?:\.\d+)?(?![\d])")
_CUDA_NUMBER = re.compile(r"(?<!\d)(\d{1,2})0(\d)0(?!\d)")
_CAPABILITY = re.compile(
    r"(?:sm|compute)_?(?P<joined>\d{2,3})[af]?\b|(?P<dotted>\d{1,2}\.\d)\b|\(?(?P<major>\d{1,2})\s*,\s*(?P<minor>\d)\)?"
    r"|^(?P<bare>\d{1,3})$",
    re.IGNORECASE,
)


def system_in(text: str) -> str:
    """`linux` for `Ubuntu 22.04` or `WSL2`, `windows` for `Windows 11`; another word as it is."""
    words = text.strip().lower()
    return next((name for pattern, name in _SYSTEMS if re.search(pattern, words)), words) or "linux"


def machine_in(text: str) -> str:
    """`x86_64` for `AMD64`; another word as it is."""
    words = text.strip().lower()
    return _MACHINES.get(words, words)


def glibc_in(text: str) -> str:
    """`2.31` of `glibc 2.31` or `2.31-13+deb11u5`; empty for none."""
    found = re.search(r"\d+\.\d+", text)
    return found[0] if found else ""


def python_minor(text: str) -> str:
    """`3.10` of `3.10.12`, `python3.10`, `cp310` or `py310`; empty for none, or for a range."""
    if re.search(r"[<>~!]", text):
        return ""
    joined = re.search(r"(?:cp|py)(\d)(\d{1,2})(?!\d|\.)", text.strip().lower())
    found = re.search(r"(\d+\.\d+t?)", text)
    name = f"{joined[1]}.{joined[2]}" if joined else found[1] if found else ""
    return "3.10" if name == "3.1" else name  # a number of JSON loses the zero; no torch was ever for 3.1


def driver_in(text: str) -> str:
    """`535.54.03` of `535.54.03 (CUDA 12.2)`, `525` of `R525 branch`; text without a version as it is."""
    if _NOTHING.fullmatch(text) or re.match(r"\s*cuda\b", text, re.IGNORECASE):
        return ""
    found = None if driver_key(text) else _DRIVER.search(text)
    return found[1] if found else text.strip()


def driver_cuda_in(text: str, driver: str = "") -> str:
    """`12.2` of `CUDA 12.2`, of CUDA's own number 12020, or of the words about the driver; else the text."""
    if _NOTHING.fullmatch(text):
        said = re.search(r"cuda\D{0,10}(\d{1,2}\.\d{1,2})", driver, re.IGNORECASE)
        return said[1] if said else ""
    number, found = _CUDA_NUMBER.search(text), _CUDA.search(text)
    return f"{number[1]}.{number[2]}" if number else found[1] if found else text.strip()


def capability_in(text: str) -> str:
    """`8.0` of `sm_80`, `80`, `(8, 0)`, `8` or `8.0 (Ampere)`; other text as it is."""
    found = _CAPABILITY.search(text.strip())
    if found is None:
        return "" if _NOTHING.fullmatch(text) else text.strip()
    if found["dotted"] or found["major"]:
        return found["dotted"] or f"{found['major']}.{found['minor']}"
    digits: str = found["joined"] or found["bare"]
    return f"{digits[:-1]}.{digits[-1]}" if len(digits) > 1 else f"{digits}.0"


def targets_in(words: list[str] | str) -> list[str]:
    """Targets in a list or a text, each once: `sm_80`, `sm80` or `8.0`; `8.6+PTX` is sm_86 and compute_86."""
    text = words if isinstance(words, str) else " ".join(words)
    named = [f"{kind}_{number}" for kind, number in re.findall(r"(sm|compute)_?(\d{2,3}[af]?)", text.lower())]
    if not named:
        for major, minor, ptx in re.findall(r"(?<![\d.])(\d{1,2})\.(\d[af]?)(\+ptx)?", text.lower()):
            named += [f"sm_{major}{minor}", *([f"compute_{major}{minor}"] if ptx else [])]
    return list(dict.fromkeys(named))


def is_for_another_maker(words: list[str] | str) -> bool:
    """Whether a list of targets is of AMD's cards, `gfx90a`."""
    text = (words if isinstance(words, str) else " ".join(words)).lower()
    return "gfx" in text and not re.search(r"sm_?\d|compute_?\d", text)
