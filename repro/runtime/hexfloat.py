"""Numbers as text that keeps every bit: `float.hex()` for floats, 16 hex digits for 64-bit sums."""

MASK = (1 << 64) - 1


def hexfloat(value):
    """Exact text of a float: `0x1.8p+1`, `nan`, `inf`, `-inf`."""
    return float(value).hex()


def unhex(text):
    """The float that `hexfloat` wrote."""
    return float.fromhex(text)


def hex16(value):
    """16 hex digits of an integer modulo 2^64, negative ones included."""
    return "%016x" % (value & MASK)
