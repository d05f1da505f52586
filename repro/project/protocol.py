"""Names of parameters in the [protocol] table, replaced by what the parameters say."""

from collections.abc import Mapping
from typing import Any

import msgspec

from repro.errors import ReproError
from repro.model.project import Settings
from repro.project.place import nearest

NAMES = ("seed", "micro_batch", "accumulation")
# Younger than bundles that exist: left out of the table when unset, so that their ids stay.
_ONLY_WHEN_SET = ("margins", "target")


def check_names(settings: Settings, values: Mapping[str, Any]) -> dict[str, Any]:
    """The [protocol] table with names of parameters replaced by their values.

    Args:
        settings: of the project.
        values: nested parameter values; a name may be dotted (`train.seed`).

    Raises:
        config-name-unknown: a text value names no parameter.
        config-batch: the batch sizes contradict one another.
    """
    table: dict[str, Any] = msgspec.to_builtins(settings.protocol)
    for key in _ONLY_WHEN_SET:
        if table[key] in (None, {}):
            del table[key]
    known = dict(_flat(values))
    for key in NAMES:
        name = table[key]
        if not isinstance(name, str):
            continue
        if name not in known:
            raise _unknown_name(key, name, list(known))
        table[key] = known[name]
    _check_batch(table)
    return table


def _flat(values: Mapping[str, Any], at: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, inner in values.items():
        found.append((f"{at}{key}", inner))
        if isinstance(inner, Mapping):
            found += _flat(inner, f"{at}{key}.")
    return found


def _unknown_name(key: str, name: str, known: list[str]) -> ReproError:
    guess = nearest(name, known)
    return ReproError(
        "config-name-unknown",
        f"`protocol.{key}` names the parameter `{name}`, which does not exist",
        found=name,
        needs="one of: "
        + (", ".join(known) if known else "no parameters: set `params.file`, or write a number"),
        tries=f'{key} = "{guess}"' if guess else f"set `protocol.{key}` to a parameter's name or to a number",
    )


def _check_batch(table: Mapping[str, Any]) -> None:
    micro, times, whole = (table[k] for k in ("micro_batch", "accumulation", "effective_batch"))
    for key, size in (("micro_batch", micro), ("accumulation", times)):
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
            raise ReproError(
                "config-batch",
                f"`protocol.{key}` is no count",
                found=repr(size),
                needs="a whole number above 0",
            )
    if micro and whole and whole % (micro * (times or 1)):
        raise ReproError(
            "config-batch",
            "the batch sizes of [protocol] contradict one another",
            found=f"effective_batch {whole}, micro_batch {micro}, accumulation {times or 1}",
            needs=f"effective_batch = {micro * (times or 1)}, or a multiple of it for several processes",
        )
