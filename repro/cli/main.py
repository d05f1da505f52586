"""The `repro` command: a table of commands, loaded when asked for, and one place that ends the process."""

import importlib
import io
import os
import signal
import sys
from typing import Any

import click

from repro import __version__
from repro.cli.ending import end

# name: (module, section, one line of help); the module holds `command`
COMMANDS = {
    "init": ("init", "Package", "Write repro.toml for a project, saying what was guessed from which file."),
    "snapshot": ("snapshot", "Package", "Show exactly what code, params and eval set would be packed."),
    "lock": (
        "lock",
        "Package",
        "Resolve the dependencies for the target's Python, with hashes and a proof install.",
    ),
    "check": ("check", "Package", "Say whether the locked stack runs on a GPU, without having one."),
    "build": (
        "build",
        "Package",
        "Snapshot, lock, image, bundle: everything that can be proved before renting.",
    ),
    "base": ("base", "Package", "Make a base image from Debian packages where no registry answers."),
    "sign": ("sign", "Package", "Sign a bundle, or make a key for it."),
    "export": ("export", "Move", "Write a bundle with its image into one file."),
    "import": ("import_", "Move", "Take a bundle out of such a file, and load its image."),
    "push": ("push", "Move", "Push a bundle and its image into a registry."),
    "pull": ("pull", "Move", "Fetch a bundle from a registry, and load its image."),
    "import-run": ("import_run", "Move", "Bring home a run that was made elsewhere, and check it."),
    "run": ("run", "Run", "Run a bundle under the recorder: gates, training loop, record."),
    "record": ("record", "Run", "Run any command on this machine under the recorder."),
    "compare": ("compare", "Judge", "Say how two runs diverge: where, how far, under which conditions."),
    "replay": (
        "replay",
        "Judge",
        "Run single steps here from the reference's states, and compare module by module.",
    ),
    "show": ("show", "Look", "Show a bundle or a run; without a word, list what is here."),
    "verify": ("verify", "Look", "Hold every file of a bundle against its manifest."),
    "image": ("image", "Look", "Hold the files of an image, however it was built, against its bundle."),
    "ls": ("ls", "Look", "List what takes space: bundles, images, the cache; with sizes."),
    "prune": ("prune", "Look", "Take away images and cached files that can be made again; asks first."),
    "gpus": ("gpus", "Look", "List the cards: compute capability, memory, names that are understood."),
    "doctor": ("doctor", "Look", "Look at this machine: engine, base image, index, cards, disk."),
    "explain": ("explain", "Look", "Explain the code of an error or of a finding."),
    "completion": ("completion", "Look", "Print the shell completion script."),
}


class Commands(click.Group):
    """A group that imports a command's module only when that command is meant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"repro.cli.{COMMANDS[cmd_name][0]}").command
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Offer the nearest names for a word that is no command."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=2)
            hint = f" Did you mean `{'` or `'.join(near)}`?" if near else ""
            ctx.fail(f"there is no command `{args[0]}`.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List commands by section without importing them."""
        for section in dict.fromkeys(row[1] for row in COMMANDS.values()):
            with formatter.section(section):
                formatter.write_dl([(name, row[2]) for name, row in COMMANDS.items() if row[1] == section])


@click.command(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "-V", "--version", prog_name="repro", message="%(prog)s %(version)s")
def cli() -> None:
    """Package a PyTorch project before renting a GPU, run it anywhere, judge how runs diverge.

    \b
      repro init                         guess the settings of the project in this folder
      repro build                        make a bundle of it
      repro run --label first            run the newest bundle
      repro compare first second         compare two runs by their labels

    Exit status: 0 yes, 1 no (diverged, damaged), 2 usage, 3 surroundings, 4 the program failed,
    5 unreadable, 6 inconclusive, 7 incomparable or incomplete.
    """  # noqa: D301 - a real backspace: it keeps the lines that follow as they are


def main() -> None:
    """Entry point of the `repro` script."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Like Ctrl-C, so that a container never trains on unseen. `nohup` has SIGHUP ignored: that stays.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    _complete()
    sys.exit(end(cli, sys.argv[1:]))


def _complete() -> None:
    """Give the process what its caller left out: the three standard streams, and a home."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file that is opened would get its number, and our words with it
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="backslashreplace"
            )  # a name that the locale cannot say is no reason to fail
    if os.path.expanduser("~") == "~":  # noqa: PTH111 - `Path.home` raises: this user has no entry and no HOME
        os.environ["HOME"] = "/nonexistent"  # as Debian names the home of users without one
