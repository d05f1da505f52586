"""Which names may stand in an exported file, and what they are for."""

import posixpath
import unicodedata
from collections.abc import Iterable

MANIFEST, EXPORT, IMAGE, SIGNATURE = "bundle.json", "export.json", "image.tar.zst", "signature.json"
# Folders of a bundle, which may be empty.
FOLDERS = ("wheels", "eval", "params")
# What a bundle's folder may hold that its manifest does not list.
BESIDE = ("seed", "reference", "runs")
RESERVED = (MANIFEST, EXPORT, IMAGE, SIGNATURE, "image.json", "thin.json", *BESIDE)
SUFFIX, THIN_SUFFIX = ".repro", ".thin.repro"
_LONGEST_PART, _LONGEST = 255, 2048


def fault(name: str) -> str:
    """Why no member may have that name, below a bundle's folder; empty when it may."""
    if not _is_text(name):
        return "is not text in UTF-8"
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in name):
        return "holds control characters"
    parts = name.split("/")
    if {"", ".", ".."} & set(parts):
        return "leads out of the bundle's folder"
    if len(name.encode()) > _LONGEST or any(len(part.encode()) > _LONGEST_PART for part in parts):
        return f"is longer than {_LONGEST_PART} bytes a part, or than {_LONGEST} bytes"
    if any(part.startswith(".part-") for part in parts):
        return "is one of what this tool has not finished"
    return ""


def link_fault(name: str, text: str) -> str:
    """Why a link may not have that text; empty when it may: only inside `eval/`, and not around corners.

    `..` may stand in front alone: behind another link's name it would lead elsewhere than it seems to.
    """
    parts = text.split("/")
    up = next((i for i, part in enumerate(parts) if part != ".."), len(parts))
    end = posixpath.normpath(posixpath.join(posixpath.dirname(name), text))
    inside = f"{end}/".startswith("eval/") and name.startswith("eval/")
    plain = not {"", ".", ".."} & set(parts[up:])
    return "" if inside and plain and not fault(end) else "is a link that leads out of the evaluation set"


def collision(names: Iterable[str]) -> tuple[str, str] | None:
    """Two names, or folders of names, that one file system keeps apart and another does not."""
    seen: dict[str, str] = {}
    for name in names:
        parts = name.split("/")
        for i in range(len(parts)):
            path = "/".join(parts[: i + 1])
            other = seen.setdefault(unicodedata.normalize("NFC", path).casefold(), path)
            if other != path:
                return other, path
    return None


def is_beside(name: str) -> bool:
    """Whether it is something that travels with a bundle and is not in its manifest."""
    return name == SIGNATURE or ("/" in name and name.partition("/")[0] in BESIDE)


def is_reserved(name: str) -> bool:
    """Whether a manifest may not list it."""
    return name.partition("/")[0] in RESERVED


def is_spare(name: str) -> bool:
    """Whether it may be left out, since the image has what is in it: wheels, and layers of the base image."""
    return name.startswith(("wheels/", "base/"))


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
