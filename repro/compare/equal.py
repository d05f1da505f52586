"""Equality of values that came out of JSON: by type and bits, so that nothing unequal passes for equal."""

import math
from typing import Any


def same_value(a: Any, b: Any) -> bool:
    """Whether two values are equal: NaN equals NaN; 1, 1.0 and true are three different values."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a.hex() == b.hex() or (math.isnan(a) and math.isnan(b))
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    return bool(a == b)
