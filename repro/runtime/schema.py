"""Versions of what is written; see docs/formats.md."""

SCHEMA = 1
TRACE_FORMAT = 2
