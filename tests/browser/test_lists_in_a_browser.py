"""A list of cases in a real browser, phone and desktop: words, and the way from case to case by keyboard."""

from collections.abc import Iterator
from typing import Any

import pytest
from saved_samples import fill
from serving import serving

from synthesis.checks import rules_in_force

pytestmark = pytest.mark.browser

SIZES = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 900}}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    rules_in_force()  # a slow machine takes longer for it than a browser waits
    folder = tmp_path_factory.mktemp("server")
    ids = fill(folder / "history.db")
    with serving(folder) as started:
        yield f"{started}/runs/{ids['new']}"


@pytest.mark.parametrize("size", SIZES)
def test_the_first_case_is_on_the_first_screen(browser: Any, address: str, size: str) -> None:
    page = browser.new_page(viewport=SIZES[size])
    page.goto(address)
    top = page.locator(".case-list > li").first.bounding_box()["y"]
    assert top < (500 if size == "desktop" else SIZES[size]["height"])
    page.goto(f"{address}?view=grid")
    assert page.locator(".grid td.serious").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


@pytest.mark.parametrize("size", SIZES)
def test_words_are_marked_and_cases_follow_by_keyboard(browser: Any, address: str, size: str) -> None:
    page = browser.new_page(viewport=SIZES[size])
    page.goto(f"{address}#cases")
    first = page.locator(".case-list > li").first
    assert first.locator(".badge.serious").is_visible()
    assert first.locator(".said mark.against").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_text("Case 1 of 4").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("j")
    page.get_by_text("Case 2 of 4").wait_for()
    page.keyboard.press("k")
    page.get_by_text("Case 1 of 4").wait_for()
    page.close()
