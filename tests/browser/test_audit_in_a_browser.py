"""The page of an audit in a real browser: on a phone, on a desktop, and on paper."""

import itertools
import re
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from audit_samples import BYE, HELD, row, rows, write

from synthesis.audit.counting import AuditOptions
from synthesis.audit.handover import Cover, Signature
from synthesis.audit.making import EngineOptions, ReadOptions, audit, write_audit

pytestmark = pytest.mark.browser
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
PAPER = {"width": 673, "height": 1001}  # A4 less its margins of 16 mm, in CSS pixels
LONG = "a-version-" + "0" * 60  # nothing in it to break at
CELLS = "[...document.querySelectorAll('main th, main td')].filter(cell => cell.checkVisibility())"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("audit")
    log = write(folder / "chats.jsonl", [*rows(), *(row((BYE, HELD), at="2026-02-01", app=LONG) for _ in range(8))])
    options = AuditOptions(by=("app",), sample=20, with_ids=True, with_excerpts=True)
    made = audit([log], ReadOptions(map={"time": "at"}), options, EngineOptions(workers=1))
    write_audit(made.document, folder)
    return (folder / "audit.html").as_uri()


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The audit of a year: several quarters, fifty weeks, as an operator would hand it over."""
    folder = tmp_path_factory.mktemp("year")
    log = [{**one, "at": f"2025-{1 + month:02d}-{day:02d}"} for month in range(12) for day in (5, 15) for one in rows()]
    stated = Cover(operator="Harbour Health", signatures=(Signature(name="Bea Roy"),))
    options = AuditOptions(by=("app",), cover=stated)
    made = audit(
        [write(folder / "chats.jsonl", log)], ReadOptions(map={"time": "at"}), options, EngineOptions(workers=1)
    )
    write_audit(made.document, folder)
    return (folder / "audit.html").as_uri()


@pytest.fixture(params=["phone", "desktop", "paper"])
def page(request: pytest.FixtureRequest, browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(viewport={"phone": PHONE, "desktop": DESKTOP, "paper": PAPER}[request.param])
    opened = context.new_page()
    opened.emulate_media(media="print" if request.param == "paper" else "screen")
    opened.goto(address)
    yield opened
    context.close()


def test_nothing_is_cut_off(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    outside = f"{CELLS}.filter(cell => cell.getBoundingClientRect().right > innerWidth + 1).map(cell => cell.innerText)"
    assert page.evaluate(outside) == []
    clipped = f"{CELLS}.filter(cell => cell.scrollWidth > cell.clientWidth + 1).map(cell => cell.innerText)"
    assert page.evaluate(clipped) == []


def test_headings_are_in_order(page: Any) -> None:
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(one => Number(one.tagName[1]))")
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_legible_and_asks_for_nothing(browser: Any, address: str, scheme: str, weak_contrasts: Any) -> None:
    context = browser.new_context(viewport=PHONE, color_scheme=scheme)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    assert weak_contrasts(page) == []
    assert (said, asked) == ([], [address])
    context.close()


def test_a_phone_names_each_figure_of_a_wide_table(browser: Any, address: str) -> None:
    context = browser.new_context(viewport=PHONE)
    page = context.new_page()
    page.goto(address)
    line = page.locator("table.wide tr", has=page.locator("th", has_text="crisis_cue")).first
    name = line.locator("td").nth(2).evaluate("cell => getComputedStyle(cell, '::before').content")
    assert name == '"hits"'
    assert line.locator("td").nth(2).inner_text() == "36"
    tops = [line.locator("td").nth(place).bounding_box()["y"] for place in range(3)]
    assert tops == sorted(set(tops))  # one below the other
    context.close()


def test_the_contents_lead_to_each_part(browser: Any, address: str) -> None:
    page = browser.new_page(viewport=PHONE)
    page.goto(address)
    links = page.locator("nav a")
    titles = page.locator("section > h2").all_inner_texts()
    assert links.all_inner_texts() == titles
    assert all(box["height"] >= 24 for box in (link.bounding_box() for link in links.all()))  # what a finger can hit
    links.last.click()
    assert page.locator("h2", has_text="how to reproduce this").bounding_box()["y"] < PHONE["height"]
    page.close()


def test_it_prints_on_a4(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(address)
    printed = page.pdf(prefer_css_page_size=True)
    page.close()
    assert printed.startswith(b"%PDF")
    sizes = {tuple(map(float, found)) for found in re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)}
    assert {(round(width), round(height)) for width, height in sizes} == {(595, 842)}


def test_no_printed_page_is_mostly_empty(browser: Any, year: str) -> None:
    page = browser.new_page()
    page.goto(year)
    filled = list(how_full(page.pdf(prefer_css_page_size=True)))
    page.close()
    assert 8 <= len(filled) <= 20
    assert min(filled[:-1]) > 0.6, filled  # the last page ends where the document ends


def how_full(printed: bytes) -> Iterator[float]:
    """How far down each page the last line of text is; Chromium writes positions from the top of the whole document."""
    objects = {int(number): content for number, content in re.findall(rb"(\d+) 0 obj\n(.*?)\nendobj", printed, re.S)}
    pages = [content for content in objects.values() if re.search(rb"/Type /Page\b", content)]
    for number, content in enumerate(pages):
        (stream,) = re.findall(rb"/Contents (\d+) 0 R", content)
        drawn = zlib.decompress(objects[int(stream)].partition(b"stream\n")[2].rpartition(b"\nendstream")[0])
        places = (float(found) for found in re.findall(rb"1 0 0 -1 [\d.-]+ ([\d.-]+) Tm", drawn))
        shares = (place / PAPER["height"] - number for place in places)
        yield max(share for share in shares if share <= 1)  # below is the number of the page
