"""Try in a real browser, phone and desktop: the chat of a messenger, who is the assistant, and the verdict."""

from collections.abc import Iterator
from typing import Any

import pytest
from serving import serving

from synthesis.checks import rules_in_force

pytestmark = pytest.mark.browser

SIZES = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 900}}
CHAT = "[12:03] Anna: My dog died.\n[12:04] Mo: You should just get over it."


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    rules_in_force()  # a slow machine takes longer for it than a browser waits
    with serving(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.mark.parametrize("size", SIZES)
def test_a_pasted_chat_asks_and_the_answer_gives_the_verdict(browser: Any, address: str, size: str) -> None:
    page = browser.new_page(viewport=SIZES[size])
    page.goto(f"{address}/?paste=1")
    page.fill("#chat", CHAT)
    page.get_by_role("radio", name="Mo").check()
    page.locator(".outcome.fail").wait_for()
    assert page.get_by_role("radio", name="Mo").is_checked()
    assert page.locator(".turn.assistant mark.against").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()
