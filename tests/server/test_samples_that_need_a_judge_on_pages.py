"""A run with samples that could not be told, on every page and door of the server that shows scores."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from told_samples import CASES, RUBRIC, SAMPLES, judged_by_record

from synthesis.history import Provenance, open_history
from synthesis.judge import EvaluationConfig, clients, run_evaluation

HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A history with the run, and with a replay that has a score for every sample."""
    folder = tmp_path_factory.mktemp("told")
    (folder / "all.json").write_text(json.dumps({name: {"faithfulness": 4, "completeness": 4} for name in SAMPLES}))
    replay = {"judge_provider": "replay", "judge_model": str(folder / "all.json")}
    with pytest.MonkeyPatch.context() as patch, open_history(folder / "history.db") as history:
        patch.setattr(clients.LocalJudge, "judge", judged_by_record)
        ids = []
        for name, settings in (("told", {}), ("all", replay)):
            config = EvaluationConfig(output_dir=name, root=folder, rubric=RUBRIC, **settings)
            asyncio.run(run_evaluation(CASES, config))
            ids.append(history.add_judged(folder / name, Provenance(with_text=True, name="library")))
    return folder / "history.db", ids[0], ids[1]


@pytest.fixture(scope="module")
def client(serving: Any, saved: tuple[Path, str, str]) -> Iterator[Any]:
    with serving(history=str(saved[0])) as opened:
        yield opened


def shown(client: Any, path: str) -> str:
    answer = client.get(path, headers=HTML)
    assert answer.status_code == 200, answer.text
    assert not re.search(r"<script(?![^>]* src=)|style=|onclick=", answer.text)
    assert "<b>Enjoy</b>" not in answer.text
    return str(answer.text)


def test_the_page_of_the_run_says_how_it_ended(client: Any, saved: tuple[Path, str, str]) -> None:
    page = shown(client, f"/judged/{saved[1]}")
    assert "7 of 9 samples told" in page
    assert "Need a judge: 2 of 9" in page
    assert 'The answer says <strong class="bad"><bdi>8 to 19</bdi></strong>' in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_the_list_counts_them(client: Any) -> None:
    assert "<dt>need a judge</dt><dd>2</dd>" in shown(client, "/judged")


def test_a_comparison_shows_them_apart(client: Any, saved: tuple[Path, str, str]) -> None:
    page = shown(client, f"/compare?before={saved[1]}&after={saved[2]}")
    assert "7 samples in both runs" in page
    assert "Need a judge in one of the runs: 2" in page
    assert '<span class="badge missed">needs a judge</span>' in page
    assert "faithfulness cannot be told" in page


def test_a_panel_has_no_score_of_them(client: Any, saved: tuple[Path, str, str]) -> None:
    page = shown(client, f"/panel?run={saved[1]}&run={saved[2]}")
    assert "7 samples that two judges or more have a verdict on" in page
    assert "has no verdict on 2 samples that others have as well" in page


def test_the_api_finds_them(client: Any, saved: tuple[Path, str, str]) -> None:
    found = client.get(f"/api/v1/runs/{saved[1]}/samples?outcome=needs_judge").json()
    assert [one["id"] for one in found["items"]] == ["cards", "care"]
    assert {one["passed"] for one in found["items"]} == {None}
    compared = client.get(f"/api/v1/compare?before={saved[1]}&after={saved[2]}").json()
    assert compared["untold"] == ["cards", "care"]


def test_they_are_labelled_after_those_that_failed(client: Any, saved: tuple[Path, str, str]) -> None:
    client.post(f"/label/runs/{saved[1]}/begin", data={"name": "Ana"})
    place = list(SAMPLES).index("care")
    path = f"/label/runs/{saved[1]}/{place}/faithfulness"
    assert "Keep some liquid" in client.get(path).text
    assert client.post(path, data={"answer": "4"}).status_code == 303
    assert "cannot tell: it needs another judge" in client.get(path).text
    asked = []
    for _ in SAMPLES:
        where = client.get(f"/label/runs/{saved[1]}/next").headers["location"]
        asked.append(list(SAMPLES)[int(where.split("/")[-2])])
        for axis in ("faithfulness", "completeness"):
            client.post(f"{where.rpartition('/')[0]}/{axis}", data={"answer": "4"})
    ends = {"hours": 0, "food": 0, "pump": 0, "silent": 0, "cards": 1, "care": 1}
    order = [ends.get(name, 2) for name in dict.fromkeys(asked)]
    assert order == sorted(order)
    assert set(asked) >= {"cards", "lends"}
