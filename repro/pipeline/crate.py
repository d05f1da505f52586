"""A bundle with its runs written as a research object."""

from pathlib import Path

from repro import trust
from repro.bundle import Bundle
from repro.errors import ReproError
from repro.events import Note, Sink, silent, step
from repro.files import folder_aside
from repro.model.run import RunFolder
from repro.pipeline.ready import check_whole
from repro.pipeline.signed import content_of
from repro.trace import read_run


def export_crate(bundle: Bundle, out: Path, sink: Sink = silent) -> Path:
    """Write the bundle and its runs into the new folder `out`, as an RO-Crate; whole, or not at all.

    Raises:
        bundle-damaged: a file is not as it was packed. crate-exists: `out` is there.
        crate-library: the library rocrate is not installed.
    """
    if out.exists() or out.is_symlink():
        raise ReproError(
            "crate-exists",
            f"`{out}` is there already",
            needs="a folder that is not there yet: nothing is written over",
            done="nothing was written",
            tries=f"repro export {bundle.path} --format ro-crate -o {out}-2",
        )
    check_whole(bundle, sink)
    runs = _runs(bundle, sink)
    if not trust.licence_of(content_of(bundle)):
        text = "the code has no licence file: the research object says `not stated`, and an archive will ask"
        sink(Note("warning", text))
    with step(sink, "research object") as shown, folder_aside(out.absolute().parent, "crate") as aside:
        trust.write_crate(content_of(bundle), runs, aside.path)
        aside.become(out.absolute())
        shown.detail = f"{len(runs)} runs, {out.name}"
    return out


def _runs(bundle: Bundle, sink: Sink) -> list[RunFolder]:
    """The runs that can be read; what cannot is said, and copied as it is."""
    found = []
    for path in sorted(p for p in (bundle.path / "runs").glob("*") if any(p.glob("attempt-*/run.json"))):
        try:
            found.append(read_run(path))
        except ReproError as problem:
            sink(Note("warning", f"run `{path.name}` is copied and not described: {problem}"))
    return found
