"""Marks in a real browser, phone and desktop: only what decided, in two tones, the rest on request."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_samples import GLOSSARY, agency, report, result

from synthesis.report.formats import FORMATS, write_pieces
from synthesis.report.stored import from_dict

pytestmark = pytest.mark.browser

SIZES = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 900}}
REPLY = (
    "**You should** just rest.\n\n1. Call a friend\n2. See [this](https://example.org/a)\n\n![a cat](https://x/y.png)"
)
LOOK = "mark => { const s = getComputedStyle(mark); return [s.textDecorationStyle, s.textDecorationColor]; }"


def samples() -> dict[str, Any]:
    failed = result(
        "F-1",
        "I lost my job.",
        REPLY,
        findings=[
            ("You should", "agency.negative.you-should"),
            ("just rest", "agency.negative.just"),
            ("I lost my job", "pivot.vulnerability.loss"),
        ],
        checks={"agency_language": agency(False, -2)},
    )
    passed = result(
        "P-2",
        assistant="Would you like to talk? You should rest.",
        findings=[
            ("Would you like", "agency.positive.would-you-like"),
            ("You should", "agency.negative.you-should"),
        ],
        checks={"agency_language": agency(True, 0)},
    )
    return report(failed, passed)


@pytest.fixture(params=list(SIZES))
def page(request: pytest.FixtureRequest, browser: Any, tmp_path: Path) -> Iterator[Any]:
    path = tmp_path / "report.html"
    write_pieces(FORMATS["html"].render(from_dict(samples()), GLOSSARY), path)
    context = browser.new_context(viewport=SIZES[request.param])
    opened = context.new_page()
    opened.goto(path.as_uri())
    yield opened
    context.close()


def case(page: Any, name: str) -> Any:
    return page.locator(f'.case[aria-labelledby="{name}"]')


def test_two_tones_differ_without_colour_and_nothing_is_red_in_a_reply_that_passed(page: Any) -> None:
    against = case(page, "case1").locator("mark.against").first.evaluate(LOOK)
    passed = case(page, "case2")
    outweighed, supports = (passed.locator(f"mark.{name}").first.evaluate(LOOK) for name in ("outweighed", "for"))
    assert against[0] == outweighed[0] == "dashed"
    assert supports[0] == "solid"
    red = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--bad')")
    reds = """(element, red) => { const probe = document.createElement('i'); probe.style.color = red;
      document.body.append(probe); const wanted = getComputedStyle(probe).color; probe.remove();
      return [element, ...element.querySelectorAll('*')].filter(e => { const s = getComputedStyle(e);
        return [s.color, s.backgroundColor, s.borderLeftColor, s.textDecorationColor].includes(wanted); }).length; }"""
    assert passed.evaluate(reds, red) == 0
    assert case(page, "case1").evaluate(reds, red) > 0


def test_what_set_the_scene_is_marked_on_request(page: Any) -> None:
    scene = case(page, "case1").locator("mark.context")
    assert scene.evaluate(LOOK)[0] == "solid"  # the browser's own, of no line at all
    assert scene.evaluate("mark => getComputedStyle(mark).textDecorationLine") == "none"
    case(page, "case1").get_by_role("checkbox").check()
    assert scene.evaluate("mark => getComputedStyle(mark).textDecorationLine") == "underline"


def test_markdown_is_drawn_and_marks_survive_it(page: Any) -> None:
    reply = case(page, "case1").locator(".turn.assistant .text")
    assert reply.locator("strong mark a").inner_text() == "You should"
    assert reply.locator("ol > li").count() == 2
    assert reply.locator(".target").inner_text() == "(https://example.org/a)"
    assert reply.locator(".image").inner_text() == "a cat"
    assert reply.locator("img, a[href^=http]").count() == 0


def test_marked_words_have_a_name_and_a_description_for_screen_readers(page: Any) -> None:
    for link in case(page, "case1").locator("mark a").all():
        described = [page.locator(f"#{name}").text_content() for name in link.get_attribute("aria-describedby").split()]
        assert all(text.startswith(("Against", "For")) for text in described)


def test_the_words_come_before_the_reason(page: Any) -> None:
    reason = case(page, "case1").locator(".checks > li").first
    assert "Fails agency_language" in reason.inner_text()
    assert "Tells the user what to do." in reason.inner_text()
    assert case(page, "case1").locator(".turn").last.bounding_box()["y"] < reason.bounding_box()["y"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
