"""Packs the parameters: the file that the program reads, and its values with their types and digests."""

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from repro.errors import ReproError
from repro.files import sha256_bytes, write_whole
from repro.model.canonical import pretty
from repro.model.project import Project
from repro.model.snapshot import ParamSet, Warned
from repro.snapshot import overrides, secrets, tagged
from repro.snapshot.names import shown
from repro.snapshot.paramfile import SUFFIXES, parse, render

# Absolute paths of people's own folders; `/opt/...` and the like may well be the same everywhere.
_OWN_PLACE = re.compile(r"(?:/(?:home|Users|root|mnt|media|data|scratch|workspace)/|~/|[A-Za-z]:[\\/]).*\S$")
_LATER = re.compile(r"\$\{[^}]+\}")


def take_params(project: Project, into: Path, sets: Sequence[str] = ()) -> ParamSet:
    """The parameters as they are used; `into` gets `params.json`, and `params/` with the file.

    Without overrides the file is copied byte for byte; with them it is written anew in its own format.

    Args:
        project: names the file in its settings.
        into: folder that exists.
        sets: overrides, each `KEY=VALUE`; a key may be dotted.

    Raises:
        params-missing, params-format, params-duplicate-key, params-set, params-set-unknown, snapshot-secret.
    """
    file = project.settings.params.file
    given = overrides.split(sets)
    if not file:
        found = _none(given)
    else:
        data = _content(project, file)
        found, packed = _used(project, file, data, given)
        write_whole(into / "params" / PurePosixPath(file).name, packed)
    write_whole(into / "params.json", pretty(found))
    return found


def _none(given: dict[str, str]) -> ParamSet:
    if given:
        raise no_file(given)
    return ParamSet(file="", source_sha256="", values={})


def no_file(given: dict[str, str]) -> ReproError:
    """The error for overrides where there is nothing to override."""
    return ReproError(
        "params-set-unknown",
        "the project has no parameter file, so `--set` can change nothing",
        found=", ".join(f"--set {shown(k)}={shown(v)}" for k, v in given.items()),
        needs="`params.file` in the settings",
        tries='params.file = "params.json"      (in repro.toml)',
    )


def _content(project: Project, file: str) -> bytes:
    root = Path(project.root).resolve()
    path = root / file
    if not path.is_file() or not path.resolve().is_relative_to(root):
        alike = sorted(p.name for p in root.iterdir() if p.suffix in SUFFIXES and p.is_file())
        raise ReproError(
            "params-missing",
            f"the parameter file `{shown(file)}` "
            + ("leaves the project" if path.is_file() else "is not there"),
            found="in the project: "
            + (", ".join(shown(n) for n in alike[:10]) or "no JSON, YAML or TOML file"),
            needs=f"`params.file`, a file of the project ({project.origin('params.file')})",
            done="nothing was packed",
            tries='params.file = "..."      (in repro.toml)',
        )
    if path.suffix not in SUFFIXES:
        raise ReproError(
            "params-format",
            f"the parameter file `{shown(file)}` is of an unknown format",
            found=path.suffix or "no suffix",
            needs=" or ".join(SUFFIXES),
            tries='params.file = ""      (in repro.toml, when the program reads no such file)',
        )
    try:
        return path.read_bytes()
    except PermissionError:
        raise ReproError(
            "params-missing",
            f"the parameter file `{shown(file)}` may not be read",
            found=f"mode {path.stat().st_mode & 0o777:o}",
            needs="a file that you may read",
            done="nothing was packed",
            tries=f"chmod u+r {shown(file)}",
        ) from None


def _used(project: Project, file: str, data: bytes, given: dict[str, str]) -> tuple[ParamSet, bytes]:
    suffix = PurePosixPath(file).suffix
    parsed = parse(file, suffix, data)
    secrets.refuse(secrets.in_content(file, data))
    values = overrides.apply(parsed.values, given)
    packed = render(suffix, values) if given else data
    secrets.refuse(secrets.in_content(file, packed))
    encoded = tagged.encode(values)
    if given and tagged.encode(parse(file, suffix, packed).values) != encoded:
        raise AssertionError(f"{file}: the parameters do not read back as they were written")
    warnings = [Warned(code=w.code, where=f"{shown(file)}, {w.where}", text=w.text) for w in parsed.warnings]
    warnings += [_said(file, *odd) for odd in _odd(values, "")] + _unused(project, given)
    if not values:
        text = f"{shown(file)} holds no parameter"
        warnings.append(Warned(code="params-empty", where=shown(file), text=text))
    return ParamSet(
        file=file, source_sha256=sha256_bytes(data), values=encoded, overrides=given, warnings=warnings
    ), packed


def _odd(value: Any, at: str) -> Iterator[tuple[str, str, str]]:
    """Values that travel badly: code, dotted name and what is said."""
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _odd(inner, f"{at}.{key}" if at else str(key))
    elif isinstance(value, str):
        yield from _odd_text(value, at)
    elif isinstance(value, float) and math.isnan(value):
        yield "params-nonfinite", at, "is not a number; it is kept as such and equals only itself"
    elif isinstance(value, float) and math.isinf(value):
        yield "params-nonfinite", at, "is infinite; it is kept as such"
    elif isinstance(value, int) and abs(value) > 1 << 53:
        yield "params-big-int", at, "is a whole number that many readers round; it is kept digit by digit"


def _odd_text(value: str, at: str) -> Iterator[tuple[str, str, str]]:
    if _OWN_PLACE.match(value):
        yield "params-path", at, f"({shown(value)}) names a place on this machine, which other machines lack"
    if _LATER.search(value):
        yield (
            "params-interpolation",
            at,
            f"({shown(value)}) is replaced when the program runs; kept as written",
        )


def _said(file: str, code: str, name: str, text: str) -> Warned:
    return Warned(code=code, where=f"{shown(file)}: {shown(name)}", text=f"{shown(name)} {text}")


def _unused(project: Project, given: dict[str, str]) -> list[Warned]:
    """A warning for overrides when the command is not given the file that holds them."""
    if not given or any("{params}" in word for word in project.settings.code.command):
        return []
    text = (
        "the command has no {params}: the overrides reach the program only if it reads "
        f"`{project.settings.params.file}` from its working folder and that file is replaced there"
    )
    return [Warned(code="params-set-unread", where="code.command", text=text)]
