"""A run that was made elsewhere, on a pod or by an image alone, becomes one of its bundle's runs."""

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from repro import bundle as bundles
from repro.bundle import Bundle
from repro.errors import ReproError
from repro.events import Note, Sink, step
from repro.files import alone, folder_aside, read_regular
from repro.run.home import Brought, Source, open_source, read
from repro.run.home import hold as held_against
from repro.run.home.held import Expected
from repro.run.home.record import check, lay

_SHOWN = 5


@dataclass(frozen=True)
class Home:
    """A run among its bundle's: `folder`; whether the same run was there already."""

    bundle: Bundle
    folder: Path
    run: Brought
    cached: bool


def import_run(path: Path, word: str, start: Path, sink: Sink, *, unfinished: bool = False) -> Home:
    """Take the run in a folder or a tar into `runs/` of its bundle: `word`, else the one that it names.

    All of it is copied aside and checked there, then renamed; its files are never unpickled.

    Raises:
        import-run-unreadable: it is no run, or a name or a kind of file in it is not taken.
        import-run-foreign: it is a run of another bundle, or of none.
        import-run-altered: a file is not the one that its own record names.
        import-run-unfinished: an attempt has no end, and `unfinished` does not allow that.
        import-run-exists: the bundle has another run of that id.
    """
    source = open_source(path)
    with step(sink, "read") as shown:
        run = read(source)
        shown.detail = f"run {run.run_id}, {len(run.attempts)} attempts"
    bundle = _bundle(run, word, start)
    if run.unfinished and not unfinished:
        raise _unfinished(run)
    folder = bundle.path / "runs" / run.run_id
    with alone(folder), step(sink, "import") as shown:
        cached = _take(source, run, bundle, folder)
        shown.cached, shown.detail = cached, str(folder)
    _tell(run, sink)
    return Home(bundle, folder, run, cached)


def _bundle(run: Brought, word: str, start: Path) -> Bundle:
    if not word and not run.bundle_id:
        raise ReproError(
            "import-run-foreign",
            f"run `{run.run_id}` names no bundle",
            found="a command that was recorded without one",
            needs="a run of a bundle",
            done="nothing was written",
            tries=["repro compare RUN RUN      (takes folders of runs as they are)"],
        )
    return bundles.open_bundle(bundles.find_bundle(word or run.bundle_id[:12], start))


def _take(source: Source, run: Brought, bundle: Bundle, folder: Path) -> bool:
    """Have the run's folder; True when the same one was there."""
    with folder_aside(folder.parent, "run") as aside:
        lay(source, run, aside.path)
        check(aside.path, run)
        held_against(aside.path, run, _expected(bundle))
        if os.path.lexists(folder):
            if _same(aside.path, folder):
                return True
            raise _exists(run, folder)
        aside.become(folder)
    return False


def _expected(bundle: Bundle) -> Expected:
    return Expected(
        title=bundle.title,
        id=bundle.manifest.id,
        identity=msgspec.to_builtins(bundle.manifest.identity),
        protocol=msgspec.json.decode(read_regular(bundle.path / "protocol.json")),
        params=bundle.params.values,
        overrides=bundle.params.overrides,
    )


def _same(fresh: Path, there: Path) -> bool:
    """Whether two folders hold the same files; what the host wrote beside a run does not count."""
    mine, theirs = (
        {p.relative_to(top): p for p in top.rglob("*") if p.is_file() and p.name != "host.json"}
        for top in (fresh, there)
    )
    return mine.keys() == theirs.keys() and all(
        path.read_bytes() == theirs[name].read_bytes() for name, path in mine.items()
    )


def _tell(run: Brought, sink: Sink) -> None:
    if run.left_out:
        names = ", ".join(sorted(run.left_out)[:_SHOWN]) + (" …" if len(run.left_out) > _SHOWN else "")
        sink(Note("note", f"left out, as links or no part of a run: {names}"))
    if not run.result:
        sink(Note("warning", "the run has no result: no attempt of it ended well"))


def _unfinished(run: Brought) -> ReproError:
    return ReproError(
        "import-run-unfinished",
        f"run `{run.run_id}` has attempts without an end",
        found=[f"attempt-{number}: status `running`" for number in run.unfinished],
        needs="attempts that ended: killed ones are evidence only, and one that goes on is not whole yet",
        done="nothing was written",
        tries=[
            "repro import-run RUN BUNDLE --unfinished      (takes them as they are)",
            "fetch the run again later",
        ],
    )


def _exists(run: Brought, folder: Path) -> ReproError:
    return ReproError(
        "import-run-exists",
        f"the bundle has another run `{run.run_id}`",
        found=str(folder),
        needs="the same files, or no run of that id",
        done="it was not touched",
        tries=[f"repro compare {folder} RUN", f"mv {folder} {folder}.old"],
    )
