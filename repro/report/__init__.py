"""Turns verdicts and runs into text, Markdown, a page and documents. Decides nothing."""

from repro.report.document import document, run_document
from repro.report.explain import explained
from repro.report.html import html, html_of
from repro.report.markdown import markdown
from repro.report.runs import run_text
from repro.report.text import text

__all__ = ["document", "explained", "html", "html_of", "markdown", "run_document", "run_text", "text"]
