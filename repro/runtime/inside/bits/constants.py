"""The constants of fingerprints and sketches, frozen in docs/formats.md."""

import array
import functools
import random
import sys

PERIOD = 32768
SEED = 20240229
# Bytes, lowest first, of what is kept of a first word, of a second one, and of the bit that is always set.
_LANES = ([255] * 4 + [0] * 4, [0] * 4 + [255] * 3 + [63], [1] + [0] * 7)


@functools.lru_cache(maxsize=None)
def constants():
    """The 32 768 odd constants: `getrandbits(62) | 1` of PERIOD calls, of which each takes two words."""
    words = random.Random(SEED).getrandbits(64 * PERIOD)  # noqa: S311 (a table, no secret)
    # All at once on one large number: of the second word the call drops the lowest two bits.
    low, high, ones = (int.from_bytes(bytes(lane) * PERIOD, "little") for lane in _LANES)
    table = array.array("Q", ((words & low) | (words >> 2 & high) | ones).to_bytes(8 * PERIOD, "little"))
    if sys.byteorder == "big":
        table.byteswap()
    return table.tolist()
