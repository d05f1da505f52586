"""The one place that turns what happened into an exit status and a last word."""

import os
import sys
import time
import traceback
from pathlib import Path

import click

from repro import __version__
from repro.errors import EXIT_INTERRUPTED, EXIT_USAGE, ReproError


def end(cli: click.Command, argv: list[str]) -> int:
    """Run `cli` and return the exit status; errors are shown as text, or as JSON with `--json`."""
    try:
        status = cli.main(argv, prog_name="repro", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as wrong:
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
    except Exception as problem:
        return _show(_bug(problem, argv), argv)


def _show(error: ReproError, argv: list[str]) -> int:
    words = argv[: argv.index("--")] if "--" in argv else argv
    if "--traceback" in words:
        traceback.print_exception(error)
    if "--json" in words:
        from repro.cli.answer import print_json

        print_json(
            {
                "schema": 1,
                "command": next((w for w in words if not w.startswith("-")), ""),
                "error": error.document(),
            }
        )
    else:
        from repro.console import Console

        Console().error(error)
    return error.exit_status


def _bug(problem: Exception, argv: list[str]) -> ReproError:
    from repro import paths, redact

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
