"""What the words of a verdict mean, in a line each, and which tone they have."""

MEANING = {
    "incomparable": "the runs did not follow the same rules",
    "incomplete": "a run did not finish; compared as far as it goes",
    "identical": "equal in every bit that both runs recorded",
    "within-rounding": "the same computation up to rounding",
    "equivalent": "the same result in the end",
    "different-but-equivalent": "a real difference, too small to matter",
    "diverged": "the results are not the same",
    "beyond-rounding": "more than rounding separates the runs",
    "inconclusive": "the runs differ; what that means is open",
    "untested": "nothing was compared that could tell",
}

BASIS = {
    "bits": "equal bits",
    "members": "noise members",
    "replay": "single steps replayed from one stored state",
    "bound": "the bound that is known for rounding before any run",
    "none": "no noise members, no replay",
}

_GOOD = (
    "identical",
    "within-rounding",
    "equivalent",
    "different-but-equivalent",
    "ok",
    "passed",
    "equal",
    "rounding",
)
_BAD = ("diverged", "beyond-rounding", "failed", "refused", "high", "must-equal", "precision", "defect")


def tone(word: str) -> str:
    """`good`, `bad` or `open`: how a word is coloured."""
    return "good" if word in _GOOD else "bad" if word in _BAD else "open"
