"""A bundle on disk: put together, found by name, opened, verified."""

from repro.bundle.assemble import assemble, identity_of
from repro.bundle.find import find_beside, find_bundle, find_group, find_run, find_runs, known
from repro.bundle.read import Bundle, open_bundle
from repro.bundle.reference import (
    Places,
    Reference,
    bundle_around,
    keep_seed,
    reference_of,
    seed_of,
    seed_record,
)
from repro.bundle.runtime import lay_runtime
from repro.bundle.thin import left_out, need_wheels
from repro.bundle.verify import verify

__all__ = [
    "Bundle",
    "Places",
    "Reference",
    "assemble",
    "bundle_around",
    "find_beside",
    "find_bundle",
    "find_group",
    "find_run",
    "find_runs",
    "identity_of",
    "keep_seed",
    "known",
    "lay_runtime",
    "left_out",
    "need_wheels",
    "open_bundle",
    "reference_of",
    "seed_of",
    "seed_record",
    "verify",
]
