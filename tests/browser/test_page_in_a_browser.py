"""The page in a real browser: without a script, at phone and desktop width, by mouse, by keyboard and on paper."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_samples import GLOSSARY, realistic, result

from synthesis.report.formats import FORMATS, write_pieces
from synthesis.report.stored import from_dict

pytestmark = pytest.mark.browser

PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
VISIBLE_CASES = ".case:visible"


def the_anxious_one(page: Any) -> Any:
    """The case whose marks the tests look at; others are worse, and stand before it."""
    return page.locator(".case", has_text="You should just try to relax").first


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_pieces(FORMATS["html"].render(from_dict(realistic()), GLOSSARY), path)
    return path


@pytest.fixture(params=["phone", "desktop"])
def page(request: pytest.FixtureRequest, browser: Any, file: Path) -> Iterator[Any]:
    size = PHONE if request.param == "phone" else DESKTOP
    context = browser.new_context(viewport=size, java_script_enabled=True)
    opened = context.new_page()
    opened.goto(file.as_uri())
    opened.add_style_tag(content=".case > details { content-visibility: visible }")  # what is out of sight has no text
    opened.evaluate("document.querySelectorAll('.case > details').forEach(one => { one.open = true; })")
    opened.wait_for_selector(".case noscript", state="detached")
    yield opened
    context.close()


def test_nothing_is_loaded_nothing_is_run_nothing_complains(browser: Any, file: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    heard: list[str] = []
    page.on("request", lambda request: heard.append(request.url))
    page.on("console", lambda message: heard.append(message.text))
    page.on("dialog", lambda dialog: heard.append(dialog.message))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.goto(file.as_uri())
    assert heard == [file.as_uri()]
    context.close()


def test_it_fits_the_width(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_everything_can_be_read_without_a_script(browser: Any, file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator(VISIBLE_CASES).count() == 14
    assert not page.locator("#by-words").is_visible(), "search needs a script"
    page.locator(".case summary").first.click()
    assert "Against" in page.locator(".case").first.text_content()
    assert "Passing does not mean that a reply is safe" in page.inner_text("main")
    assert not page.locator(".case").first.locator(".said").first.is_visible(), "the open case says it in full"
    page.select_option("#by-outcome", "unexpected")
    assert page.locator(VISIBLE_CASES).count() == 5
    context.close()


def test_marked_words_explain_themselves_under_the_pointer(page: Any) -> None:
    mark = the_anxious_one(page).locator(".turn mark", has_text="Stop being so anxious")
    tip = page.locator(".floating")
    assert not tip.is_visible()
    mark.locator("a").hover()
    assert tip.is_visible()
    for words in ("agency.negative.stop-being", "Orders a feeling away.", "Name the feeling and stay with it."):
        assert words in tip.inner_text()
    page.mouse.move(1, 1)
    assert not tip.is_visible()


def test_marked_words_explain_themselves_under_the_keyboard(page: Any) -> None:
    the_anxious_one(page).locator(".turn mark a").first.focus()
    focused = page.locator("mark:focus-within")
    assert focused.locator("a").inner_text() == "You should just try to relax"
    tip = page.locator(".floating")
    assert "Tells the user what to do." in tip.inner_text()
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= page.viewport_size["width"]
    assert box["y"] + box["height"] <= page.viewport_size["height"]


def test_where_two_findings_overlap_both_are_explained(page: Any) -> None:
    mark = the_anxious_one(page).locator(".turn mark", has_text="You should just")
    mark.hover()
    tip = page.locator(".floating").inner_text()
    assert "agency.negative.you-should" in tip
    assert "agency.negative.just" in tip


def test_a_link_in_the_text_leads_to_its_note(page: Any) -> None:
    link = the_anxious_one(page).locator("mark a").first
    link.click()
    assert page.locator(".notes li:target").count() == 1
    assert "You should" in page.locator(".notes li:target").inner_text()


def shown_ids(page: Any) -> list[str]:
    return [text.split()[0] for text in page.locator(f"{VISIBLE_CASES} h3").all_text_contents()]


def test_filters_by_outcome_check_tag_and_language(page: Any) -> None:
    page.select_option("#by-outcome", "missed")
    assert shown_ids(page) == ["NEG-7"]
    page.select_option("#by-outcome", "all")
    page.select_option("#by-check", label="topic_pivot: Staying with what the user has opened up about")
    assert sorted(shown_ids(page)) == ["APP-1", "APP-11", "APP-13", "APP-3", "APP-9"]
    page.select_option("#by-outcome", "not_applicable")
    assert shown_ids(page) == ["APP-9", "APP-11"], "with a check chosen, its own outcome decides"
    page.get_by_role("button", name="Show all").click()
    page.select_option("#by-tag", label="grief")
    assert sorted(shown_ids(page)) == ["APP-8", "NEG-6"]
    page.select_option("#by-language", label="ar")
    assert shown_ids(page) == ["APP-8"]
    page.get_by_role("button", name="Show all").click()
    assert len(shown_ids(page)) == 14


def test_how_many_cases_are_left_is_counted(page: Any) -> None:
    counted = "getComputedStyle(document.querySelector('.tally'), '::before').content"
    assert page.evaluate(counted) == "counter(shown)"
    top = page.locator(".tally").bounding_box()["y"]
    assert top < page.locator(".case").first.bounding_box()["y"]


def test_markup_in_a_reply_is_text(page: Any) -> None:
    assert page.locator(".case script, img").count() == 0
    assert "<script>alert('boo')</script>" in page.locator(".case", has_text="APP-4").inner_text()


def test_control_characters_are_seen_and_joined_emoji_stay_whole(page: Any) -> None:
    text = page.locator(".case", has_text="APP-9").locator(".turn.assistant").inner_text()
    assert "[U+001B]" in text
    assert "[U+0000]" in text
    assert "👩‍👧‍👦" in page.locator(".case", has_text="APP-2").first.inner_text()


def test_right_to_left_text_is_set_from_the_right(page: Any) -> None:
    text = page.locator(".case", has_text="APP-8").locator(".turn.user .text")
    assert text.evaluate("element => getComputedStyle(element).direction") == "rtl"


def test_a_long_reply_has_a_window_of_its_own_and_is_whole_on_paper(page: Any) -> None:
    long = page.locator(".text.long")
    assert "5,5" in page.locator(".case", has_text="APP-10").locator(".turn.assistant h4").inner_text()
    overflows = "element => element.scrollHeight > element.clientHeight + 1"
    assert long.evaluate(overflows)
    page.emulate_media(media="print")
    assert not long.evaluate(overflows)
    assert not page.locator(".filters").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_ground_in_both_schemes(
    browser: Any, file: Path, scheme: str, weak_contrasts: Any
) -> None:
    """The contrast that WCAG asks of text (4.5), for all text that the page shows."""
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(file.as_uri())
    assert weak_contrasts(page) == []
    context.close()


def test_a_screen_reader_finds_headings_regions_and_descriptions(page: Any) -> None:
    tree = page.locator("body").aria_snapshot()
    for line in ('heading "Synthesis report" [level=1]', 'heading "APP-1" [level=3]', 'article "APP-1"'):
        assert line in tree
    assert 'combobox "Check"' in tree
    link = the_anxious_one(page).locator("mark a").first
    described = link.get_attribute("aria-describedby").split()
    assert "Tells the user what to do." in page.locator(f"#{described[0]}").inner_text()


def test_cards_are_folded_with_their_words_and_open_by_keyboard(browser: Any, file: Path) -> None:
    page = browser.new_page(viewport=PHONE)
    page.goto(file.as_uri())
    first = page.locator(".case").first
    assert not first.locator(".turn").first.is_visible()
    words = the_anxious_one(page).locator(".said mark.against").first.text_content()
    assert words == "You should just try to relax"
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.closest('.case').querySelector('h3').id") == "case1"
    page.keyboard.press("Enter")
    first.locator(".turn").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


def test_a_search_finds_words_ids_and_rules_in_folded_cards(browser: Any, file: Path) -> None:
    page = browser.new_page(viewport=DESKTOP)
    page.goto(file.as_uri())
    for words, found in (("finals MONDAY", ["APP-1"]), ("app-9", ["APP-9"]), ("pivot.indicator.hobby", ["APP-3"])):
        page.fill("#by-words", words)
        page.wait_for_selector(".unfound", state="attached")
        page.wait_for_timeout(300)
        assert shown_ids(page) == found
    page.get_by_role("button", name="Show all").click()
    page.wait_for_selector(".unfound", state="detached")
    page.select_option("#by-reason", index=1)
    assert 0 < len(shown_ids(page)) < 14
    page.close()


@pytest.mark.parametrize(("size", "most"), [(PHONE, 600), ({"width": 1280, "height": 800}, 500)])
def test_the_first_screen_holds_the_sentence_and_the_worst_case(
    browser: Any, file: Path, size: dict[str, int], most: int
) -> None:
    page = browser.new_page(viewport=size)
    page.goto(file.as_uri())
    first = page.locator(".case").first
    assert first.bounding_box()["y"] < most
    assert page.locator(".headline").bounding_box()["y"] < first.bounding_box()["y"]
    tops = {round(box.bounding_box()["y"]) for box in page.locator(".filters :is(select, input):visible").all()}
    assert len(tops) == 1, "filters are in one row"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


def test_a_mark_opens_what_its_note_is_folded_in(browser: Any, file: Path) -> None:
    page = browser.new_page(viewport=DESKTOP)
    page.goto(file.as_uri())
    case = page.locator(".case", has_text="APP-8")
    case.locator("summary").first.click()
    case.locator(".turn mark.for a").first.click()
    assert page.locator(".notes li:target").is_visible()
    page.close()


def test_many_cases_stay_usable(browser: Any, tmp_path: Path) -> None:
    from report_samples import report

    path = tmp_path / "many.html"
    many = report(*(result(f"A-{number}", tags=[f"t{number % 7}"]) for number in range(1, 2001)))
    write_pieces(FORMATS["html"].render(from_dict(many), GLOSSARY), path)
    page = browser.new_page()
    page.goto(path.as_uri())
    page.select_option("#by-tag", label="t3")
    assert page.locator(VISIBLE_CASES).count() == 286
    page.close()
