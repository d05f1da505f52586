"""Starts a bundle, watches it, and leaves the record behind."""

from repro.run.away import away
from repro.run.container import container_job
from repro.run.environment import environment
from repro.run.inplace import inplace_job
from repro.run.options import RunOptions, new_run_id
from repro.run.plan import Plan
from repro.run.start import Ended, follow, start

__all__ = [
    "Ended",
    "Plan",
    "RunOptions",
    "away",
    "container_job",
    "environment",
    "follow",
    "inplace_job",
    "new_run_id",
    "start",
]
