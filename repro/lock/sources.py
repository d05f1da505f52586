"""Which indexes and folders are asked, in which order: the project's, then the user's."""

import os
import re

import msgspec

from repro.errors import ReproError
from repro.lock.builds import alias_sources
from repro.lock.index import Shelf, version_of
from repro.lock.pick import newest_at_source
from repro.lock.pipconf import PipConfig, default_index
from repro.lock.place import Target
from repro.lock.requests import Finding, Requests, Source


def sources_of(requests: Requests, config: PipConfig) -> list[Source]:
    """All sources: find-links, the index, extra indexes; an index of the project replaces the user's."""
    mine = [msgspec.structs.replace(s, url=expanded(s.url)) for s in requests.sources]
    no_index = config.no_index or any(s.kind == "no-index" for s in mine)
    links = [s for s in mine if s.kind == "find-links"]
    links += [Source(kind="find-links", url=url) for url in config.many("find-links")]
    index = [s for s in mine if s.kind == "index"][-1:]
    index = index or [Source(kind="index", url=config.values.get("index-url") or default_index())]
    extra = [s for s in mine if s.kind == "extra-index"]
    extra += [Source(kind="extra-index", url=url) for url in config.many("extra-index-url")]
    return list(dict.fromkeys(links if no_index else [*links, *index, *extra]))


def tool_sources(sources: list[Source], config: PipConfig) -> list[Source]:
    """Where pip and pip-tools themselves come from: an index of the project's own need not have them."""
    return list(dict.fromkeys([*sources, *sources_of(Requests(), config)]))


def expanded(url: str) -> str:
    """An address with `${NAME}` replaced from the environment, as pip does it.

    Raises:
        lock-variable-unset: the variable is not set.
    """

    def value(found: re.Match[str]) -> str:
        if found.group(1) not in os.environ:
            raise ReproError(
                "lock-variable-unset",
                f"the address of an index needs the variable `{found.group(1)}`, which is not set",
                found=f"`${{{found.group(1)}}}` in a dependency file",
                needs=f"{found.group(1)} in the environment of this command",
                done="nothing was downloaded",
                tries=[f"export {found.group(1)}=..."],
            )
        return os.environ[found.group(1)]

    return re.sub(r"\$\{([A-Z0-9_]+)\}", value, url)


def needed_aliases(requests: Requests, shelf: Shelf) -> tuple[list[Source], list[Finding]]:
    """Indexes by table for builds such as `+cu118` that no configured source offers, each with a finding."""
    found: list[Source] = []
    findings: list[Finding] = []
    for r in (*requests.requirements, *requests.constraints):
        if (
            "+" not in r.pinned
            or r.url
            or r.path
            or any(version_of(o.file) == r.pinned for o in shelf.offers(r.name))
        ):
            continue
        for source in alias_sources([r]):
            found.append(source)
            offered = f"{r.name} {r.pinned} is offered by no configured source"
            text = f"{offered}; index {source.name} ({source.url}) is used for it"
            findings.append(Finding(code="index-alias", file=r.file, lines=(r.line,), text=text))
    return list(dict.fromkeys(found)), findings


def named_source_pins(requests: Requests, shelf: Shelf, target: Target) -> dict[str, str]:
    """For requirements that must come from one named source: its newest version in range.

    pip has no such rule, so the version is fixed beforehand and the file is taken from that source alone.

    Raises:
        lock-no-version: that source offers nothing in range for this Python.
    """
    from repro.lock.pick import check_direct

    pins = {}
    for r in requests.requirements:
        if r.source and r.name:
            check_direct(shelf, r, target)
            fixed = next((c.pinned for c in requests.constraints if c.name == r.name and c.pinned), "")
            pins[r.name] = r.pinned or fixed or newest_at_source(shelf, r, target)
    return {name: version for name, version in pins.items() if version}
