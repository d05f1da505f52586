"""What is said of an exported file that is not taken."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from zstandard import ZstdError

from repro.errors import ReproError
from repro.tarread import RefusedError


@contextmanager
def refusing(file: str) -> Iterator[None]:
    """Turn every way in which an archive can be wrong into import-refused."""
    try:
        yield
    except (RefusedError, ZstdError) as problem:
        raise ReproError(
            "import-refused",
            f"`{file}` is not a bundle as `repro export` writes it",
            found=_shown(str(problem)),
            needs="the file as it was exported, every byte of it",
            done="nothing was written or loaded",
            tries=[
                f"fetch the file again, and compare: sha256sum {shlex.quote(file)}",
                "repro export BUNDLE      (where the bundle lies)",
            ],
        ) from problem


def _shown(text: str) -> str:
    """Text of an archive's own, without what would move a terminal's cursor."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
