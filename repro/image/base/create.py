"""Make a base image on this machine, for when no registry answers.

Debian packages through mmdebstrap or debootstrap, then a canonical pass over the files, so that
the same packages give the same image id.
"""

import tempfile
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from repro.engine.contract import ImageEngine, ImageInfo
from repro.engine.interpreters import candidates, find_python, full_version
from repro.errors import ReproError
from repro.events import Note, Sink
from repro.files import folder_aside
from repro.image.base import interpreter as interpreters
from repro.image.base import rootfs
from repro.image.base.bootstrap import Plan, bootstrap
from repro.image.base.interpreter import Interpreter
from repro.image.base.sources import bases
from repro.image.naming import base_tag, short_version
from repro.redact import has_login

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Recipe:
    """What a base is made of; `interpreter` is None when the suite's own Python is the asked one."""

    python: str
    suite: str
    packages: tuple[str, ...]
    interpreter: Interpreter | None

    @property
    def origin(self) -> str:
        """In words, for the image's label."""
        if self.interpreter is None:
            return f"Debian {self.suite}"
        return f"Debian {self.suite}, with Python {self.interpreter.version} of the machine that made it"


def create_base(engine: ImageEngine, python: str, sink: Sink, mirror: str = "") -> ImageInfo:
    """The image `repro-base:X.Y`, made from Debian packages; the same packages give the same id.

    Args:
        engine: where the image goes.
        python: `3.11`; where no Debian suite has it, an interpreter of this machine is laid in.
        sink: told about an interpreter that is taken from this machine.
        mirror: address of a Debian mirror, empty for the tool's own choice.

    Raises:
        base-tools-missing, base-needs-root, base-python-missing, mirror-unreachable,
        base-create-failed, disk-full.
    """
    if has_login(mirror):
        raise ReproError(
            "base-create-failed",
            "a mirror address with a password would stay in the image",
            needs="an address without a login; put the login into apt's own auth.conf on this machine",
            done="nothing was made",
        )
    engine.info()  # one that does not answer says so now, not after minutes of bootstrapping
    recipe = recipe_for(python)
    if recipe.interpreter is not None:
        home = recipe.interpreter.home
        sink(Note("note", f"no Debian suite has Python {recipe.python}: `{home}` is laid on {recipe.suite}"))
    return _make(engine, recipe, mirror)


def recipe_for(python: str) -> Recipe:
    """What the base for `3.11` is made of; raises base-python-missing when there is no such Python."""
    short, table = short_version(python), bases()
    suite = table["suites"].get(short)
    always = table["always"]["packages"]
    if suite:
        return Recipe(short, suite, tuple(table["python"]["packages"] + always), None)
    found = find_python(python)
    if found is None:
        raise _no_python(python)
    laid = interpreters.interpreter_of(found, full_version(found))
    chosen = table["interpreter"]
    return Recipe(short, chosen["suite"], tuple(chosen["packages"] + always), laid)


def _make(engine: ImageEngine, recipe: Recipe, mirror: str) -> ImageInfo:
    with folder_aside(Path(tempfile.gettempdir()), "repro-base") as made:
        aside = made.path
        raw, laid = aside / "raw.tar", aside / "interpreter.tar"
        if recipe.interpreter is not None:
            with laid.open("wb") as out:
                interpreters.write(recipe.interpreter, out)
        with as_file(files("repro") / "image" / "base" / "settle.sh") as script:
            plan = Plan(recipe.suite, recipe.packages, mirror, script, laid if recipe.interpreter else None)
            bootstrap(plan, raw, aside)
        with (aside / "root.tar").open("w+b") as root:
            with raw.open("rb") as source:
                rootfs.rewrite(source, root)
            root.seek(0)
            return engine.load_root(root, base_tag(recipe.python), _config(recipe))


def _config(recipe: Recipe) -> dict[str, object]:
    labels = {
        "dev.reprobundle.base": recipe.origin,
        "org.opencontainers.image.title": base_tag(recipe.python),
    }
    return {"Env": [f"PATH={_PATH}", "LANG=C.UTF-8"], "Cmd": ["python3"], "Labels": labels}


def _no_python(python: str) -> ReproError:
    known = ", ".join(sorted(bases()["suites"], key=lambda v: [int(n) for n in v.split(".")]))
    looked = sorted({str(path) for path in candidates(python)})
    return ReproError(
        "base-python-missing",
        f"no Debian suite carries Python {python}, and this machine has none to lay into a base",
        found=[f"Debian has {known}", f"looked for {', '.join(looked[:3]) or 'pyenv, uv and asdf folders'}"],
        needs=f"a pyenv installation of Python {python}, or another base image",
        done="nothing was made",
        tries=[f"pyenv install {python}", 'set `base = "IMAGE"` below [dependencies] in repro.toml'],
    )
