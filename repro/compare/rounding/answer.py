"""What one way of judging the first question says."""

from dataclasses import dataclass

IDENTICAL, WITHIN, BEYOND, UNTESTED = "identical", "within-rounding", "beyond-rounding", "untested"


@dataclass(frozen=True)
class Answer:
    """A word of NUMERICS, what it rests on (BASES), and the sentences that say why."""

    word: str
    basis: str = "none"
    said: tuple[str, ...] = ()

    def also(self, *said: str) -> "Answer":
        """The same with more sentences."""
        return Answer(self.word, self.basis, (*self.said, *said))
