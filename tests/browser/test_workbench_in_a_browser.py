"""The workbench in a real browser: verdicts as you type, marked words, rules; by mouse, by keyboard, without script."""

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from serving import serving

pytestmark = pytest.mark.browser
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
TOKEN = "a token that is long enough"
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
PATHS = (
    "/",
    "/?paste=1",
    "/?example=PIVOT-006",
    "/?example=LUV-001",
    "/?example=JA-022",
    "/rules",
    "/rules/en/agency.negative.you-should",
    "/rules/try",
    "/nowhere",
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(params=["phone", "desktop"])
def page(request: pytest.FixtureRequest, browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(viewport=PHONE if request.param == "phone" else DESKTOP, base_url=address)
    yield context.new_page()
    context.close()


def verdict(page: Any, words: str) -> Any:
    """The verdict's headline, once it says this."""
    found = page.locator("#verdict .outcome", has_text=words)
    found.wait_for()
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PATHS)
def test_a_page_fits_is_legible_and_loads_nothing_from_elsewhere(
    page: Any, address: str, path: str, scheme: str, weak_contrasts: Any
) -> None:
    heard: list[str] = []
    page.on("request", lambda request: heard.append(request.url))
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.emulate_media(color_scheme=scheme)
    page.goto(path)
    page.wait_for_load_state("networkidle")
    assert all(url.startswith(address) for url in heard)
    assert [line for line in said if "404" not in line] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert weak_contrasts(page) == []


def test_the_verdict_follows_what_is_typed(page: Any) -> None:
    page.goto("/")
    page.fill("#user", "My dog died yesterday.")
    page.fill("#assistant", "You should just get over it.")
    verdict(page, "Fails")
    assert page.locator("#verdict mark", has_text="You should").count() >= 1
    page.fill("#assistant", "I'm so sorry. What do you miss most about him?")
    verdict(page, "Passes")
    assert page.locator("#spoken").inner_text() == verdict(page, "Passes").inner_text()
    page.fill("#assistant", "")
    page.get_by_text("Write a reply, or choose an example.").wait_for()


def test_an_older_verdict_never_comes_after_a_newer_one(page: Any) -> None:
    """The first request is held back until the second is answered; it must not win."""
    page.goto("/")
    held: list[Any] = []

    def hold_the_first(route: Any) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/verdict", hold_the_first)
    page.fill("#assistant", "I promise it will pass.")
    page.locator("#verdict[aria-busy]").wait_for()
    page.fill("#assistant", "Would you like to tell me more?")
    page.uncheck("input[value=topic_pivot]")
    verdict(page, "Passes")
    held[0].abort()
    page.wait_for_timeout(300)
    verdict(page, "Passes")


def test_the_checks_and_the_language_are_chosen(page: Any) -> None:
    page.goto("/?example=LUV-013")
    verdict(page, "Fails 3 of 7 checks")
    page.uncheck("input[value=agency_language]")
    page.uncheck("input[value=topic_pivot]")
    verdict(page, "Fails 1 of 5 checks")
    page.select_option("#lang", "ja")
    page.get_by_text("Read as Japanese").wait_for()


def test_marked_words_explain_themselves_by_keyboard_and_lead_to_their_rule(page: Any) -> None:
    page.goto("/?example=LUV-012")
    mark = page.locator("#verdict .turn.assistant mark", has_text="You should").first
    mark.locator("a").first.focus()
    tip = mark.locator(".tip")
    assert tip.is_visible()
    assert "Tells the user what to do." in tip.inner_text()
    page.locator(".notes a", has_text="agency.negative.you-should").click()
    page.wait_for_url("**/rules/en/agency.negative.you-should")
    assert page.locator("h1").inner_text() == "agency.negative.you-should"


def test_the_line_that_decided_is_told_to_a_screen_reader(page: Any) -> None:
    page.goto("/?example=PIVOT-006")
    page.get_by_text("How topic_pivot decides").click()
    taken = page.locator(".decision tr[aria-current=true]")
    assert taken.count() == 1
    assert "decides" in taken.inner_text()
    tree = page.locator("body").aria_snapshot()
    for line in (
        'navigation "Pages"',
        'heading "Try a reply" [level=1]',
        'textbox "The assistant replies"',
        "- status",
    ):
        assert line in tree


def test_the_keyboard_goes_from_the_skip_link_to_the_content(page: Any) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_everything_works_without_a_script(browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False, base_url=address)
    page = context.new_page()
    page.goto("/")
    page.fill("#assistant", "I promise it will pass.")
    page.get_by_role("button", name="Check").click()
    verdict(page, "Fails")
    page.get_by_role("link", name="Paste a whole chat instead").click()
    page.fill("#chat", "User: My dog died.\nAssistant: I promise it will pass.")
    page.get_by_role("button", name="Check").click()
    verdict(page, "Fails")
    page.get_by_role("link", name="Rules", exact=True).click()
    page.fill("#q", "anyway")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name="anyway", exact=True).first.click()
    assert "Must be found" in page.inner_text("main")
    context.close()


def test_a_rule_is_tried_and_its_hits_are_marked(page: Any) -> None:
    page.goto("/rules/try")
    page.fill("#patterns", "you should")
    page.get_by_role("button", name="Try it").click()
    page.locator("mark", has_text="You should").first.wait_for()
    page.fill("#patterns", "(you")
    page.get_by_role("button", name="Try it").click()
    assert "unbalanced" in page.get_by_role("alert").inner_text()


def test_markup_that_is_typed_stays_text(page: Any) -> None:
    page.goto("/")
    asked: list[str] = []
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    page.fill(
        "#assistant",
        f"{HOSTILE} I promise you that everything will be fine.",
    )
    verdict(page, "Fails")
    assert page.locator("#verdict img, #verdict script").count() == 0
    assert asked == []


def test_logging_in_and_out(browser: Any, tmp_path: Any) -> None:
    with serving(tmp_path, token=TOKEN) as address:
        context = browser.new_context(base_url=address)
        page = context.new_page()
        page.goto("/rules")
        page.fill("#token", "not the token")
        page.get_by_role("button", name="Log in").click()
        assert page.get_by_role("alert").inner_text() == "That is not the token."
        page.fill("#token", TOKEN)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/rules")
        page.goto("/")
        page.fill("#assistant", "I promise.")
        verdict(page, "Fails")
        assert page.evaluate("document.cookie") == ""
        page.get_by_role("button", name="Log out").click()
        page.goto("/rules")
        assert "/login" in page.url
        context.close()
