"""The word on top of a verdict, and the exit status it gives (architecture A6, A8)."""

from repro.errors import EXIT_INCOMPARABLE, EXIT_INCONCLUSIVE, EXIT_NO, EXIT_YES

# Strongest first: the first word that holds stands on top. After more than rounding the second question
# decides (divergence.md 4), also when its answer is open; `beyond-rounding` is left where it was not asked.
EXIT_STATUS = {
    "incomparable": EXIT_INCOMPARABLE,
    "incomplete": EXIT_INCOMPARABLE,
    "identical": EXIT_YES,
    "diverged": EXIT_NO,
    "within-rounding": EXIT_YES,
    "equivalent": EXIT_YES,
    "different-but-equivalent": EXIT_YES,
    "inconclusive": EXIT_INCONCLUSIVE,
    "beyond-rounding": EXIT_NO,
    "untested": EXIT_INCONCLUSIVE,
}


def strongest(words: set[str]) -> str:
    """The strongest of the words that hold; `untested` when none does."""
    return next((word for word in EXIT_STATUS if word in words), "untested")


def exit_status(word: str) -> int:
    """Exit status of a process that ends with this word on top."""
    return EXIT_STATUS[word]
