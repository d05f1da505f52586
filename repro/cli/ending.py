"""The one place that turns what happened into an exit status and a last word."""

import errno
import os
import sys
import time
import traceback
from pathlib import Path

import click

from repro import __version__, paths
from repro.errors import EXIT_INTERRUPTED, EXIT_USAGE, ReproError
from repro.files import raise_if_full, refused


def end(cli: click.Command, argv: list[str]) -> int:
    """Run `cli` and return the exit status; errors are shown as text, or as JSON with `--json`."""
    try:
        status = cli.main(argv, prog_name="repro", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as wrong:
        if "--json" in _own_words(argv):
            return _show(_usage(wrong), argv)
        wrong.show()
        return EXIT_USAGE
    except (KeyboardInterrupt, click.Abort):
        print(
            "\nstopped; what was begun was removed or is marked as not finished, the rest is as it was",
            file=sys.stderr,
        )
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return 0
    except ReproError as error:
        return _show(error, argv)
    except OSError as problem:
        return _show(_of_system(problem) or _bug(problem, argv), argv)
    except UnicodeEncodeError as problem:
        return _show(_no_text(argv) or _bug(problem, argv), argv)
    except Exception as problem:
        return _show(_bug(problem, argv), argv)


def _show(error: ReproError, argv: list[str]) -> int:
    _mask(error)
    try:
        _print(error, argv)
    except OSError:  # the terminal is gone, or the disk behind it is full: the exit status must say it alone
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    return error.exit_status


def _mask(error: ReproError) -> None:
    """Take logins out of all that an error says: it may quote what was typed, or another program."""
    from repro.redact import logins

    error.message, error.why, error.done = map(logins, (error.message, error.why, error.done))
    error.found, error.needs, error.tries = (
        tuple(map(logins, lines)) for lines in (error.found, error.needs, error.tries)
    )


def _print(error: ReproError, argv: list[str]) -> None:
    words = _own_words(argv)
    if "--traceback" in words:
        from repro import redact

        print(redact.text("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    if "--json" in words:
        from repro.cli.answer import print_json

        print_json(
            {
                "schema": 1,
                "command": next((w for w in words if not w.startswith("-")), ""),
                **error.about,
                "error": error.document(),
            }
        )
    else:
        from repro.console import Console

        Console().error(error)


def _own_words(argv: list[str]) -> list[str]:
    """The words that are this tool's; what follows `--` is another program's command."""
    return argv[: argv.index("--")] if "--" in argv else argv


def _usage(wrong: click.ClickException) -> ReproError:
    place = wrong.ctx.command_path if isinstance(wrong, click.UsageError) and wrong.ctx else "repro"
    return ReproError("usage", wrong.format_message(), tries=f"{place} --help")


def _of_system(problem: OSError) -> ReproError | None:
    """The error for what the system refused outside the places that have words of their own for it."""
    if not problem.filename:
        return _SPEECHLESS.get(problem.errno or 0)
    try:
        raise_if_full(problem, Path(os.fsdecode(problem.filename)))
    except ReproError as full:
        return full
    return refused(problem)


# What the system says without a name: of the standard streams, and of the current folder.
_SPEECHLESS = {
    errno.ENOSPC: ReproError(
        "disk-full",
        "no space is left where the answer goes",
        found="standard output or standard error leads to a full disk",
        done="what was asked was done; only the answer was lost",
        tries=["repro show", "df -h"],
    ),
    errno.ENOENT: ReproError(
        "file-refused",
        "the current folder is not there any more",
        found="it was removed or moved while this shell stood in it",
        needs="a folder that is there",
        done="nothing was done",
        tries=["cd .. && cd -", "pwd -P"],
    ),
}


def _no_text(argv: list[str]) -> ReproError | None:
    """The error for a word of the command line that is no text in this locale; None when all are."""
    odd = [word for word in argv if not _is_text(word)]
    if not odd:
        return None
    return ReproError(
        "usage",
        "a word of the command line is not text in UTF-8",
        found=[word.encode("utf-8", "backslashreplace").decode() for word in odd],
        needs="UTF-8, in a locale that says so",
        tries=["export LC_ALL=C.UTF-8"],
    )


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bug(problem: Exception, argv: list[str]) -> ReproError:
    from repro import redact

    log = paths.cache() / "bugs" / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    text = f"repro {__version__}\n{argv!r}\n\n{''.join(traceback.format_exception(problem))}"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(redact.text(text))
        where: str | Path = log
    except OSError:
        where = "nowhere: the cache folder cannot be written"
    error = ReproError(
        "bug",
        "the tool itself failed; this is a bug",
        found=f"{type(problem).__name__}: {redact.text(str(problem))}",
        done=f"the whole traceback lies in `{where}`",
        tries=["run it again with --traceback", "report it with that file"],
    )
    error.__cause__ = problem
    return error
