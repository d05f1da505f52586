"""The C++ string ABI that the name of a package's file says, against the one of torch."""

import re
from collections.abc import Iterator

from packaging.version import Version

from repro.check.finding import finding
from repro.check.known.policy import exact
from repro.check.rules.extras import mentioned, name_of, place_of, torch_name
from repro.model.check import Finding, Stack, Target, Torch

_CXX11 = re.compile(r"cxx11_?abi\s*=?\s*(true|false|0|1)", re.IGNORECASE)


def string_abi(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on described files named `cxx11abiTRUE` or `cxx11abiFALSE` where torch has the other one."""
    new = has_new_abi(stack.torch)
    for extra, _row in mentioned(stack) if new is not None else ():
        said = _CXX11.search(extra.how)
        if said and new != (said[1].lower() in ("true", "1")):
            yield finding(
                "extra-other-string-abi",
                f"{name_of(extra)} is built with {said[0]}; the stack has {torch_name(stack.torch)}",
                needed=f"a file with cxx11abi{str(new).upper()}",
                fix=[f"take the file of {extra.name} with cxx11abi{str(new).upper()}", "or compile it"],
                where=place_of(extra),
            )


def has_new_abi(torch: Torch) -> bool | None:
    """Whether torch's names have the new string ABI; None when that cannot be told.

    Vendors build with it; the project does from 2.7 on, and in 2.6 for CUDA 12.6 (pytorch issue 152790).
    """
    version = exact(torch.version)
    if torch.make == "vendor":
        return True
    if version is None or torch.make not in ("", "release"):
        return None
    return version >= Version("2.7") or (version >= Version("2.6") and torch.tag == "cu126")
