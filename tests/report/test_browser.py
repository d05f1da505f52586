"""The page in a real browser: light, dark, narrow, on paper, by keyboard, and cut off from every network."""

import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from repro import report

from .chromium import Chromium
from .pages import HOSTILE, curves, full, hostile

pytestmark = pytest.mark.browser

PAGES = {
    "full": lambda: report.html(full(), curves()),
    "bare": lambda: report.html(full()),
    "hostile": lambda: report.html(hostile(), curves()),
    "several": lambda: report.html_of([(full(), curves()), (hostile(), None), (full(), None)]),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    found = Chromium(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, make in PAGES.items():
        (folder / f"{name}.html").write_text(make(), "utf-8")
    return {name: folder / f"{name}.html" for name in PAGES}


def happened(browser: Chromium, method: str) -> list[dict[str, Any]]:
    return [event["params"] for event in browser.events if event["method"] == method]


@pytest.mark.parametrize("name", PAGES)
def test_it_loads_in_silence_and_asks_for_nothing(browser, files, name):
    browser.open(files[name])
    browser.value("new Promise(done => setTimeout(done, 300))")
    assert [r["request"]["url"] for r in happened(browser, "Network.requestWillBeSent")] == [
        files[name].as_uri()
    ]
    for method in (
        "Runtime.consoleAPICalled",
        "Runtime.exceptionThrown",
        "Log.entryAdded",
        "Audits.issueAdded",
        "Page.javascriptDialogOpening",
    ):
        assert happened(browser, method) == [], method
    assert browser.value("document.querySelectorAll('script,img,link,iframe').length") == 0


def test_the_policy_is_in_force(browser, files):
    """What a hostile word would have to do is refused, should it ever get out of its place."""
    browser.open(files["full"])
    browser.value(
        "document.body.append(Object.assign(document.createElement('img'), {src: 'http://x.example/a.png'}))"
    )
    browser.value(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.x = 1'}))"
    )
    browser.value("new Promise(done => setTimeout(done, 300))")
    browser.call("Runtime.evaluate", expression="0")
    assert browser.value("window.x === undefined")
    refused = json.dumps(happened(browser, "Audits.issueAdded") + happened(browser, "Log.entryAdded"))
    assert "img-src" in refused
    assert "script-src" in refused


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [400, 768, 1280])
def test_the_page_never_scrolls_sideways(browser, files, name, width):
    browser.open(files[name], width=width)
    assert browser.value("document.documentElement.scrollWidth") <= width
    beyond = (
        "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, svg') && "
        f"e.getBoundingClientRect().right > {width} + 0.5).map(e => e.outerHTML.slice(0, 80))"
    )
    assert browser.value(beyond) == []


def test_at_a_usual_width_no_table_is_cut(browser, files):
    browser.open(files["full"], width=1280)
    cut = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert browser.value(cut) == 0


def test_text_is_there_and_can_be_read(browser, files):
    browser.open(files["full"])
    words = browser.value("document.body.innerText")
    for part in ("different-but-equivalent", "features.conv1", "torch.backends.cudnn.allow_tf32 = False"):
        assert part in words
    browser.open(files["hostile"])
    flat = " ".join(browser.value("document.body.textContent").split())
    assert flat.count(" ".join(HOSTILE.split())) > 8


GROUND = "getComputedStyle(document.body).backgroundColor"


def test_light_and_dark_follow_the_system_and_the_switch_overrules_it(browser, files):
    grounds = {}
    for scheme in ("light", "dark"):
        browser.open(files["full"], scheme=scheme)
        grounds[scheme] = browser.value(GROUND)
        for choice in ("light", "dark"):
            browser.value(f"document.querySelector('.theme-{choice}').click()")
            grounds[scheme, choice] = browser.value(GROUND)
        browser.value("document.querySelector('.theme-auto').click()")
        assert browser.value(GROUND) == grounds[scheme]
    assert grounds["light"] == grounds["light", "light"] == grounds["dark", "light"] == "rgb(246, 247, 249)"
    assert grounds["dark"] == grounds["dark", "dark"] == grounds["light", "dark"] == "rgb(16, 20, 24)"


def test_pictures_of_both_schemes(browser, files, tmp_path):
    for scheme, ground in (("light", [246, 247, 249]), ("dark", [16, 20, 24])):
        browser.open(files["full"], scheme=scheme)
        width, height, colours = browser.pixels(browser.picture(tmp_path / f"{scheme}.png"), every=9)
        assert (width, height > 3000) == (1280, True)
        assert colours[0] == ground
        assert colours.count(ground) > len(colours) / 20
        assert len({tuple(colour) for colour in colours}) > 20  # something is drawn


def test_by_keyboard_alone(browser, files):
    browser.open(files["full"])
    reached = []
    for _ in range(60):
        browser.press("Tab")
        reached.append(
            browser.value("document.activeElement.tagName + '.' + document.activeElement.className")
        )
        if reached[-1].startswith("BODY"):
            break
    tags = [word.partition(".")[0] for word in reached]
    assert reached[0] == "A.skip"
    assert reached[1] == "INPUT.theme-auto"
    assert tags.count("SUMMARY") == browser.value("document.querySelectorAll('summary').length") == 2
    assert tags.count("A") == browser.value("document.querySelectorAll('a').length")
    assert "PRE" in tags


def test_the_switch_and_what_is_folded_open_by_key(browser, files):
    browser.open(files["full"], scheme="light")
    browser.value("document.querySelector('.theme-auto').focus()")
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    assert browser.value(GROUND) == "rgb(16, 20, 24)"
    browser.value("document.querySelector('summary').focus()")
    assert browser.value("document.querySelector('details').open") is False
    browser.press("Enter")
    assert browser.value("document.querySelector('details').open") is True
    outline = browser.value("getComputedStyle(document.querySelector('summary')).outlineStyle")
    assert outline == "solid"


def test_on_paper_it_is_light_and_nothing_is_folded(browser, files, tmp_path):
    browser.open(files["full"], width=700, scheme="dark")
    browser.prefer("dark", "print")
    assert browser.value(GROUND) == "rgb(255, 255, 255)"
    hidden = browser.value("document.querySelector('.themes').getBoundingClientRect().height")
    assert hidden == 0
    shown = "[...document.querySelectorAll('details td')].every(e => e.getBoundingClientRect().height > 0)"
    assert browser.value(shown)
    browser.prefer("light")
    paper = browser.paper(tmp_path / "page.pdf")
    assert paper.startswith(b"%PDF")
    assert 2 <= _pages(paper) <= 8


def _pages(pdf: bytes) -> int:
    """Number of pages: objects of that type, in the file itself or in compressed streams."""
    parts = [pdf]
    for start in re.finditer(rb"stream\r?\n", pdf):
        try:
            parts.append(zlib.decompressobj().decompress(pdf[start.end() :]))
        except zlib.error:
            continue
    return sum(len(re.findall(rb"/Type\s*/Page\b", part)) for part in parts)
