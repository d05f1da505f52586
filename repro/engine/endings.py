"""How a container is stopped, let go of and removed, whatever else has gone wrong."""

import contextlib
import threading
from typing import TYPE_CHECKING

from repro.engine.pump import Pump

if TYPE_CHECKING:
    from docker.models.containers import Container
    from docker.types import CancellableStream

_GRACE_SECONDS = 30


def stop_and_drain(container: "Container", pump: Pump) -> None:
    """Tell the container to stop and hand on what it says meanwhile; a second Ctrl-C kills it."""
    stopped = stop_aside(container)
    try:
        pump.drain_until(stopped)
    except KeyboardInterrupt:
        return


def stop_aside(container: "Container") -> threading.Event:
    """Tell the container to stop without waiting for it; the event is set once it has stopped."""
    stopped = threading.Event()

    def stop() -> None:
        try:
            container.stop(timeout=_GRACE_SECONDS)
        except Exception:  # noqa: S110 - it may have ended by itself; removal follows by force
            pass
        finally:
            stopped.set()

    threading.Thread(target=stop, daemon=True).start()
    return stopped


def close(stream: "CancellableStream[bytes]") -> None:
    """Let go of the connection that carried the output."""
    # The container's end has closed it already, most often.
    with contextlib.suppress(OSError):
        stream.close()
    # The SDK's `close` leaves the response that holds the socket open.
    if response := getattr(stream, "_response", None):
        response.close()


def remove(container: "Container") -> None:
    """Remove a container, running or not; one that cannot be removed never hides the real error."""
    from docker.errors import APIError, NotFound
    from requests.exceptions import RequestException

    try:
        container.remove(force=True, v=True)
    except (NotFound, APIError, RequestException):
        # Gone already, or the engine is: nothing more can be done, and the real error must come through.
        return
