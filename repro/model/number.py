"""Floats across file borders: `float.hex()` text, exact, and able to hold NaN and infinity."""


def to_text(value: float) -> str:
    """Exact text of a float: `0x1.8p+1`, `nan`, `inf`, `-inf`."""
    return float(value).hex()


def from_text(text: str) -> float:
    """The float that `to_text` wrote.

    Raises:
        ValueError: the text is no such number.
    """
    return float.fromhex(text)
