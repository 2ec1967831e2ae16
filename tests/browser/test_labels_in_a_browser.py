"""Labelling in a real browser: by keys alone, by two people, at phone and desktop width, light and dark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from saved_samples import COLD, cases, judged_folder
from serving import serving

from synthesis.api import load_cases, run_all_cases
from synthesis.history import Provenance, open_history

pytestmark = pytest.mark.browser
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
WIDTHS = {"phone": PHONE, "desktop": DESKTOP}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def run_id(place: Path) -> str:
    with open_history(place) as history:
        return history.add_report(run_all_cases(cases(COLD)), Provenance(with_text=True, name="companion"))


@pytest.fixture
def address(place: Path, run_id: str, tmp_path: Path) -> Iterator[str]:
    assert run_id
    with serving(tmp_path, history=str(place)) as started:
        yield started


@pytest.fixture(params=list(WIDTHS))
def page(request: pytest.FixtureRequest, browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(viewport=WIDTHS[request.param], base_url=address, accept_downloads=True)
    yield context.new_page()
    context.close()


def begin(page: Any, run_id: str, name: str) -> None:
    """By keys alone: the name, then Enter."""
    page.goto(f"/label/runs/{run_id}")
    page.locator("#name").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.wait_for_url("**/label/runs/*/*/*")


def press(page: Any, key: str) -> None:
    with page.expect_navigation():
        page.keyboard.press(key)


def test_cases_are_labelled_by_keys_alone_and_outlive_the_page(page: Any, run_id: str, tmp_path: Path) -> None:
    begin(page, run_id, "Ana")
    first = page.url
    assert page.locator("mark").count() == 0
    assert page.get_by_text("The check", exact=True).count() == 0
    press(page, "y")
    assert page.url == first
    assert page.get_by_text("The check", exact=True).is_visible()
    page.keyboard.press("n")  # folded away: a slip changes nothing
    assert page.locator(".label-said dd").first.inner_text() == "Yes"
    press(page, "Enter")
    press(page, "x")
    press(page, "j")
    assert page.url.endswith("/1/unverifiable_reassurance")
    assert page.locator("mark").count() == 0
    press(page, "y")
    assert page.locator("mark").count() > 0
    press(page, "j")
    skipped = page.url
    press(page, "s")
    assert page.url != skipped
    page.context.new_page().goto(f"/label/runs/{run_id}")
    page.close()
    reopened = page.context.pages[-1]
    assert "4 of 12 questions answered, 1 of them skipped" in reopened.inner_text("main")
    with reopened.expect_download() as download:
        reopened.click("text=Download as cases")
    download.value.save_as(tmp_path / "labelled.jsonl")
    expected = [case.expected for case in load_cases(tmp_path / "labelled.jsonl")]
    assert any(False in labels.values() for labels in expected if labels)


def test_two_people_see_where_they_differ(browser: Any, address: str, run_id: str) -> None:
    said = {"Ana": "y", "Bo": "n"}
    for name, key in said.items():
        context = browser.new_context(viewport=DESKTOP, base_url=address)
        page = context.new_page()
        begin(page, run_id, name)
        press(page, key)
        others = page.locator(".label-said div", has_text="Others").inner_text()
        assert ("A: Yes" in others) == (name == "Bo")
        page.goto(f"/label/runs/{run_id}")
        disputed = page.locator("section", has=page.get_by_role("heading", name="Disputed"))
        assert disputed.count() == (1 if name == "Bo" else 0)
        if name == "Bo":
            assert "A yes, B no" in disputed.inner_text()
            assert "Ana" not in page.inner_text("main")
        context.close()


def test_scores_are_given_by_number(browser: Any, address: str, place: Path, tmp_path: Path) -> None:
    with open_history(place) as history:
        run_id = history.add_judged(judged_folder(tmp_path), Provenance(with_text=True, name="ferry"))
    context = browser.new_context(viewport=DESKTOP, base_url=address)
    page = context.new_page()
    begin(page, run_id, "Ana")
    assert page.get_by_role("button", name="Score 4").is_visible()
    press(page, "4")
    assert page.get_by_text("The judge", exact=True).is_visible()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_fit_are_legible_and_break_no_policy(
    page: Any, run_id: str, scheme: str, weak_contrasts: Any
) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.emulate_media(color_scheme=scheme)
    page.goto("/label")

    def look() -> None:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.url
        assert weak_contrasts(page) == [], page.url
        assert page.locator("h1").count() == 1
        unnamed = "input:not([type=hidden]), button, progress, summary"
        for control in page.locator(unnamed).all():
            assert control.evaluate("e => e.labels?.length || e.ariaLabel || e.textContent.trim()"), page.url

    look()
    begin(page, run_id, "Ana")
    look()
    for button in page.locator(".answers button").all():
        assert button.bounding_box()["height"] >= 44  # what a finger can hit
    press(page, "y")
    look()
    page.goto(f"/label/runs/{run_id}")
    look()
    assert said == []


def test_everything_works_without_script(browser: Any, address: str, run_id: str) -> None:
    context = browser.new_context(viewport=PHONE, base_url=address, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"/label/runs/{run_id}")
    page.fill("#name", "Ana")
    page.click("text=Begin")
    page.get_by_role("button", name="Does not apply").click()
    page.get_by_role("button", name="Next question").press("Enter")
    page.get_by_role("button", name="Skip").click()
    page.click("text=companion")
    assert "2 of 12 questions answered" in page.inner_text("main")
    context.close()
