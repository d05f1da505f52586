"""Reads what a run left behind: its folder, and the trace of each rank. Judges nothing."""

from repro.trace.folder import read_run
from repro.trace.traces import read_trace

__all__ = ["read_run", "read_trace"]
