"""Which packages of a lock to try in the new image, and what their failures mean."""

import re

from repro.errors import ReproError
from repro.model.lock import Lock
from repro.tables.systemlibs import debian_package

_LIBRARY = re.compile(r"(lib[\w.+-]+\.so(?:\.\d+)*): cannot open shared object file")
# These hold libraries for others to load, and no module of their own.
_NO_MODULES = ("nvidia-", "triton")


def modules_to_try(lock: Lock) -> list[str]:
    """Packages with native code: they alone can miss a library of the system."""
    native = [w.name for w in lock.wheels if not w.file.endswith("-none-any.whl")]
    return [name for name in native if not name.startswith(_NO_MODULES)]


def explain(status: int, said: str) -> list[str]:
    """Warnings about packages that did not load, for reasons that may not matter.

    Raises:
        image-import-failed: a library of the system is missing, torch does not load, or Python crashed.
    """
    failed = [
        line.removeprefix("failed ").split("\t", 2)
        for line in said.splitlines()
        if line.startswith("failed ")
    ]
    missing = [(module, match[1]) for module, _kind, text in failed if (match := _LIBRARY.search(text))]
    if missing:
        raise _missing_libraries(missing)
    if status != 0 or not said.rstrip().endswith("done"):
        raise _crashed(status, said)
    torch = [f"{kind}: {text}" for module, kind, text in failed if module == "torch"]
    if torch:
        raise _failed("`import torch` fails in the new image", torch, ["repro lock", "repro build"])
    return [f"`import {module}` fails in the image: {kind}: {text}" for module, kind, text in failed]


def _missing_libraries(missing: list[tuple[str, str]]) -> ReproError:
    packages = sorted({name for _module, library in missing if (name := debian_package(library))})
    listed = ", ".join(f'"{name}"' for name in packages)
    tries = [f"add to repro.toml, below [dependencies]: system = [{listed}]"] if packages else []
    if any(library == "libGL.so.1" for _module, library in missing):
        tries.append("or require `opencv-python-headless`, which needs no display libraries")
    return _failed(
        f"`import {missing[0][0]}` fails in the new image: the base has no `{missing[0][1]}`",
        [f"`import {module}`: no `{library}`" for module, library in missing],
        tries
        or [f"apt-file search {missing[0][1]}      (to find the Debian package), then `dependencies.system`"],
    )


def _crashed(status: int, said: str) -> ReproError:
    names = [line.removeprefix("importing ") for line in said.splitlines() if line.startswith("importing ")]
    last = names[-1] if names else "the first package"
    return _failed(
        f"Python ends with status {status} at `import {last}` in the new image",
        said.splitlines()[-5:],
        ["repro lock      (with another version of that package)", "repro doctor"],
    )


def _failed(message: str, found: list[str], tries: list[str]) -> ReproError:
    return ReproError(
        "image-import-failed",
        message,
        found=found,
        why="an environment that does not load here would fail on the rented machine as well",
        done="the image's name was taken away; its layers stay cached",
        tries=tries[:3],
    )
