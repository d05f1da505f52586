"""Runs a program with and without the recorder and holds what it wrote side by side."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from repro.bundle import Bundle
from repro.compare.neutral import Neutrality, beside
from repro.engine.contract import EngineName
from repro.errors import ReproError
from repro.events import Sink, step
from repro.files import write_whole
from repro.model import canonical
from repro.model.run import Attempt
from repro.pipeline.ready import Ready, ready
from repro.run import Plan, RunOptions
from repro.trace.outputs import outputs

RECORD = "neutral.json"
_NOW = "now"


def prove_neutral(
    bundle: Bundle, engine: EngineName, options: RunOptions, sink: Sink, *, sets: Sequence[str] = ()
) -> tuple[Path, Neutrality]:
    """Folder of the runs, and whether what the program wrote is the same with and without the recorder.

    Both start as the program does by itself, in a folder of one name, under the same conditions. Where they
    differ, a second run without the recorder tells what does not repeat in any case.

    Raises:
        what `repro.pipeline.run.run` raises, except that a failing program is compared as well.
    """
    at = ready(bundle, engine, sink, options.host)
    run_id = at.new_id(replace(options, label=options.label or "neutral"))
    pair = _Pair(at, bundle.path / "runs" / run_id, run_id, options, sets, sink)
    recorded, plain = pair.run("recorded", recorded=True), pair.run("unrecorded", recorded=False)
    statuses = (recorded.exit_code, plain.exit_code)
    found = beside(pair.wrote("recorded"), pair.wrote("unrecorded"), statuses=statuses)
    if found.answer == "differs":
        again = pair.run("unrecorded-again", recorded=False)
        repeats = again.exit_code == plain.exit_code
        found = beside(
            pair.wrote("recorded"),
            pair.wrote("unrecorded"),
            pair.wrote("unrecorded-again"),
            statuses=statuses if repeats else (None, None),
        )
    write_whole(pair.folder / RECORD, canonical.pretty({"schema": 1, **msgspec.to_builtins(found)}))
    return pair.folder, found


class _Pair:
    def __init__(
        self, at: Ready, folder: Path, run_id: str, options: RunOptions, sets: Sequence[str], sink: Sink
    ) -> None:
        self._at, self._run_id, self._options, self._sets = at, run_id, options, sets
        self._sink = sink
        self.folder = folder

    def run(self, name: str, *, recorded: bool) -> Attempt:
        """One run; while it lasts its folder has the same name as that of every other one."""
        now = self.folder / _NOW
        options = replace(self._options, plan=Plan(recorded=recorded))
        with step(self._sink, name) as shown:
            try:
                self._at.perform(now, self._run_id, options, self._sink, sets=self._sets)
            except ReproError as problem:
                if problem.code != "run-program-failed":
                    raise
            now.rename(self.folder / name)
            record = msgspec.json.decode(
                (self.folder / name / "attempt-1" / "run.json").read_bytes(), type=Attempt
            )
            shown.detail = f"exit status {record.exit_code}"
        return record

    def wrote(self, name: str) -> dict[str, dict[str, str]]:
        """What the program left in that run."""
        return outputs(self.folder / name / "attempt-1")
