"""What one way of judging the first question says."""

from dataclasses import dataclass, replace

IDENTICAL, WITHIN, BEYOND, UNTESTED = "identical", "within-rounding", "beyond-rounding", "untested"


@dataclass(frozen=True)
class Answer:
    """A word of NUMERICS, what it rests on (BASES), and the sentences that say why.

    Attributes:
        near: sizes leave it open: above what rounding explains in usual sums, below what excludes it.
    """

    word: str
    basis: str = "none"
    said: tuple[str, ...] = ()
    near: bool = False

    def also(self, *said: str) -> "Answer":
        """The same with more sentences."""
        return replace(self, said=(*self.said, *said))

    def by_cause(self, code: str, *, moves_last_bits: bool) -> "Answer":
        """The answer once the cause is known: one that moves last bits explains sizes near to rounding's."""
        if not (self.near and moves_last_bits):
            return self
        said = f"all that differs is {code}, which moves last bits only; sums of many terms explain the size"
        return replace(self, word=WITHIN, said=(*self.said, said), near=False)
