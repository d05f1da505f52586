"""Whether a run that came from elsewhere is a run of this bundle: its id, protocol and parameters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.errors import ReproError
from repro.model.record import Json
from repro.model.run import Attempt
from repro.run.home.record import Brought, values_of


@dataclass(frozen=True)
class Expected:
    """What of a bundle its runs repeat: id, digests, `protocol.json`, values of its parameters."""

    title: str
    id: str
    identity: Json
    protocol: Json
    params: Json
    overrides: Mapping[str, str]


def hold(folder: Path, brought: Brought, expected: Expected) -> None:
    """Raise import-run-foreign unless every attempt in `folder` is one of the bundle's."""
    wrong = []
    for number, attempt in brought.attempts.items():
        found = [*_identity(attempt, expected), *_params(folder / f"attempt-{number}", attempt, expected)]
        wrong += [f"attempt-{number}: {text}" for text in found]
    if wrong:
        raise foreign(brought.run_id, wrong, expected.title)


def foreign(run_id: str, found: list[str], title: str) -> ReproError:
    """The error for a run that is not one of the bundle's."""
    return ReproError(
        "import-run-foreign",
        f"run `{run_id}` is not a run of bundle `{title}`",
        found=found[:8],
        needs=f"a run that names bundle `{title}`, its protocol and its parameters",
        done="nothing was written",
        tries=["repro import-run RUN BUNDLE      (with the bundle that it was made with)", "repro show"],
    )


def _identity(attempt: Attempt, expected: Expected) -> Iterator[str]:
    told = attempt.bundle
    if told.get("id") != expected.id:
        yield f"made with bundle {str(told.get('id') or 'none')[:12]}, not {expected.id[:12]}"
        return
    digests = told.get("identity")
    if not isinstance(digests, dict):
        yield "names no digests"
    elif differing := [
        k for k in sorted({*digests, *expected.identity}) if digests.get(k) != expected.identity.get(k)
    ]:
        yield f"other digests of {', '.join(differing[:6])}"
    if told.get("protocol") != expected.protocol:
        yield "another protocol than the bundle's protocol.json"


def _params(folder: Path, attempt: Attempt, expected: Expected) -> Iterator[str]:
    document = values_of(folder)
    if not document:
        if expected.params and attempt.status not in ("running", "refused"):
            yield "no params.json, and the bundle has parameters"
        return
    changed = {**expected.overrides, **attempt.overrides}
    if document.get("overrides") != changed:
        yield f"params.json says `--set {document.get('overrides')}`, run.json {dict(changed)}"
    mine, theirs = dict(_leaves(expected.params)), dict(_leaves(document.get("values")))
    for name in sorted({*mine, *theirs}):
        if mine.get(name) != theirs.get(name) and not _is_named(name, attempt.overrides):
            found = f"parameter `{name}` is {theirs.get(name)!r}, the bundle's {mine.get(name)!r}"
            yield f"{found}, and no --set says so"


def _leaves(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(values, dict) and values:
        for key, value in values.items():
            yield from _leaves(value, f"{prefix}{key}.")
    else:
        yield prefix.removesuffix("."), values


def _is_named(name: str, overrides: Mapping[str, str]) -> bool:
    return any(name == key or name.startswith(f"{key}.") for key in overrides)
