"""Turns verdicts and runs into text, Markdown and documents. Decides nothing."""

from repro.report.document import document, run_document
from repro.report.markdown import markdown
from repro.report.runs import run_text
from repro.report.text import text

__all__ = ["document", "markdown", "run_document", "run_text", "text"]
