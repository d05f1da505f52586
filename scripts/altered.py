"""Run a training script, itself unchanged, with one thing of torch altered.

    python altered.py WHAT SCRIPT [ARGUMENT ...]

WHAT is a row of ALTERATIONS. They stand for what another machine or library may do to a computation.
"""

import runpy
import sys
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own short name for it

DROPPED = 13  # of float32's 23 bits of fraction TF32 keeps 10


def tf32(tensor):
    """The nearest numbers with TF32's 10 bits of fraction; gradients pass through as if nothing was done."""
    bits = tensor.detach().contiguous().view(torch.int32)
    nearest = (bits + (1 << DROPPED - 1)) & -(1 << DROPPED)
    # The difference is exact, and so is the sum: what comes out are the rounded numbers.
    return tensor + (nearest.view(torch.float32) - tensor.detach())


def tf32_inputs():
    """Linear layers and convolutions read inputs and weights as a card with TF32 switched on does."""
    for name in ("linear", "conv2d"):
        setattr(F, name, _rounded(getattr(F, name)))


def _rounded(function):
    def called(inputs, weight, *more, **named):
        return function(tf32(inputs), tf32(weight), *more, **named)

    return called


def no_onednn():
    """Convolutions and products go to what torch has beside oneDNN."""
    torch.backends.mkldnn.set_flags(False)


def norm_eps():
    """Normalising layers get an eps that is larger by one part in a thousand."""
    for layer in (torch.nn.BatchNorm2d, torch.nn.LayerNorm):
        layer.__init__ = _larger_eps(layer.__init__)


def _larger_eps(init):
    def made(self, *args, **named):
        init(self, *args, **named)
        self.eps *= 1.001

    return made


ALTERATIONS = {"tf32-inputs": tf32_inputs, "no-onednn": no_onednn, "norm-eps": norm_eps}


def main():
    """Alter, then run the script as if it had been started by itself."""
    what, script = sys.argv[1:3]
    ALTERATIONS[what]()
    sys.argv = sys.argv[2:]
    sys.path[0] = str(Path(script).resolve().parent)
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
