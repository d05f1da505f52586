"""The page as text: what is in it, what cannot get out, and that it is the same each time."""

import base64
import hashlib
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from repro import report
from repro.model.verdict import SIGNALS
from repro.report import palette

from .pages import HOSTILE, curves, full, hostile

VOID = {"meta", "input", "path", "wbr", "br"}


class Read(HTMLParser):
    """Tags with their attributes, the text, and whether every tag is closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page() -> str:
    return report.html(full(), curves())


@pytest.fixture(scope="module")
def read(page: str) -> Read:
    return Read(page)


def test_it_is_whole_in_itself(read):
    assert read.open == []
    names = {tag for tag, _ in read.tags}
    assert not names & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "video",
        "audio",
    }
    for _, attributes in read.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert not attributes.keys() & {"src", "srcset", "style", "action", "data"}
        assert attributes.get("href", "#").startswith("#")
    assert not re.search(r"https?://|url\(|@import|@font-face", read.text + "".join(read.words))


def test_the_policy_lets_in_our_style_and_nothing_else(page, read):
    policy = next(m["content"] for m in read.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    parts = {part.split()[0]: part.split()[1:] for part in policy.split(";")}
    assert parts == {
        "default-src": ["'none'"],
        "style-src": [f"'sha256-{digest}'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }


def test_names_lead_somewhere(read):
    ids = [attributes["id"] for _, attributes in read.tags if attributes.get("id")]
    assert len(ids) == len(set(ids))
    wanted = [a["href"][1:] for a in read.all("a")]
    for name in ("aria-labelledby", "aria-describedby"):
        wanted += [word for _, attributes in read.tags for word in (attributes.get(name) or "").split()]
    assert wanted
    assert set(wanted) <= set(ids)


def test_headings_do_not_skip_a_level(read):
    levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_every_table_has_a_caption_and_every_drawing_a_name(page, read):
    assert page.count("<table") == page.count("<caption") > 5
    for svg in read.all("svg"):
        hidden = svg.get("aria-hidden") == "true"
        assert hidden or (svg["role"] == "img" and (svg.get("aria-label") or svg.get("aria-labelledby")))
    for region in (d for d in read.all("div") if d.get("role") == "region"):
        assert region["tabindex"] == "0"
        assert region["aria-label"]


def test_all_that_the_verdict_says_is_told(read):
    verdict = full()
    told = [
        verdict.a,
        verdict.b,
        verdict.numerics,
        verdict.outcome,
        verdict.cause["why"],
        verdict.cause["pin"],
    ]
    told += [c.why for c in verdict.conditions_that_differ if c.why] + [*SIGNALS, "confounded"]
    told += [name for row in verdict.statistics for name in (row.metric,)]
    told += ["3 noise members", "features.conv1", "dropout draws are equal", "10 to 22", "1.3 GiB", "12.3 ms"]
    told += [sentence.replace("`", "") for sentence in (*verdict.evidence, *verdict.not_controlled)]
    words = read.text.replace(" ", "")
    assert [part for part in told if " ".join(part.split()).replace(" ", "") not in words] == []


def test_order_is_that_of_the_other_forms(read):
    keys = "conditions protocol signals distance modules statistics results flips usage open evidence"
    assert [a["id"] for a in read.all("section")] == [f"c1-{key}" for key in keys.split()]
    titles = ["conditions that differ:", "protocol differences:", "signals, in causal order:"]
    titles += ["distance of the weights:", "module by module:", "over several runs:", "results:"]
    titles += ["examples answered differently:", "memory and time:", "not controlled:", "evidence:"]
    text = report.text(full(), curves()).splitlines()
    assert [line for line in text if line in titles] == titles
    headings = re.findall(r"^### (.*)$", report.markdown(full(), curves()), re.MULTILINE)
    assert [f"{heading.lower()}:" for heading in headings] == titles


def test_hostile_words_stay_words():
    read = Read(report.html(hostile(), curves()))
    assert read.open == []
    names = [tag for tag, _ in read.tags]
    assert "script" not in names
    assert "img" not in names
    assert names.count("title") == 1 + 4  # the page's own, and one for each drawing
    assert "".join(read.words).count(HOSTILE) > 12
    assert not any(name.startswith("on") for _, attributes in read.tags for name in attributes)


def test_text_that_is_no_unicode_is_written_in_escapes():

    page = report.html(msgspec.structs.replace(full(), a="run-\udcff"))
    assert "run-\\udcff" in page.encode().decode()


def test_same_input_same_bytes(page):
    code = (
        "import sys; from tests.report import pages; from repro import report;"
        "sys.stdout.write(report.html(pages.full(), pages.curves()))"
    )
    root = Path(__file__).parents[2]
    for seed in ("0", "1234"):
        again = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        assert again == page


def test_it_is_small(page):
    assert len(page.encode()) < 300_000


def test_several_runs_share_a_page():
    pages = [(full(), curves()), (hostile(), None), (full(), None)]
    read = Read(report.html_of(pages))
    ids = [attributes["id"] for _, attributes in read.tags if attributes.get("id")]
    assert len(ids) == len(set(ids))
    assert [a["id"] for a in read.all("article")] == ["c1", "c2", "c3"]
    levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


@pytest.mark.parametrize(("text", "ground"), palette.TEXTS)
@pytest.mark.parametrize("scheme", [0, 1])
def test_contrast_is_enough(text, ground, scheme):
    lights = sorted(_luminance(palette.COLOURS[name][scheme]) for name in (text, ground))
    assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 4.5


@pytest.mark.parametrize("name", ["good", "bad", "open", "run-a", "run-b", "member"])
@pytest.mark.parametrize("scheme", [0, 1])
def test_drawn_lines_stand_out(name, scheme):
    """WCAG 2.2, 1.4.11: 3 for what is needed to read a drawing."""
    lights = sorted(_luminance(palette.COLOURS[which][scheme]) for which in (name, "card"))
    assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 3


def _luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
