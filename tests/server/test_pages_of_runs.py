"""The pages of runs, without a script: lists, one run, one case, two compared, judged ones; everything escaped."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from crisis_samples import CUE, JOKE
from saved_samples import COLD, KIND, cases, fill, judged_folder

from synthesis.api import run_all_cases
from synthesis.history import Provenance, open_history
from synthesis.model import Case
from synthesis.model.report import Report
from synthesis.server.pages.compare import newest_pair

HTML = {"Accept": "text/html"}


def shown(client: Any, path: str, status: int = 200) -> str:
    answer = client.get(path, headers=HTML)
    assert answer.status_code == status, answer.text
    assert "<b>Anyway</b>" not in answer.text
    assert "wrong <i>" not in answer.text
    assert not re.search(r"<script(?![^>]* src=)|style=|onclick=", answer.text)
    return str(answer.text)


def test_an_empty_list_says_how_to_save_a_run(client: Any) -> None:
    page = shown(client, "/runs")
    assert "synthesis --save" in page
    assert 'type="file"' in page
    assert "synthesis judge run" in shown(client, "/judged")
    assert "not yet two runs" in shown(client, "/compare")


def test_the_list_shows_runs_tags_and_the_trend_of_one_name(full: Any, ids: dict[str, str]) -> None:
    page = shown(full, "/runs")
    assert page.index(f'value="{ids["new"]}"') < page.index(f'value="{ids["old"]}"')
    assert ids["judged"] not in page
    assert re.search(r'aria-label="agency_language: \S+ \S+ %, \S+ \S+ %"', page)
    assert 'aria-label="Label accuracy: ' in page
    assert ids["bare"] not in shown(full, "/runs?name=companion")
    assert "No run matches" in shown(full, "/runs?tag=none+such")


def test_the_list_names_checks_release_severities_and_alerts(serving: Any, tmp_path: Path) -> None:
    rows = [{"id": "A-1", "user": CUE, "assistant": JOKE}, {"id": "Q-2", "user": "Hello.", "assistant": "Hello."}]
    with serving(history=str(tmp_path / "own.db")) as client:
        for content in ("\n".join(map(json.dumps, rows)), json.dumps(rows[1]) + "\n{broken\n"):
            sent = client.post("/api/v1/uploads", content=content.encode(), params={"checks": "flattery"}).json()
            client.get(f"/api/v1/uploads/{sent['id']}/events")
            client.post("/api/v1/runs", json={"upload": sent["id"], "name": "June", "tags": ["1.4"]})
        broken, crisis = re.findall(r'<li class="card run-row">.*?</li>', shown(client, "/runs"), re.DOTALL)
    assert '<dt>critical</dt><dd class="bad">1</dd>' in crisis
    assert "<dt>alert</dt><dd>1</dd>" in crisis
    assert '<span class="tag">1.4</span>' in crisis
    assert "· crisis_response, flattery" in crisis
    assert '<dt>without a verdict</dt><dd class="bad">1</dd>' in broken
    assert 'class="good"' not in broken, "one bad line of two is not green"


def test_the_form_comes_first_with_all_checks_ticked(full: Any, ids: dict[str, str]) -> None:
    page = shown(full, "/runs")
    places = [page.index(words) for words in ('id="file"', 'id="run-name"', 'id="release"', ids["new"])]
    assert places == sorted(places)
    boxes = re.findall(r'<input type="checkbox" name="checks"[^>]*>', page)
    assert boxes
    assert all("checked" in box for box in boxes)
    assert "everyone who may open this server can read them" in page


def test_a_review_on_the_page_of_a_case_goes_to_the_labels(serving: Any, tmp_path: Path) -> None:
    ids = fill(tmp_path / "own.db")
    case = f"/runs/{ids['new']}/cases/2"
    with serving(history=str(tmp_path / "own.db")) as client:
        page = shown(client, case)
        assert page.index('class="badge serious"') < page.index('class="conversation"') < page.index('class="checks"')
        check = re.findall(r'name="verdict-(\w+)"', page)[0]
        form = {f"verdict-{check}": "wrong", "note": "Asked for <b>advice</b>.", "name": "Mia", "back": case}
        assert client.post(f"{case}/review", data=form).headers["location"] == case
        after = shown(client, case)
        assert '<span class="badge answered">reviewed</span>' in after
        assert f'name="verdict-{check}" value="wrong" checked' in after
        assert "Asked for &lt;b&gt;advice&lt;/b&gt;." in after
        (label,) = client.get(f"/api/v1/runs/{ids['new']}/labels").json()
        assert (label["position"], label["question"], label["answer"]) == (2, check, "no")
        assert label["first_answer"] == "skip", "the verdict was in view, so it counts in no agreement"
        assert 'name="name"' not in after
        assert client.post(f"/runs/{ids['new']}/cases/99/review", data=form).status_code == 404
        assert client.post(f"{case}/review", data={"name": "Mia", "back": "//evil.example"}).headers["location"] == "/"


def test_the_page_of_a_run_has_charts_and_finds_cases(full: Any, ids: dict[str, str]) -> None:
    page = shown(full, f"/runs/{ids['new']}")
    assert "No critical failure. 1 serious in 4 cases." in page
    assert "Outcomes per check" in page
    assert "failed, as expected (negative examples)" in page
    assert "Rules that fired" in page
    assert page.count("/cases/") == 4
    found = shown(full, f"/runs/{ids['new']}?kind=unexpected")
    assert found.count("/cases/") == 1
    assert "No case matches" in shown(full, f"/runs/{ids['new']}?q=zebra")
    assert shown(full, f"/runs/{ids['new']}?page=nonsense").count("/cases/") == 4
    assert shown(full, "/runs/ffffffffffff", 404)


def test_a_case_shows_its_words_marked_or_says_why_not(full: Any, ids: dict[str, str]) -> None:
    told = shown(full, f"/runs/{ids['new']}/cases/2")
    assert "<mark" in told
    assert "/rules/en/agency.negative.you-should" in told
    bare = shown(full, f"/runs/{ids['bare']}/cases/2")
    assert "<mark" not in bare.partition("How to read the marks")[0]
    assert "saved without its texts" in bare
    assert shown(full, f"/runs/{ids['new']}/cases/99", 404)
    assert shown(full, f"/runs/{ids['new']}/cases/x", 404)


def test_nobody_comes_upon_a_painful_text_unasked(full: Any, ids: dict[str, str]) -> None:
    page = shown(full, f"/runs/{ids['new']}/cases/3")
    before, _, inside = page.partition('<details class="hits"><summary>Show the case. Some of these texts')
    assert "kill myself" not in before
    assert "kill myself" in unescape(re.sub(r"<[^>]+>", "", inside))


def test_a_comparison_shows_changed_verdicts_first_and_side_by_side(full: Any, ids: dict[str, str]) -> None:
    page = shown(full, f"/compare?before={ids['old']}&after={ids['new']}")
    assert "Newly failing: 1" in page
    assert page.index("Newly failing") < page.index("Before</h4>") < page.index("After</h4>")
    assert page.index("1 new ") < page.index("Newly failing") < page.index("no difference shown beyond chance")
    ticked = shown(full, f"/compare?run={ids['new']}&run={ids['old']}")
    assert "Newly failing: 1" in ticked, "ticked in the list, the older one is taken as before"
    assert "Newly passing: 1" in shown(full, f"/compare?before={ids['new']}&after={ids['old']}")
    assert "No new failure and nothing fixed" in shown(full, f"/compare?before={ids['new']}&after={ids['new']}")
    assert "cannot be compared" in shown(full, f"/compare?before={ids['new']}&after={ids['judged']}")
    assert "Choose two runs" in shown(full, f"/compare?run={ids['new']}")


def changed(report: Report, **conditions: Any) -> Report:
    return msgspec.structs.replace(report, conditions=report.conditions | conditions)


def test_a_comparison_praises_no_other_ruler(serving: Any, tmp_path: Path) -> None:
    before, after = (run_all_cases(cases(reply)) for reply in (COLD, KIND))
    known = Provenance(with_text=True, name="companion")
    place = tmp_path / "history.db"
    with open_history(place) as history:
        old = history.add_report(before, known)
        traffic = history.add_report(changed(after, profile="traffic"), known)
        rules = history.add_report(changed(after, rules=after.conditions["rules"] | {"hash": "f" * 16}), known)
    with serving(history=str(place)) as client:
        refused = shown(client, f"/compare?before={old}&after={traffic}")
        assert "Not comparable" in refused
        assert "Newly passing" not in refused
        assert "again=1" in refused
        assert "Newly passing: 1" in shown(client, f"/compare?before={old}&after={traffic}&across=1")
        listed = shown(client, f"/compare?before={old}&after={rules}")
        assert "Measured differently" in listed
        assert "Newly passing: 1" in listed
        assert "McNemar" not in listed
        again = shown(client, f"/compare?before={old}&after={rules}&again=1")
        assert "evaluated again" in again
        assert "Newly passing: 1" in again
        assert "McNemar" in again
        assert "profile traffic" in shown(client, "/runs")


def test_a_judged_run_shows_its_figures_corners_and_claims(full: Any, ids: dict[str, str]) -> None:
    page = shown(full, f"/judged/{ids['judged']}")
    for words in (
        "2 of 2 samples told offline",
        "1 of 2 pass, 50.0 % (faithfulness of 4 or more)",
        "(not validated)",
        "95 % interval",
        "Persuasive but wrong",
        "Accurate but useless",
        "2 iterations",
    ):
        assert words in page
    assert "wrong &lt;i&gt;" in page
    assert 'aria-label="claim 1: ' in page  # each sentence leads to its claim
    assert "✗ 1 contradicted" in page or "? 1 not found in the context" in page
    assert len(ids_of(page)) == len(set(ids_of(page)))
    assert full.get(f"/runs/{ids['judged']}", headers=HTML).headers["location"] == f"/judged/{ids['judged']}"


def test_the_trend_of_offline_completeness_says_that_it_is_not_validated(serving: Any, tmp_path: Path) -> None:
    with open_history(tmp_path / "history.db") as history:
        for name in ("one", "two"):
            history.add_judged(judged_folder(tmp_path / name), Provenance(name="ferry"))
    with serving(history=str(tmp_path / "history.db")) as client:
        page = shown(client, "/judged")
    assert 'aria-label="Mean completeness (not validated): ' in page


def test_a_bundled_set_is_judged_without_script(serving: Any, tmp_path: Path) -> None:
    with serving(history=str(tmp_path / "history.db")) as client:
        answer = client.post("/judged", data={"set": "passages", "iterations": "1"})
        assert answer.status_code == 303
        path = answer.headers["location"]
        client.get(f"/api/v1/judge/runs/{path.rpartition('/')[2]}/events")
        page = client.get(path).text
        assert "Saved as run" in page
        saved = re.search(r"/judged/([0-9a-f]{12})", page)
        assert saved
        assert "saved without its texts" in client.get(saved[0]).text
        assert client.post("/judged", data={"set": "../passages"}).status_code == 422


def test_tags_and_deletion_work_without_script(serving: Any, tmp_path: Path) -> None:
    ids = fill(tmp_path / "own.db")
    with serving(history=str(tmp_path / "own.db")) as client:
        path = f"/runs/{ids['old']}"
        assert client.post(f"{path}/tags", data={"add": "kept"}).headers["location"] == path
        assert "kept" in client.get(path).text
        assert client.post(f"{path}/tags", data={"remove": "kept"}).status_code == 303
        assert "kept" not in client.get(path).text
        assert client.post(f"{path}/delete", data={}).status_code == 422
        assert client.post(f"{path}/delete", data={"sure": "yes"}).headers["location"] == "/runs"
        assert client.get(path).status_code == 404
        other = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
        assert client.post(f"/runs/{ids['new']}/delete", data={"sure": "yes"}, headers=other).status_code == 403


def test_ids_names_and_tags_of_any_kind_stay_text(serving: Any, tmp_path: Path) -> None:
    hostile = '"><script>alert(1)</script>'
    with open_history(tmp_path / "own.db") as history:
        for reply in ("Would you like to talk?", "You must stop."):
            report = run_all_cases([Case(hostile, ("agency_language",), "Hm.", reply, tags=(hostile,))])
            history.add_report(report, Provenance(with_text=True, name=hostile, tags=(hostile,)))
        after, before = (run.id for run in history.runs())
    with serving(history=str(tmp_path / "own.db")) as client:
        pages = ("/runs", f"/runs/{after}", f"/runs/{after}/cases/0", f"/label/runs/{after}", "/label")
        for path in (*pages, f"/compare?before={before}&after={after}"):
            page = client.get(path, headers=HTML)
            assert page.status_code == 200
            assert "<script>" not in page.text
            assert len(ids_of(page.text)) == len(set(ids_of(page.text)))
            assert all(" " not in name for name in ids_of(page.text))


def ids_of(page: str) -> list[str]:
    return re.findall(r'\bid="([^"]*)"', page)


def test_the_two_newest_runs_of_one_name_are_suggested() -> None:
    class Run(NamedTuple):
        name: str
        kind: str = "checks"
        id: str = ""

    offered: Any = [Run("b", id="4"), Run("a", id="3"), Run("c", id="2"), Run("a", id="1")]
    assert [run and run.id for run in newest_pair(offered)] == ["1", "3"]
    assert [run and run.id for run in newest_pair(offered[:2])] == ["3", "4"]
    assert newest_pair(offered[:1]) == (None, None)
