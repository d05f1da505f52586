"""What exactly is packed: the code as git holds it, the parameters, the evaluation set, each by digest."""

from repro.snapshot.changes import change_params
from repro.snapshot.code import take_code
from repro.snapshot.evalset import take_eval
from repro.snapshot.params import take_params

__all__ = ["change_params", "take_code", "take_eval", "take_params"]
