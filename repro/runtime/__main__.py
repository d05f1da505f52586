"""`python -m repro_runtime run|record|setup`: see `--help`."""

import importlib
import sys

from .environment import SetupError
from .options import UsageError, parse
from .supervise import OutputError, record, run, setup

VERBS = {"run": run, "record": record, "setup": setup}
# What our own child processes do with the program's torch (see child.py).
CHILDREN = {"_weights": ".weights", "_devices": ".devices"}


def main(argv):
    """Exit status of a command line."""
    if argv and argv[0] in CHILDREN:
        return importlib.import_module(CHILDREN[argv[0]], __package__).answer(argv[1:])
    try:
        options, command = parse(argv)
        return VERBS[options.verb](options, command)
    except UsageError as problem:
        sys.stderr.write("repro: %s\nrepro: try  python -m repro_runtime --help\n" % problem)
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("repro: interrupted\n")
        return 130
    except (OutputError, SetupError) as problem:
        sys.stderr.write("repro: %s\n" % problem)
        return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
