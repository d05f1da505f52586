"""Verdicts as one page: whole in itself, no script, nothing loaded, the same bytes for the same input."""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from repro import __version__
from repro.model.curves import Curves
from repro.model.verdict import ModuleRow, Verdict
from repro.paths import template_folder
from repro.report import growth, head, lane, palette, plot
from repro.report.differing import ABSENT, EQUAL
from repro.report.lane import Lane
from repro.report.plot import Plot
from repro.report.section import Section
from repro.report.sections import sections
from repro.report.words import tone

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_TITLES = {"signals": "where they part, signal by signal", "distance": "how far apart, step by step"}
_CAPTIONS = {
    "conditions": "What the machines and programs had that was not the same",
    "protocol": "What was declared, and is not the same",
    "signals": "All steps: a thin line while equal, a broad one from the first difference on",
    "distance": "Distance of the weights step by step",
    "modules": "Modules at which a difference arises",
    "statistics": "Declared metrics over all runs of both sides; drawn: the 90 % interval and the margin",
    "results": "Final metrics of both runs",
    "flips": "How many examples of the evaluation set got another answer",
    "usage": "What the runs took",
}


@dataclass(frozen=True)
class View:
    """A section and what is drawn. `lookup`: its table is folded away; `first`: its sentences come first."""

    section: Section
    title: str
    caption: str = ""
    plots: list[Plot] = field(default_factory=list)
    lanes: list[Lane] = field(default_factory=list)
    lookup: bool = False
    first: bool = False


@dataclass(frozen=True)
class Page:
    """One comparison."""

    id: str
    verdict: Verdict
    meaning: str
    replies: Sequence[head.Reply]
    facts: Sequence[head.Fact]
    views: Sequence[View]


def html(verdict: Verdict, curves: Curves | None = None) -> str:
    """The page of one comparison."""
    return html_of([(verdict, curves)])


def html_of(comparisons: Sequence[tuple[Verdict, Curves | None]]) -> str:
    """One page for several comparisons with the same reference: a table of all, then each in full."""
    style = _world().get_template("report/page.css.j2").render(light=palette.light(), dark=palette.dark())
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    pages = [_page(number, verdict, curves) for number, (verdict, curves) in enumerate(comparisons, 1)]
    page = _world().get_template("report/page.html.j2")
    text = page.render(
        pages=pages,
        style=style,
        style_hash=f"sha256-{digest}",
        title=_title(pages),
        version=__version__,
    )
    return text.encode("utf-8", "backslashreplace").decode()  # a path may be no text


@cache
def _world() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    world = Environment(
        loader=FileSystemLoader(template_folder()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    world.filters |= {"tone": _tone, "look": _look, "name": _name, "coded": _coded}
    frame = {"left": plot.LEFT, "right": plot.RIGHT, "top": plot.TOP, "bottom": plot.BOTTOM}
    world.globals |= {"size": (plot.WIDTH, plot.HEIGHT), "frame": frame}
    return world


def _title(pages: Sequence[Page]) -> str:
    first = pages[0].verdict
    if len(pages) == 1:
        return f"{first.verdict}: {first.a} and {first.b}"
    return f"{len(pages)} runs beside {first.a}"


def _page(number: int, verdict: Verdict, curves: Curves | None) -> Page:
    found = [_view(section, verdict, curves) for section in _with_plots(verdict, curves)]
    return Page(
        f"c{number}", verdict, head.meaning(verdict), head.replies(verdict), head.facts(verdict), found
    )


def _with_plots(verdict: Verdict, curves: Curves | None) -> list[Section]:
    """The sections; curves have a place of their own even where no distance was judged."""
    found = sections(verdict, curves)
    if curves is None or verdict.envelope is not None or not plot.plots(None, curves):
        return found
    after = next(place for place, section in enumerate(found) if section.key == "signals")
    return [*found[: after + 1], Section("distance", "curves"), *found[after + 1 :]]


def _view(section: Section, verdict: Verdict, curves: Curves | None) -> View:
    drawn = plot.plots(verdict.envelope, curves) if section.key == "distance" else []
    return View(
        section,
        _TITLES.get(section.key, section.title),
        _CAPTIONS.get(section.key, ""),
        drawn,
        _lanes(section, verdict, curves),
        lookup=bool(drawn),
        first=section.key in ("distance", "modules"),
    )


def _lanes(section: Section, verdict: Verdict, curves: Curves | None) -> list[Lane]:
    if section.key == "signals":
        return lane.signals(verdict, _last_step(verdict, curves))
    if section.key == "statistics":
        return lane.intervals(verdict.statistics)
    if section.key == "flips" and verdict.flips:
        noise = [verdict.noise[key] for key in ("members", "seeds") if verdict.noise.get(key)]
        own = verdict.flips.get("disagreements", 0)
        return lane.flips([(own, own), *((low, high) for low, high in noise)])
    return lane.tolerances(_shown(verdict)) if section.key == "modules" else []


def _shown(verdict: Verdict) -> list[ModuleRow]:
    return growth.shown(verdict.replay) if verdict.replay else []


def _last_step(verdict: Verdict, curves: Curves | None) -> int:
    """The last step that anything says of, for the scale of the ladder."""
    known = [s.first_step or 0 for s in verdict.signals.values()]
    known += [row.step for row in verdict.envelope.rows] if verdict.envelope else []
    lines = (*curves.loss, curves.distance) if curves else ()
    return max([0, *known, *(line.steps[-1] for line in lines if line.steps)])


def _tone(word: str) -> str:
    return "plain" if word in ("none", "low", "recorded", "equal", "propagated") else tone(word)


def _look(words: str) -> str:
    """Another class for a cell that says equal, or that nothing is known."""
    return {EQUAL: " same", ABSENT: " none", "-": " none"}.get(words, "")


def _name(words: str) -> "Markup":
    """A dotted name that may be broken after a dot, a slash or an underscore."""
    return _marked(r"([./_])", r"\1<wbr>", words)


def _coded(words: str) -> "Markup":
    """A sentence in which what stands in backticks is set as code."""
    return _marked(r"`([^`]+)`", r"<code>\1</code>", words)


def _marked(pattern: str, by: str, words: str) -> "Markup":
    from markupsafe import Markup, escape

    return Markup(re.sub(pattern, by, str(escape(words))))  # noqa: S704 - what is not ours was escaped before
