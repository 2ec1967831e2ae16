"""The page of a panel: ticked in the list, without a script, everything escaped, refusals in words."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from panel_samples import fill_panel

HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("panel")
    return folder / "history.db", fill_panel(folder)


@pytest.fixture(scope="module")
def client(serving: Any, saved: tuple[Path, dict[str, str]]) -> Iterator[Any]:
    with serving(history=str(saved[0])) as opened:
        yield opened


def shown(client: Any, saved: tuple[Path, dict[str, str]], *names: str) -> str:
    answer = client.get("/panel", params={"run": [saved[1][name] for name in names]}, headers=HTML)
    assert answer.status_code == 200, answer.text
    assert not re.search(r"<script(?![^>]* src=)|style=|onclick=", answer.text)
    assert "wrong <i>" not in answer.text
    assert "alert(1)</script>" not in answer.text
    return str(answer.text)


def test_the_list_leads_to_a_panel_without_a_script(client: Any) -> None:
    page = client.get("/judged", headers=HTML).text
    assert '<button class="main" formaction="/panel">' in page
    assert page.count('name="run"') == 4


def test_it_shows_agreement_judges_and_where_they_differ_most(client: Any, saved: Any) -> None:
    page = shown(client, saved, "offline", "mild")
    assert "2 samples that two judges or more have a verdict on" in page
    assert "faithfulness: Krippendorff’s alpha" in page
    assert "Where they differ: " in page
    first = page[page.index('id="sample1"') :]
    assert first.startswith('id="sample1">wrong &lt;i&gt;')
    assert "faithfulness 5" in first
    assert "&lt;script&gt;alert(1)" in first
    assert "completeness (not validated)" in page
    assert f'/judged/{saved[1]["mild"]}"' in page


def test_samples_with_other_texts_are_left_out_and_counted(client: Any, saved: Any) -> None:
    page = shown(client, saved, "offline", "changed")
    assert "1 sample that two judges or more" in page
    assert "1 sample left out: the runs have judged different texts" in page


def test_the_same_judge_twice_is_said(client: Any, saved: Any) -> None:
    assert "are by the same judge" in shown(client, saved, "mild", "changed")


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ((), "Tick two to 10 runs"),
        (("mild",), "Tick two to 10 runs"),
        (("mild", "mild"), "Tick two to 10 runs"),
        (("mild", "checks"), "choose judged runs only"),
        (("mild", "course"), "The runs have different rubrics"),
    ],
)
def test_what_is_no_panel_is_refused_in_words(client: Any, saved: Any, names: tuple[str, ...], told: str) -> None:
    assert told in shown(client, saved, *names)


def test_a_run_that_is_not_there_is_not_found(client: Any, saved: Any) -> None:
    answer = client.get("/panel", params={"run": [saved[1]["mild"], "ffffffffffff"]}, headers=HTML)
    assert answer.status_code == 404
