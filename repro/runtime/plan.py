"""What is asked of a run beside its recording, from the command line to the program's environment."""

import argparse
import json
import os

from .files import sha256_file
from .inside.state.tensorfile import TensorFile, TensorFileError

VARIABLE = "REPRO_RUNTIME_PLAN"


class PlanError(Exception):
    """A state that cannot be started from; the run is refused, exit status 3."""


def numbers(text):
    """The step numbers in `0,1,8`."""
    found = sorted({int(word) for word in text.split(",")})
    if found[0] < 0:
        raise argparse.ArgumentTypeError("`%s`: steps are not negative" % text)
    return found


def dense_numbers(text):
    """The numbers of steps, from 1, in `1,2,8`."""
    found = numbers(text)
    if found[0] < 1:
        raise argparse.ArgumentTypeError("`%s`: the first step is 1" % text)
    return found


def add_options(parser):
    """Options of both commands, see docs/formats.md."""
    rows = (
        ("--seed-state", str, "FILE", "start from the weights and buffers in FILE, made by --save-state"),
        ("--save-state", numbers, "N[,N...]", "keep the state after these steps in states/; 0 is before any"),
        ("--perturb", int, "M", "then move every weight by at most one unit in the last place, as member M"),
        ("--stop-after", int, "N", "end the program after N optimizer steps"),
        ("--dense", dense_numbers, "N[,N...]", "record these steps module by module"),
        ("--sync", str, "DIR", "before a dense step N put DIR/step-(N-1).safetensors in place"),
    )  # fmt: skip
    for name, kind, word, words in rows:
        parser.add_argument(name, type=kind, metavar=word, help=words)
    parser.add_argument(
        "--unrecorded",
        action="store_true",
        help="run the program without the recorder, to compare its results",
    )


class Plan:
    """What was asked; `partial` when such a run is no whole run."""

    def __init__(self, options):
        self.seed = os.path.abspath(options.seed_state) if options.seed_state else ""
        self.save = options.save_state or []
        self.perturb = options.perturb
        self.stop = options.stop_after or 0
        self.dense = options.dense or []
        self.sync = os.path.abspath(options.sync) if options.sync else ""
        self.digest = ""
        self.recorded = not options.unrecorded

    @property
    def asked(self):
        """Whether anything was asked."""
        return bool(self.seed or self.save or self.partial or self.sync)

    @property
    def partial(self):
        """Whether the run is made for its first steps or its single steps, and never counts as whole."""
        return bool(self.stop or self.dense or self.perturb is not None)

    def check(self):
        """Look at the files that are named; PlanError when a run could not start from them."""
        if self.sync and not os.path.isdir(self.sync):
            raise PlanError("`%s` is no folder of states" % self.sync)
        if self.seed:
            try:
                TensorFile(self.seed)
                self.digest = sha256_file(self.seed)
            except (OSError, TensorFileError) as problem:
                raise PlanError("the seed state cannot be read: %s" % problem) from None

    def text(self):
        """The value of REPRO_RUNTIME_PLAN."""
        return json.dumps(
            {
                "seed": self.seed, "digest": self.digest, "save": self.save, "perturb": self.perturb,
                "stop": self.stop, "dense": self.dense, "sync": self.sync,
            }
        )  # fmt: skip

    def told(self):
        """The field `plan` of `run.json`."""
        return {
            "seed": self.digest, "perturb": self.perturb, "stop": self.stop, "dense": self.dense,
            "sync": bool(self.sync),
        }  # fmt: skip
