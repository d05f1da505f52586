"""Whether a bundle could still be made from where its parts came from, and whether that matters."""

from collections.abc import Iterator

from repro.bundle import Bundle
from repro.errors import ReproError
from repro.events import Sink, silent
from repro.image import VENDORED
from repro.lock.pipconf import read_pip_config
from repro.lock.reach import Origin, origins
from repro.pipeline.doctor import Finding, State
from repro.registry.connection import Connection
from repro.registry.reference import parse

_SHOWN = 8
_KINDS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)


def examine_origins(bundle: Bundle, sink: Sink = silent) -> list[Finding]:
    """What the origins of a bundle's wheels and base image say today; `unknown` where nobody answers."""
    found = list(origins(bundle.lock, read_pip_config(), sink))
    return [*_wheels(bundle, found), *_base(bundle)]


def _wheels(bundle: Bundle, found: list[Origin]) -> Iterator[Finding]:
    by_state: dict[str, list[Origin]] = {}
    for origin in found:
        by_state.setdefault(origin.state, []).append(origin)
    if there := by_state.get("there"):
        yield Finding(
            "wheels", "ok", f"{len(there)} of {len(found)} are still offered where they were locked"
        )
    carried = all((bundle.path / "wheels" / origin.wheel.file).is_file() for origin in found)
    for state, word in (("gone", "are gone"), ("other", "are other files now"), ("local", "are on no index")):
        for origin in by_state.get(state, [])[:_SHOWN]:
            yield Finding(
                "wheel",
                "ok" if carried and state == "local" else "warning" if carried else "error",
                f"{origin.wheel.file}: {origin.found}; "
                + (
                    "the bundle carries it" if carried else f"such files {word}, and this bundle carries none"
                ),
                [] if carried else ["fetch the bundle again, with its wheels"],
            )
    if silent_ones := by_state.get("no-answer"):
        yield Finding(
            "wheels", "unknown", f"{len(silent_ones)} could not be asked for: {silent_ones[0].found}"
        )


def _base(bundle: Bundle) -> Iterator[Finding]:
    base = bundle.manifest.base
    if not base.layers:
        return
    carried = (bundle.path / VENDORED).is_dir()
    if not base.repo_digest:
        yield Finding(
            "base image",
            "ok" if carried else "warning",
            f"`{base.used}` came from no registry; "
            + ("the bundle carries it" if carried else "it must be made or loaded on another machine"),
            [] if carried else [f"repro base create --python {bundle.lock.python}", "repro build --vendor"],
        )
        return
    try:
        _ask(base.repo_digest)
    except ReproError as problem:
        gone = problem.code in ("registry-no-repository", "registry-denied", "registry-missing")
        state: State = "ok" if carried else "warning" if gone else "unknown"
        more = "; the bundle carries it" if carried else ""
        tries = (
            [] if carried else ["repro build --vendor      (keeps it in the bundle while it is held here)"]
        )
        yield Finding("base image", state, f"`{base.repo_digest}`: {problem.message}{more}", tries)
        return
    yield Finding("base image", "ok", f"`{base.repo_digest}` is still offered")


def _ask(digest: str) -> None:
    """One HEAD for the manifest; raises the registry's errors."""
    first = digest.partition("/")[0]
    named = digest if "." in first or ":" in first else f"docker.io/{digest}"
    reference = parse(named)
    connection = Connection(reference)
    try:
        what = f"asking for `{digest}`"
        connection.ask("HEAD", f"manifests/{reference.digest}", what, headers={"Accept": ", ".join(_KINDS)})
    finally:
        connection.close()
