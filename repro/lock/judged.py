"""Requirements while the rules about names go over them: what is kept, left out and added."""

from repro.lock.pipfile import Gathered
from repro.lock.requests import Hint, Requirement


class Judged:
    """Requirements after the name rules, with what they added and took away."""

    def __init__(self, got: Gathered, python: str) -> None:
        self.got = got
        self.python = python
        self.hints: list[Hint] = []
        self.kept: list[Requirement] = []
        self.left_out: dict[str, str] = {}
        self.system: list[str] = []
        self.old_metadata = False
