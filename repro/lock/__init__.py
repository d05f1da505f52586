"""Locks a project's dependencies: reads what is asked, resolves it in the target, fetches, proves."""

from repro.lock.place import Place
from repro.lock.prove import prove
from repro.lock.reading import examine, read
from repro.lock.requests import Finding, Requests, Requirement
from repro.lock.resolve import Resolved, resolve

__all__ = ["Finding", "Place", "Requests", "Requirement", "Resolved", "examine", "prove", "read", "resolve"]
