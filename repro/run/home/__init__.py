"""Brings home a run that was made elsewhere: read strictly, held against its bundle, whole or not at all."""

from repro.run.home.held import hold
from repro.run.home.record import Brought, read
from repro.run.home.source import Source, open_source

__all__ = ["Brought", "Source", "hold", "open_source", "read"]
