"""Saved runs over the API: listed, looked into, tagged, deleted, compared; a file becomes one; without a history."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from saved_samples import COLD, KIND, case, cases, fill

from synthesis.api import run_all_cases
from synthesis.report.compare import compare_reports
from synthesis.report.stored import from_dict


def test_runs_are_listed_the_newest_first_and_page_by_page(full: Any, ids: dict[str, str]) -> None:
    first = full.get("/api/v1/runs", params={"limit": 2}).json()
    assert [run["id"] for run in first["runs"]] == [ids["judged"], ids["new"]]
    rest = full.get("/api/v1/runs", params={"before": first["next"]}).json()
    assert [run["id"] for run in rest["runs"]] == [ids["old"], ids["bare"]]
    assert rest["next"] is None


def test_runs_are_found_by_kind_name_and_tag(full: Any, ids: dict[str, str]) -> None:
    def found(**wanted: str) -> list[str]:
        return [run["id"] for run in full.get("/api/v1/runs", params=wanted).json()["runs"]]

    assert found(kind="judge") == [ids["judged"]]
    assert found(name="bare") == [ids["bare"]]
    assert found(tag="1.0") == [ids["old"]]
    assert found(tag="none such") == []


def test_one_run_has_its_figures_conditions_and_summary(full: Any, ids: dict[str, str]) -> None:
    run = full.get(f"/api/v1/runs/{ids['new']}").json()
    assert run["figures"]["failures"] == 1
    assert run["with_text"] is True
    assert run["summary"]["cases"] == 4
    assert run["conditions"]["tool"]["name"] == "synthesis-eval"
    assert full.get(f"/api/v1/runs/{ids['new'][:8]}").json() == run
    answer = full.get("/api/v1/runs/ffffffffffff")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ["APP-1", "APP-2", "APP-3", "APP-4"]),
        ({"kind": "unexpected"}, ["APP-3"]),
        ({"check": "topic_pivot", "outcome": "fail"}, ["APP-2", "APP-3"]),
        ({"rule": "agency.negative.you-should"}, ["APP-3"]),
        ({"q": "FATHER"}, ["APP-3"]),
        ({"outcome": "pass", "per_page": 1, "page": 2}, ["APP-4"]),
        ({"page": 9}, []),
    ],
)
def test_cases_of_a_run_are_found(full: Any, ids: dict[str, str], wanted: Any, found: list[str]) -> None:
    page = full.get(f"/api/v1/runs/{ids['new']}/outcomes", params=wanted).json()
    assert [one["case_id"] for one in page["items"]] == found


def test_one_case_has_its_evidence_and_its_texts_only_if_they_were_saved(full: Any, ids: dict[str, str]) -> None:
    told = full.get(f"/api/v1/runs/{ids['new']}/cases/APP-3").json()
    assert told["record"]["assistant"] == COLD
    bare = full.get(f"/api/v1/runs/{ids['bare']}/cases/APP-3")
    assert bare.json()["record"]["findings"]
    assert "get over it" not in bare.text
    assert full.get(f"/api/v1/runs/{ids['new']}/cases/no/such").status_code == 404


def test_samples_of_a_judged_run_are_found(full: Any, ids: dict[str, str]) -> None:
    page = full.get(f"/api/v1/runs/{ids['judged']}/samples", params={"iteration": 2, "outcome": "fail"}).json()
    assert [one["id"] for one in page["items"]] == ["wrong <i>"]


def test_the_trend_is_that_of_the_runs(full: Any, ids: dict[str, str]) -> None:
    points = full.get("/api/v1/trend", params={"name": "companion"}).json()
    assert [(point["run_id"], point["figures"]["failures"]) for point in points] == [(ids["old"], 0), (ids["new"], 1)]


def test_two_runs_are_compared_as_on_the_command_line(full: Any, ids: dict[str, str]) -> None:
    told = full.get("/api/v1/compare", params={"before": ids["old"], "after": ids["new"]}).json()
    old, new = (from_dict(run_all_cases(cases(third)).to_dict()) for third in (KIND, COLD))
    expected = compare_reports(old, new)
    assert [change["id"] for change in told["newly_failing"]] == ["APP-3"]
    assert [change["id"] for change in told["newly_failing"]] == [change.id for change in expected.newly_failing]
    assert told["pass_rate"]["p_value"] == expected.pass_rate.p_value  # type: ignore[union-attr]
    same = full.get("/api/v1/compare", params={"before": ids["judged"], "after": ids["judged"]}).json()
    assert same["in_both"] == 2
    mixed = full.get("/api/v1/compare", params={"before": ids["old"], "after": ids["judged"]})
    assert mixed.status_code == 422


def test_a_run_is_tagged_and_deleted(serving: Any, tmp_path: Path) -> None:
    ids = fill(tmp_path / "own.db")
    with serving(history=str(tmp_path / "own.db")) as client:
        path = f"/api/v1/runs/{ids['old']}"
        assert client.post(f"{path}/tags", json={"add": ["kept"], "remove": ["1.0"]}).json()["tags"] == ["kept"]
        assert client.post(f"{path}/tags", json={"add": ["\x07"]}).status_code == 422
        assert client.delete("/api/v1/runs/latest").status_code == 422, "only a whole id can be deleted"
        assert client.delete(path).status_code == 204
        assert client.get(path).status_code == 404
        assert client.delete(path).status_code == 404


def test_an_uploaded_file_becomes_a_run_without_texts_unless_asked(serving: Any, tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(one) for one in cases(COLD))
    with serving(history=str(tmp_path / "new" / "own.db")) as client:
        upload = client.post("/api/v1/uploads", content=lines).json()["id"]
        client.get(f"/api/v1/uploads/{upload}/events")  # ends when it is done
        bare = client.post("/api/v1/runs", json={"upload": upload, "name": "cases.jsonl"})
        assert bare.status_code == 201
        assert (bare.json()["name"], bare.json()["with_text"]) == ("cases.jsonl", False)
        told = client.post("/api/v1/runs", json={"upload": upload, "save_text": True, "tags": ["mine"]}).json()
        assert told["tags"] == ["mine"]
        assert client.get(f"/api/v1/runs/{told['id']}/cases/APP-3").json()["record"]["assistant"] == COLD
        assert client.post("/api/v1/runs", json={"upload": "x" * 22}).status_code == 404


def test_without_a_history_lists_are_empty_and_none_is_begun(serving: Any, tmp_path: Path) -> None:
    place = tmp_path / "nowhere" / "history.db"
    with serving(history=str(place)) as client:
        assert client.get("/api/v1/runs").json() == {"runs": [], "next": None}
        assert client.get("/api/v1/trend").json() == []
        for path in ("runs/latest", "runs/latest/outcomes", "compare?before=latest&after=latest"):
            assert client.get(f"/api/v1/{path}").status_code == 404
        assert client.get("/runs").status_code == 200
        assert not place.parent.exists()


def test_a_history_that_cannot_be_used_is_told_without_its_password(serving: Any) -> None:
    with serving(history="postgresql://somebody:geheim@127.0.0.1:9/none") as client:
        answer = client.get("/api/v1/runs")
        assert answer.status_code == 503
        assert "geheim" not in answer.text


def test_a_damaged_file_is_told(serving: Any, tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_bytes(b"no database" * 100)
    with serving(history=str(tmp_path / "broken.db")) as client:
        assert client.get("/api/v1/runs").status_code == 503
        page = client.get("/runs", headers={"Accept": "text/html"})
        assert page.status_code == 503
        assert "is not available" in page.text


def test_a_case_of_any_name_can_be_asked_for(serving: Any, tmp_path: Path) -> None:
    from synthesis.history import Provenance, open_history
    from synthesis.model import Case

    odd = Case("a/b ü?#%", ("agency_language",), "Hm.", "You must stop.")
    with open_history(tmp_path / "odd.db") as history:
        history.add_report(run_all_cases([odd, case("APP-1", "Hm.", "Hm.")]), Provenance(with_text=True))
    with serving(history=str(tmp_path / "odd.db")) as client:
        answer = client.get("/api/v1/runs/latest/cases/a%2Fb%20%C3%BC%3F%23%25")
        assert answer.json()["case_id"] == odd.id


def test_the_server_finds_the_history_that_the_settings_name(tmp_path: Path) -> None:
    ids = fill(tmp_path / "runs.db")
    (tmp_path / "synthesis.toml").write_text('history = "runs.db"\n', encoding="utf-8")
    command = [sys.executable, "-m", "synthesis", "serve", "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if name != "SYNTHESIS_HISTORY"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as process:
        try:
            assert process.stdout
            address = process.stdout.readline().split()[3]
            listed = httpx.get(f"{address}api/v1/runs", trust_env=False, timeout=60).json()["runs"]
            assert {run["id"] for run in listed} == set(ids.values())
        finally:
            process.terminate()
