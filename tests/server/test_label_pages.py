"""What is offered to be labelled, and that what is taken home can be read again."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import pytest
from saved_samples import cases, fill

from synthesis import bundled
from synthesis.api import load_cases, run_all_cases
from synthesis.model import Case
from synthesis.model.case import Turn
from synthesis.server.pages.label_items import case_fields

HTML = {"Accept": "text/html"}


def exported(page: str) -> list[dict[str, Any]]:
    return [json.loads(unescape(found)) for found in re.findall(r'data-export="([^"]*)"', page)]


@pytest.mark.parametrize("path", sorted(bundled.CASES.parent.glob("evals*.jsonl")), ids=lambda path: path.name)
def test_bundled_cases_come_back_as_they_were(path: Path, tmp_path: Path) -> None:
    known = load_cases(path)
    report = run_all_cases(known)
    texts = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    said = [{key: one[key] for key in ("user", "assistant", "messages") if key in one} for one in texts]
    rows = [
        case_fields(msgspec.structs.replace(result, texts=one), number)
        for number, (result, one) in enumerate(zip(report.results, said, strict=True), start=1)
    ]
    file = tmp_path / "labelled.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for before, after in zip(known, load_cases(file), strict=True):
        assert (after.id, after.exchanges, after.checks) == (before.id, before.exchanges, before.checks)
        assert (after.expected or {}) == (before.expected or {})
        assert after.tags == before.tags


def test_rows_of_a_log_get_ids_and_roles_that_a_case_file_takes(tmp_path: Path) -> None:
    turns = (Turn("developer", "Be kind."), Turn("user", "Hm."), Turn("assistant", "You should stop."))
    odd = [
        Case("log 7", ("agency_language",), messages=turns),
        Case("log 8", ("agency_language",), assistant="You must stop."),
    ]
    records = [
        msgspec.structs.replace(
            run_all_cases([odd[0]]).results[0],
            texts={"messages": [{"role": turn.role, "content": turn.content} for turn in turns]},
        ),
        msgspec.structs.replace(run_all_cases([odd[1]]).results[0], texts={"user": "", "assistant": "You must stop."}),
    ]
    rows = [case_fields(record, number) for number, record in enumerate(records, start=1)]
    file = tmp_path / "labelled.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = load_cases(file)
    assert [case.id for case in found] == ["CASE-1", "CASE-2"]
    assert [case.notes for case in found] == ["was log 7", "was log 8"]
    assert [case.exchanges for case in found] == [[("Hm.", "You should stop.")], [("", "You must stop.")]]


def test_runs_with_texts_bundled_cases_and_files_are_offered(serving: Any, tmp_path: Path) -> None:
    ids = fill(tmp_path / "history.db")
    with serving(history=str(tmp_path / "history.db")) as client:
        page = client.get("/label", headers=HTML).text
        assert f"/label/cases?run={ids['new']}" in page
        assert f"run={ids['bare']}" not in page
        assert f"/label/samples?run={ids['judged']}" in page
        assert "bundled=ja" in page
        rows = exported(client.get(f"/label/cases?run={ids['new']}", headers=HTML).text)
        assert [row["id"] for row in rows] == ["APP-1", "APP-2", "APP-3", "APP-4"]
        samples = client.get(f"/label/samples?run={ids['judged']}", headers=HTML).text
        assert exported(samples) == [{"queryLogId": "right"}, {"queryLogId": "wrong <i>"}]
        refused = client.get(f"/label/cases?run={ids['bare']}", headers=HTML)
        assert refused.status_code == 409
        assert "without its texts" in refused.text


def test_painful_texts_are_hidden_behind_a_warning(client: Any) -> None:
    page = client.get("/label/cases?bundled=en", headers=HTML).text
    assert "Show the texts" in page
    assert '<div id="bench" hidden' in page
    assert "nothing is sent to the server" in page


def test_an_uploaded_file_can_be_labelled(client: Any) -> None:
    lines = "\n".join(json.dumps(one) for one in cases("Hm."))
    upload = client.post("/api/v1/uploads", content=lines).json()["id"]
    client.get(f"/api/v1/uploads/{upload}/events")
    page = client.get(f"/label/cases?upload={upload}", headers=HTML).text
    assert len(exported(page)) == 4
    assert "They may be about" in page or "Some of these texts" in page


@pytest.mark.parametrize("query", ["", "bundled=xx", "upload=../../x", "run=zz", "bundled=en&part=99999999999999"])
def test_what_is_not_there_is_said(client: Any, query: str) -> None:
    answer = client.get(f"/label/cases?{query}", headers=HTML)
    assert answer.status_code == (200 if "part" in query else 404)
