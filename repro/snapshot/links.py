"""Judges symbolic links: kept when they stay inside what is packed, refused when they leave it."""

import posixpath
from collections.abc import Iterable, Mapping

from repro.errors import ReproError
from repro.model.snapshot import Warned
from repro.snapshot.names import shown


def target(path: str, text: str) -> str | None:
    """Where the link at `path` points, relative to the repository; None when that is outside it."""
    if text.startswith("/"):
        return None
    end = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
    return None if end == ".." or end.startswith("../") else end


def judge(links: Mapping[str, str], packed: Iterable[str]) -> list[Warned]:
    """Warnings for links whose target is not packed.

    Args:
        links: path of each link, with the text that it holds.
        packed: every path that is packed.

    Raises:
        snapshot-link-outside: links leave the repository; links that point nowhere are named with them.
    """
    present = _with_folders(packed)
    outside = [p for p, text in links.items() if target(p, text) is None]
    circles = [p for p in links if p not in outside and _is_circle(p, links)]
    nowhere = [
        p for p, text in links.items() if p not in (*outside, *circles) and target(p, text) not in present
    ]
    if outside:
        raise _outside(links, outside, nowhere)
    return [
        Warned(
            code="link-broken",
            where=shown(p),
            text=f"{shown(p)} points to {shown(links[p])}, which is not packed",
        )
        for p in nowhere
    ] + [
        Warned(code="link-broken", where=shown(p), text=f"{shown(p)} -> {shown(links[p])} goes in a circle")
        for p in circles
    ]


def _is_circle(path: str, links: Mapping[str, str]) -> bool:
    seen = {path}
    end = target(path, links[path])
    while end is not None and end in links:
        if end in seen:
            return True
        seen.add(end)
        end = target(end, links[end])
    return False


def _with_folders(paths: Iterable[str]) -> set[str]:
    found = {"."}
    for path in paths:
        while path and path not in found:
            found.add(path)
            path = posixpath.dirname(path)
    return found


def _outside(links: Mapping[str, str], outside: list[str], nowhere: list[str]) -> ReproError:
    found = [f"{shown(p)} -> {shown(links[p])} points outside the repository" for p in outside]
    found += [f"{shown(p)} -> {shown(links[p])} points nowhere" for p in nowhere]
    return ReproError(
        "snapshot-link-outside",
        f"{len(outside)} link{'s' if len(outside) > 1 else ''} in the commit leave the repository",
        found=found,
        needs="links with a relative path to a file of the repository",
        why="the bundle would carry foreign files, or links that break elsewhere",
        done="nothing was packed",
        tries=[
            "replace each link by the file that it names, and commit that",
            f"pack a copy of the file instead of the link: --include {shown(outside[0])}",
        ],
    )
