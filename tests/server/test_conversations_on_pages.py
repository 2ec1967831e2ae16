"""Conversations of several turns on the pages: strips of turns that open the turn, drift, comparison."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conversation_samples import conversation

from synthesis.api import run_all_cases
from synthesis.history import Provenance, open_history

HTML = {"Accept": "text/html"}
OLD, NEW = ["ppppppff"] * 20 + ["pppppppp"], ["ppppppff"] + ["pppppppp"] * 20


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory, serving: Any) -> Iterator[tuple[Any, dict[str, str]]]:
    place: Path = tmp_path_factory.mktemp("talks") / "history.db"
    with open_history(place) as history:
        saved = {
            name: history.add_report(
                run_all_cases([conversation(f"TALK-{n}", pattern) for n, pattern in enumerate(patterns)]),
                Provenance(f"2026-10-0{day}T08:00:00.000Z", with_text=with_text, name="talks"),
            )
            for day, (name, patterns, with_text) in enumerate((("old", OLD, True), ("new", NEW, False)), start=1)
        }
    with serving(history=str(place)) as client:
        yield client, saved


def shown(client: Any, path: str) -> str:
    answer = client.get(path, headers=HTML)
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def test_a_turn_in_the_list_opens_the_case_at_that_turn(talks: tuple[Any, dict[str, str]]) -> None:
    client, saved = talks
    page = shown(client, f"/runs/{saved['old']}")
    place, turn = f"/runs/{saved['old']}/cases/0", "caseturn7"
    assert f'<a class="cell" href="{place}#{turn}" aria-label="turn 7: failed"' in page
    assert f'id="{turn}"' in shown(client, place)
    assert "fails first in turn 7 of 8, 2 assessed turns in a row, first half 0 %, second half 50 %" in page


def test_who_opens_a_turn_about_a_crisis_is_warned_before(tmp_path: Path, serving: Any) -> None:
    talk = conversation("TALK-1", "pf") | {"tags": ["crisis"]}
    with open_history(tmp_path / "history.db") as history:
        run = history.add_report(run_all_cases([talk]), Provenance(with_text=True))
    with serving(history=str(tmp_path / "history.db")) as client:
        page = shown(client, f"/runs/{run}")
    assert page.index("Some of these texts are about suicide") < page.index("turn 2: failed")


def test_the_page_of_a_run_says_what_its_conversations_say_together(talks: tuple[Any, dict[str, str]]) -> None:
    client, saved = talks
    page = shown(client, f"/runs/{saved['old']}")
    assert "Over the conversation" in page
    assert "20 got worse" in page
    assert "no drift shown" in shown(client, f"/runs/{saved['new']}")


def test_a_run_saved_without_texts_keeps_its_strips(talks: tuple[Any, dict[str, str]]) -> None:
    client, saved = talks
    assert "turn 7: failed" in shown(client, f"/runs/{saved['new']}")
    failed = shown(client, f"/runs/{saved['new']}/cases/0")
    assert 'role="img" aria-label="turn 7: failed"' in failed
    passed = shown(client, f"/runs/{saved['new']}/cases/1")
    assert "Passed wherever it applied: <code>agency_language</code>" in passed


def test_two_runs_are_compared_by_their_drift(talks: tuple[Any, dict[str, str]]) -> None:
    client, saved = talks
    page = shown(client, f"/compare?before={saved['old']}&after={saved['new']}")
    assert "Drift over the conversation" in page
    words = " ".join(re.sub(r"<[^>]*>", "", page).split())
    assert "agency_language, 21 conversations" in words
    assert "+47.6 → +2.4 points; change -45.2" in words
    assert "less drift" in words
