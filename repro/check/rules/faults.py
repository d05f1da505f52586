"""Known faults of single builds and libraries, each a row in `data/known_faults.toml` with its source."""

import re
from collections.abc import Iterator
from typing import Any

from packaging.specifiers import SpecifierSet

from repro.check.code.serving import serving
from repro.check.finding import finding
from repro.check.known.builds import parsed
from repro.model.check import Finding, Stack, Target
from repro.tables.names import mig_profile
from repro.tables.read import table


def known_faults(stack: Stack, target: Target) -> Iterator[Finding]:
    """Faults whose conditions all hold."""
    for row in table("known_faults")["fault"]:
        if _holds(row, stack, target):
            yield _told(row, stack, target)


def _told(row: dict[str, Any], stack: Stack, target: Target) -> Finding:
    torch = stack.torch
    found = row["found"].format(cuda=torch.cuda, torch=torch.version, capability=target.capability)
    if row["rule"] == "known-remark":
        return finding(
            "known-remark",
            found,
            needed=row["needed"],
            why=row["why"],
            fix=row.get("fix", ()),
            source=row["source"],
        )
    return finding(
        "known-fault",
        found,
        needed=row["needed"],
        why=row["why"],
        fix=row.get("fix", ()),
        source=row["source"],
    )


def _holds(row: dict[str, Any], stack: Stack, target: Target) -> bool:
    name = f"{target.asked} {target.name}".lower()
    return (
        bool(target.asked)
        and _in_range(stack.torch.cuda, row.get("cuda", ""))
        and _in_range(stack.torch.version, row.get("torch", ""))
        and target.capability in row.get("capability", [target.capability])
        and re.search(rf"\b{row.get('card', '')}\b", name) is not None
        and (not row.get("mig") or bool(mig_profile(target.asked)[1]))
        and _reached(row, stack, target)
    )


def _in_range(version: str, wanted: str) -> bool:
    known = parsed(version)
    return not wanted or (known is not None and SpecifierSet(wanted, prereleases=True).contains(known))


def _reached(row: dict[str, Any], stack: Stack, target: Target) -> bool:
    torch = stack.torch
    if "words" not in row or torch.sass is None:
        return True
    return serving(torch.sass, torch.ptx or (), target.capability)[0] in row["words"]
