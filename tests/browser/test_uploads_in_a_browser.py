"""Uploads in a real browser: the first rows are shown, columns are chosen, and what is wrong is told on the page."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from saved_samples import COLD, cases
from serving import serving

pytestmark = pytest.mark.browser
WIDTHS = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 900}}
SAID, GOOD, BAD = "I lost my job and I feel awful.", "I'm sorry. Would you like to talk?", "You should just move on."
MIXED = f"Ticket,Sender Type,Body\na,customer,{SAID}\nb,customer,{SAID}\na,bot,{GOOD}\nb,bot,{BAD}\n"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(params=WIDTHS)
def page(request: pytest.FixtureRequest, browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(viewport=WIDTHS[request.param], base_url=address)
    yield context.new_page()
    context.close()


def choose(page: Any, path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")
    page.goto("/runs")
    page.set_input_files("#file", path)


def test_the_first_rows_are_shown_and_what_they_seem_to_be(page: Any, tmp_path: Path, weak_contrasts: Any) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    choose(page, tmp_path / "export.csv", MIXED)
    page.locator("#rows tbody tr").nth(3).wait_for()
    assert page.is_checked("[name=shape][value=message]")
    assert [page.input_value(f"#column-{field}") for field in ("conversation", "role", "text")] == [
        "Ticket",
        "Sender Type",
        "Body",
    ]
    assert "What is said" in page.inner_text("#rows th:last-child")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("[...document.querySelectorAll('#upload :is(select, input)')].every(one => one.labels.length)")
    assert weak_contrasts(page) == []
    assert said == []


def test_a_mixed_export_is_told_what_cures_it_and_then_evaluated(page: Any, tmp_path: Path) -> None:
    choose(page, tmp_path / "export.csv", MIXED)
    page.click("#upload button.main")
    told = page.locator("#progress.bad")
    told.wait_for()
    assert "line 4 (a): the conversation returns" in told.inner_text()
    assert "Tick “Sort rows by conversation”" in told.inner_text()
    assert not re.search(r"--[a-z]|/tmp|upload\.csv", told.inner_text())
    page.check("#sort")
    assert page.is_checked("[name=checks][value=flattery]"), "all checks run until somebody chooses"
    page.select_option("#profile", "authored")
    page.click("#upload button.main")
    page.wait_for_url("**/runs/*")
    assert "1 serious in 2 cases" in page.inner_text("main")
    assert "flattery" in page.inner_text("main")


def test_columns_are_chosen_where_nobody_can_tell(page: Any, tmp_path: Path) -> None:
    choose(page, tmp_path / "log.csv", f"left,right\n{SAID},{BAD}\n")
    page.click("#upload button.main")
    page.locator("#progress.bad", has_text="Choose a column for “What the user says”").wait_for()
    page.select_option("#column-user", "left")
    page.select_option("#column-assistant", "left")
    page.click("#upload button.main")
    page.locator("#progress.bad", has_text="are the same column").wait_for()
    page.select_option("#column-assistant", "right")
    page.click("#upload button.main")
    page.wait_for_url("**/runs/*")
    assert "1 serious in 1 case" in page.inner_text("main")


def test_cases_are_asked_nothing_that_they_say_themselves(page: Any, tmp_path: Path) -> None:
    choose(page, tmp_path / "cases.jsonl", "\n".join(json.dumps(one) for one in cases(COLD)))
    page.locator("#about", has_text="each names the checks").wait_for()
    assert [page.is_visible(part) for part in ("#shape", "#columns", "#checks", "#sorting")] == [False] * 4
    page.click("#upload button.main")
    page.wait_for_url("**/runs/*")


def test_words_of_a_file_are_shown_as_words(page: Any, tmp_path: Path) -> None:
    choose(page, tmp_path / "log.csv", "user,<b>assistant\n<img src=x onerror=alert(1)>,Hello\n")
    page.locator("#rows td", has_text="<img src=x").wait_for()
    assert page.locator("#rows img, #rows b").count() == 0
