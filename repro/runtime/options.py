"""The command line: `run` for a bundle, `record` for any command, `setup` for a bundle's environment."""

import argparse
import os

from .plan import add_options

IMAGE_BUNDLE, IMAGE_OUT = "/opt/repro/bundle", "/out"
ENV_HELP = "folder of the bundle's environment (default: beside the bundle, NAME.env)"
SNAPSHOT_EVERY = 64

ABOUT = """\
Runs a training program under a recorder and leaves a record of the run in a folder.

Inside an image made by `repro build` nothing needs to be said:

  docker run --gpus all -v "$PWD/out:/out" IMAGE
  docker run -v "$PWD/out:/out" IMAGE run --set lr=0.01 --label small-lr

It checks the evaluation files, runs the program that was packed, unchanged, and writes below /out a folder
attempt-N with the program's output (log.txt, out/), one line a training step (trace-0.jsonl), the
conditions of the run (conditions.json), metrics and peak memory. An earlier attempt is never overwritten.

Without Docker and with nothing installed but Python, in an unpacked bundle's folder:

  python3 -m repro_runtime run

That makes an environment of the bundle's own wheels beside it, without any network, and uses it again
the next time; `setup` makes it alone. The run's folder is then runs/RUN-ID in the bundle. Otherwise:

  python3 -m repro_runtime run --python ENV/bin/python --out DIR

Any other command:

  python3 -m repro_runtime record --out DIR -- python train.py --lr 0.1
"""

ENDING = """\
Exit status: that of the program; 2 bad usage; 3 a check before the loop refused, the environment cannot be
made, or the output folder cannot be written; 130 interrupted. The program's own lines go to standard
output, ours to standard error.
"""


class UsageError(Exception):
    """A command line that cannot be followed; exit status 2."""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(message)


def split_command(argv):
    """Words before and after the first `--`; the second is None when there is none."""
    if "--" not in argv:
        return argv, None
    at = argv.index("--")
    return argv[:at], argv[at + 1 :]


def key_value(text):
    """The pair in KEY=VALUE."""
    key, mark, value = text.partition("=")
    if not mark or not key:
        raise argparse.ArgumentTypeError("`%s` is not of the form KEY=VALUE" % text)
    return key, value


def _positive(text):
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


_positive.__name__ = "positive number"


def _shared(parser):
    parser.add_argument("--run-id", default="", metavar="ID", help="name of the run in its record")
    parser.add_argument("--label", default="", metavar="TEXT", help="a word of yours, kept in the record")
    parser.add_argument("--engine", default="", metavar="NAME", help="what started this, kept in the record")
    parser.add_argument(
        "--env-note", action="append", default=[], type=key_value, metavar="KEY=VALUE",
        help="a fact about the surroundings, kept in the record",
    )  # fmt: skip
    parser.add_argument(
        "--snapshot-every", type=_positive, default=None, metavar="N",
        help="fingerprint all weights every N optimizer steps, besides steps 0 to 10, powers of two,"
        " checkpoints and the end (default %d, or more rarely where that takes too long)" % SNAPSHOT_EVERY,
    )  # fmt: skip
    add_options(parser)


def _run_parser(commands):
    run = commands.add_parser("run", help="run the program of a bundle", epilog=ENDING)
    default = IMAGE_BUNDLE if os.path.isdir(IMAGE_BUNDLE) else "."
    run.add_argument(
        "--bundle", default=default, metavar="DIR", help="the bundle (default here: %s)" % default
    )
    run.add_argument(
        "--out", default="", metavar="DIR",
        help="folder of the run (default: %s in an image, runs/RUN-ID in an unpacked bundle)" % IMAGE_OUT,
    )  # fmt: skip
    run.add_argument(
        "--set", action="append", default=[], type=key_value, metavar="KEY=VALUE", dest="overrides",
        help="change a parameter for this run; dots reach into tables: --set optimizer.lr=0.1",
    )  # fmt: skip
    run.add_argument(
        "--params", default="", metavar="DIR", help="use the params.json and params/ of DIR, not the bundle's"
    )
    run.add_argument(
        "--mount", action="append", default=[], type=key_value, metavar="NAME=PATH",
        help="make PATH appear as NAME in the program's working folder",
    )  # fmt: skip
    run.add_argument(
        "--python", default="", metavar="FILE",
        help="interpreter that `python` in the command means (default: that of the bundle's environment)",
    )  # fmt: skip
    run.add_argument("--env", default="", metavar="DIR", help=ENV_HELP)
    run.add_argument(
        "--gpus", default="", metavar="all|IDS",
        help="GPUs that must be visible, or nothing is run: all, or indices and UUIDs with commas",
    )  # fmt: skip
    run.add_argument("--gpu-count", type=_positive, default=0, metavar="N", help="how many `all` stands for")
    _shared(run)


def _setup_parser(commands):
    made = commands.add_parser("setup", help="make the environment of an unpacked bundle, and run nothing")
    made.add_argument("--bundle", default=".", metavar="DIR", help="the bundle (default: this folder)")
    made.add_argument("--env", default="", metavar="DIR", help=ENV_HELP)
    made.add_argument(
        "--python", default="", metavar="FILE", help="interpreter to make it of (default: one that is found)"
    )


def _record_parser(commands):
    record = commands.add_parser("record", help="run any command here, under the recorder", epilog=ENDING)
    record.add_argument("--out", required=True, metavar="DIR", help="folder of the run")
    record.add_argument(
        "--params", default="", metavar="FILE", help="JSON file whose values the record should keep"
    )
    _shared(record)


def parse(argv):
    """Options and the command after `--` (None when there is none); raises UsageError."""
    words, command = split_command(argv)
    parser = _Parser(
        prog="repro_runtime",
        description=ABOUT,
        epilog=ENDING,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="verb", metavar="COMMAND")
    _run_parser(commands)
    _record_parser(commands)
    _setup_parser(commands)
    options = parser.parse_args(words or ["--help"])
    if options.verb is None:
        raise UsageError("no command given: `run`, `record` or `setup`")
    if options.verb == "record" and not command:
        raise UsageError(
            "nothing to record: put the command after `--`, as in  record --out DIR -- python train.py"
        )
    return options, command
