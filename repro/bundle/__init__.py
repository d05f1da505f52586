"""A bundle on disk: put together, found by name, opened, verified."""

from repro.bundle.assemble import assemble, identity_of
from repro.bundle.find import find_bundle, find_run, known
from repro.bundle.read import Bundle, open_bundle
from repro.bundle.runtime import lay_runtime
from repro.bundle.verify import verify

__all__ = [
    "Bundle",
    "assemble",
    "find_bundle",
    "find_run",
    "identity_of",
    "known",
    "lay_runtime",
    "open_bundle",
    "verify",
]
