"""A bundle that came without its wheels, because its image has what is in them."""

from pathlib import Path

from repro.bundle.read import Bundle, decode
from repro.errors import ReproError
from repro.model.move import Thin

NOTE = "thin.json"


def left_out(folder: Path) -> frozenset[str]:
    """Paths of wheels and base layers that were left out on the way to this folder and are not in it.

    Nothing else counts as left out, whatever the note says. Raises bundle-unreadable.
    """
    path = folder / NOTE
    if not path.is_file():
        return frozenset()
    spare = [name for name in decode(path, Thin).files if name.startswith(("wheels/", "base/"))]
    return frozenset(name for name in spare if not (folder / name).exists())


def need_wheels(bundle: Bundle, what: str) -> None:
    """Raise bundle-thin when `what` cannot be done, since wheels or base layers are not here."""
    missing = sorted(left_out(bundle.path))
    if missing:
        raise ReproError(
            "bundle-thin",
            f"bundle `{bundle.path.name}` came without its wheels, which {what} needs",
            found=f"{len(missing)} files are not here: {missing[0]}, …",
            needs="the bundle as `repro export` writes it without --thin",
            done="nothing was run",
            tries=[
                "repro import FILE      (the whole one; the wheels are added)",
                "repro run --engine docker",
            ],
        )
