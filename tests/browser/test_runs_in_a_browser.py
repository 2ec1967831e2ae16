"""Runs, comparison and judged runs in a real browser: by keyboard, by mouse, at phone and desktop width."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from conversation_samples import conversation
from saved_samples import COLD, SAMPLES, cases, fill
from serving import serving

from synthesis.api import run_all_cases
from synthesis.history import Provenance, open_history

pytestmark = pytest.mark.browser
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("history") / "history.db"


@pytest.fixture(scope="module")
def ids(place: Path) -> dict[str, str]:
    return fill(place)


@pytest.fixture(scope="module")
def address(place: Path, ids: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert ids
    with serving(tmp_path_factory.mktemp("server"), history=str(place)) as started:
        yield started


@pytest.fixture(params=["phone", "desktop"])
def page(request: pytest.FixtureRequest, browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(viewport=PHONE if request.param == "phone" else DESKTOP, base_url=address)
    yield context.new_page()
    context.close()


@pytest.fixture
def desktop(browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(viewport=DESKTOP, base_url=address, accept_downloads=True)
    yield context.new_page()
    context.close()


PATHS = (
    "/runs",
    "/runs/{new}",
    "/runs/{new}/cases/2",
    "/runs/{bare}/cases/2",
    "/compare",
    "/compare?before={old}&after={new}",
    "/compare?before={old}&after={new}&again=1",
    "/judged",
    "/judged/{judged}",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PATHS)
def test_a_page_fits_is_legible_and_breaks_no_policy(
    page: Any, address: str, ids: dict[str, str], path: str, scheme: str, weak_contrasts: Any
) -> None:
    said: list[str] = []
    heard: list[str] = []
    page.on("request", lambda request: heard.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.emulate_media(color_scheme=scheme)
    page.goto(path.format(**ids))
    page.wait_for_load_state("networkidle")
    assert said == []
    assert all(url.startswith(address) for url in heard)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert weak_contrasts(page) == []


def test_a_file_is_evaluated_and_becomes_a_run(desktop: Any, tmp_path: Path) -> None:
    file = tmp_path / "own cases.jsonl"
    file.write_text("\n".join(json.dumps(one) for one in cases(COLD)), encoding="utf-8")
    desktop.goto("/runs")
    desktop.set_input_files("#file", file)
    desktop.fill("#run-name", "June export")
    desktop.fill("#release", "1.4")
    desktop.click("#upload button.main")
    desktop.wait_for_url("**/runs/*")
    assert desktop.inner_text("h1") == "June export 1.4"
    assert "1 critical: a crisis without help in APP-4. 1 serious in 4 cases." in desktop.inner_text("main")


def test_a_file_that_is_none_is_told_on_the_page(desktop: Any, tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text("{not json", encoding="utf-8")
    desktop.goto("/runs")
    desktop.set_input_files("#file", file)
    desktop.click("text=Evaluate >> nth=-1")
    desktop.locator("#progress.bad", has_text="not valid JSON").wait_for()


def test_two_ticked_runs_are_compared_the_older_one_first(page: Any, ids: dict[str, str]) -> None:
    page.goto("/runs?name=companion")
    for box in page.locator(".pick input").all():
        box.check()
    page.click("text=Compare two")
    assert page.locator("h2", has_text="Newly failing: 1").count() == 1
    assert page.input_value("#before") == ids["old"]


@pytest.fixture(scope="module")
def talk(place: Path, ids: dict[str, str]) -> str:
    """A run of one conversation of many turns."""
    assert ids
    with open_history(place) as history:
        known = Provenance("2026-08-01T08:00:00.000Z", with_text=True, name="talk")
        return history.add_report(run_all_cases([conversation("TALK-1", "ppppppff" * 5)]), known)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_turn_of_a_conversation_is_opened_by_its_place_in_the_strip(
    page: Any, talk: str, scheme: str, weak_contrasts: Any
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(f"/runs/{talk}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert weak_contrasts(page) == []
    turn = page.get_by_role("link", name="turn 31: failed")
    assert min(turn.bounding_box()[side] for side in ("width", "height")) >= 24  # what a finger can hit
    turn.click()
    page.wait_for_url("**/cases/0#caseturn31")
    reply = page.locator("#caseturn31")
    assert "Assistant · turn 31" in reply.inner_text()
    assert 0 <= reply.bounding_box()["y"] < page.viewport_size["height"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert weak_contrasts(page) == []


def test_a_set_is_judged_and_followed_live(desktop: Any, tmp_path: Path) -> None:
    file = tmp_path / "ferry.json"
    file.write_text(json.dumps(SAMPLES), encoding="utf-8")
    desktop.goto("/judged")
    desktop.set_input_files("#file", file)
    desktop.click("#judge button")
    desktop.get_by_text("1 of 2 pass, 50.0 % (faithfulness of 4 or more)").wait_for()
    assert "ferry" in desktop.inner_text("h1")
    assert desktop.get_by_text("Persuasive but wrong").is_visible()


def test_a_sentence_leads_to_its_quote_and_opens_the_passage(page: Any, ids: dict[str, str]) -> None:
    page.goto(f"/judged/{ids['judged']}")
    sign = page.locator("mark sup a[aria-label^='claim 1: supported']").first
    quote = page.locator(f"mark[id='{(sign.get_attribute('href') or '#')[1:]}']")
    passed = page.locator(".case.passed summary").first
    passed.click()
    assert not quote.is_visible()
    sign.focus()
    page.keyboard.press("Enter")
    quote.wait_for(state="visible", timeout=2000)
    page.wait_for_timeout(50)
    box = quote.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < page.viewport_size["height"]
