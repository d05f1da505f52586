"""The ways of `repro run`: once, as the reference, beside one, several times, without the recorder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from repro.bundle import Bundle
from repro.cli import options as words
from repro.cli.answer import Answer
from repro.engine.contract import EngineName
from repro.errors import EXIT_INCONCLUSIVE, EXIT_NO, EXIT_YES
from repro.pipeline.run import How
from repro.run import Ended, RunOptions

LEAST_MEMBERS = 3  # divergence.md 3.2


@dataclass(frozen=True)
class Asked:
    """What the command line asks of a run."""

    engine: EngineName
    options: RunOptions
    sets: tuple[str, ...]
    out: Path | None
    attach: str
    unseeded: bool
    make_reference: bool
    members: int
    dense: str
    limit_gb: float
    against: str
    stop_on: str
    times: int
    seeds: str
    prove_neutral: bool

    @property
    def how(self) -> How:
        """How each run is made."""
        return How(self.sets, self.out, seeded=not self.unseeded)

    @property
    def way(self) -> str:
        """Which of the ways it is."""
        ways = {
            "--attach": bool(self.attach),
            "--make-reference": self.make_reference,
            "--against": bool(self.against),
            "--repeat": bool(self.times or self.seeds),
            "--prove-neutral": self.prove_neutral,
        }
        chosen = [name for name, wanted in ways.items() if wanted]
        if len(chosen) > 1:
            raise click.UsageError(f"{' and '.join(chosen)} are two things to do: one at a time")
        return "".join(chosen)

    def check(self) -> None:
        """Refuse words that do not go together."""
        if self.stop_on != "never" and self.way != "--against":
            raise click.UsageError("--stop-on needs --against, which says what to stop for")
        if self.way == "--make-reference" and (self.sets or self.out or self.unseeded):
            raise click.UsageError(
                "--make-reference runs the bundle as it is packed and keeps the result in it: "
                "it goes without --set, --out and --no-seed-checkpoint"
            )
        words.numbers(self.dense, "--dense")
        if self.members < LEAST_MEMBERS:
            raise click.UsageError(f"--members takes at least {LEAST_MEMBERS}: fewer show no envelope")
        if self.times < 0 or not self.limit_gb > 0:
            raise click.UsageError("--repeat and --reference-limit take numbers above 0")


def perform(bundle: Bundle, asked: Asked, answer: Answer) -> int:
    """Run the bundle in the way that was asked; the exit status."""
    return _WAYS[asked.way](bundle, asked, answer)


def _once(bundle: Bundle, asked: Asked, answer: Answer) -> int:
    from repro.pipeline.run import run

    ended = run(
        bundle,
        asked.engine,
        asked.options,
        answer.console.sink,
        asked.how,
    )
    _tell_run(ended, answer)
    return EXIT_YES


def _attached(bundle: Bundle, asked: Asked, answer: Answer) -> int:
    from repro.pipeline.run import attach

    _tell_run(attach(bundle, asked.attach, asked.options, answer.console.sink), answer)
    return EXIT_YES


def _tell_run(ended: Ended, answer: Answer) -> None:
    from repro import report
    from repro.pipeline.compare import side

    read = side(ended.folder)
    answer.give(
        "run", report.run_document(read.run, read.traces), lambda: report.run_text(read.run, read.traces)
    )


def _reference(bundle: Bundle, asked: Asked, answer: Answer) -> int:
    import msgspec

    from repro.pipeline.reference import Wish, make_reference

    wish = Wish(
        members=asked.members,
        dense=words.numbers(asked.dense, "--dense"),
        limit_bytes=int(asked.limit_gb * 1e9),
    )
    made = make_reference(bundle, asked.engine, asked.options, wish, answer.console.sink)
    record = made.record
    document = {"reference": {"path": str(made.places.folder), **msgspec.to_builtins(record)}}
    repeats = "repeats in every bit" if record.repeatable else "does not repeat in every bit on this machine"
    text = (
        f"reference of {bundle.title}: {record.steps} steps, {len(record.members)} noise members, "
        f"dense steps {', '.join(map(str, record.dense)) or 'none'}; it {repeats}\n"
        f"  {made.places.folder}\n\n"
        f"next: repro run {bundle.path} --against reference"
    )
    answer.give("run", document, text)
    return EXIT_YES


def _against(bundle: Bundle, asked: Asked, answer: Answer) -> int:
    from repro import compare as judges
    from repro import report
    from repro.pipeline.against import against

    judged = against(
        bundle,
        asked.engine,
        asked.options,
        asked.against,
        asked.stop_on,
        answer.console.sink,
        asked.how,
    )
    verdict, kept = judged.verdict, judged.kept
    document = {
        "run": {"id": judged.ended.record.run_id, "path": str(judged.ended.folder)},
        "status": judged.ended.record.status,
        "stopped": judged.stopped or None,
        "first_numerics": judged.first.numerics,
        "verdict": report.document(verdict),
        "kept": str(kept),
    }
    why = f"\nstopped: {judged.stopped}\n" if judged.stopped else ""
    answer.give(
        "run",
        document,
        lambda: f"{report.text(verdict, width=answer.width, colour=answer.colour)}{why}\nkept: {kept}",
    )
    return EXIT_NO if judged.stopped else judges.exit_status(verdict.verdict)


def _repeat(bundle: Bundle, asked: Asked, answer: Answer) -> int:
    from repro.pipeline.repeat import repeat, seeds_for

    given = [word.strip() for word in asked.seeds.split(",") if word.strip()]
    done = repeat(
        bundle,
        asked.engine,
        asked.options,
        seeds_for(bundle, asked.times, given),
        answer.console.sink,
        asked.how,
    )
    rows = [{"seed": row.seed, "path": str(row.folder), "cached": row.cached} for row in done]
    label = asked.options.label or "repeat"
    lines = [f"seed {row.seed:<6} {row.folder.name}{'  (was there)' if row.cached else ''}" for row in done]
    text = "\n".join([*lines, "", f"next: repro compare {label} OTHER      (as a group of {len(done)} runs)"])
    answer.give("run", {"label": label, "runs": rows}, text)
    return EXIT_YES


def _neutral(bundle: Bundle, asked: Asked, answer: Answer) -> int:
    import msgspec

    from repro.pipeline.neutral import prove_neutral

    folder, found = prove_neutral(bundle, asked.engine, asked.options, answer.console.sink, sets=asked.sets)
    lines = [f"{found.answer}: {found.why}"]
    for row in found.files:
        told = [f"differs in {', '.join(row.differ[:4])}"] if row.differ else []
        told += [f"{len(row.unrepeatable)} do not repeat without it either"] if row.unrepeatable else []
        lines.append(f"  {row.name:<32} {row.compared:>6} equal  {'; '.join(told)}".rstrip())
    answer.give(
        "run",
        {"neutral": {"path": str(folder), **msgspec.to_builtins(found)}},
        "\n".join([*lines, "", f"kept: {folder}"]),
    )
    return {"equal": EXIT_YES, "differs": EXIT_NO, "unknown": EXIT_INCONCLUSIVE}[found.answer]


_WAYS: dict[str, Callable[[Bundle, Asked, Answer], int]] = {
    "": _once,
    "--attach": _attached,
    "--make-reference": _reference,
    "--against": _against,
    "--repeat": _repeat,
    "--prove-neutral": _neutral,
}
