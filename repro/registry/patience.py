"""Which faults may pass by themselves, and how long to wait for that."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from requests import Response

TRIES = 5
LONGEST_WAIT = 60.0  # seconds
PASSING = (429, 500, 502, 503, 504)


def passes(problem: Exception) -> bool:
    """Whether a fault of the way may be gone in a moment."""
    from requests import exceptions as kinds

    if isinstance(problem, (kinds.SSLError, kinds.ProxyError)) or "NameResolution" in str(problem):
        return False
    passing = (kinds.ConnectionError, kinds.Timeout, kinds.ChunkedEncodingError)
    return isinstance(problem, passing) and "Connection refused" not in str(problem)


def wait_before(reply: "Response", attempt: int) -> float:
    """Seconds to wait after try number `attempt`, from 0 on: what is asked for, or longer each time."""
    asked = reply.headers.get("Retry-After", "")
    return float(asked) if asked.isdigit() else 2.0**attempt / 2
