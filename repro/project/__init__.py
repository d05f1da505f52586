"""What the user has and wants: settings read or guessed, checked, and written down by `init`."""

from repro.project.init import Guess, guesses, write
from repro.project.load import load
from repro.project.protocol import check_names

__all__ = ["Guess", "check_names", "guesses", "load", "write"]
