"""The server reads with the learned reader unless it was started with rules; its pages and its API tell which."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from learned_samples import NAME, PRESSURE, REPLY, USER, WHY

from synthesis.history import open_history
from synthesis.server.api import jobs
from synthesis.server.jobs import UploadTask

pytest.importorskip("sqlalchemy")
ID = f"learned.{PRESSURE}"
ROW = json.dumps({"user": USER, "assistant": REPLY}).encode()


@pytest.fixture
def learned(toy_reader: None, serving: Any) -> Iterator[Any]:
    with serving() as client:
        yield client


def checked(client: Any) -> Any:
    answer = client.post("/api/v1/check", json={"user": USER, "assistant": REPLY})
    assert answer.status_code == 200, answer.text
    return answer.json()


def uploaded(client: Any, **query: str) -> Any:
    answer = client.post("/api/v1/uploads", content=ROW, params=query)
    assert answer.status_code == 202, answer.text
    name = answer.json()["id"]
    client.get(f"/api/v1/uploads/{name}/events")
    return client.get(f"/api/v1/uploads/{name}/report").json()


def test_a_verdict_has_the_findings_of_the_reader(learned: Any) -> None:
    verdict = checked(learned)
    (found,) = [one for one in verdict["findings"] if one.get("reader")]
    assert (verdict["outcome"], found["rule"], found["reader"], found["why"]) == ("fail", ID, NAME, WHY)
    assert verdict["remarks"][0]["reader"] == NAME


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[UploadTask]:
    """The uploads that are handed to other processes, which do not know the toy."""
    found: list[UploadTask] = []
    receive = jobs.receive

    async def noted(request: Any, store: Any, task: Any) -> Any:
        found.append(task)
        return await receive(request, store, task)

    monkeypatch.setattr(jobs, "receive", noted)
    return found


def test_an_upload_chooses_its_reader(learned: Any, tasks: list[UploadTask]) -> None:
    uploaded(learned)
    assert uploaded(learned, reader="rules")["reader"] == {"name": "rules"}
    assert [task.reader for task in tasks] == ["learned", "rules"]
    assert [task._spec(Path()).reader for task in tasks] == ["learned", "rules"]
    assert learned.post("/api/v1/uploads", content=ROW, params={"reader": "model"}).status_code == 422


@pytest.mark.usefixtures("toy_reader")
def test_a_server_of_rules_alone_is_one_throughout(serving: Any, tasks: list[UploadTask]) -> None:
    with serving(reader="rules") as client:
        assert checked(client)["outcome"] == "pass"
        assert uploaded(client)["reader"] == {"name": "rules"}
    assert [task.reader for task in tasks] == ["rules"]


def test_its_rules_are_explained_by_the_api_and_lead_to_the_command(learned: Any) -> None:
    detail = learned.get(f"/api/v1/rules/en/{ID}").json()
    assert (detail["id"], detail["why"], detail["guards"]) == (ID, WHY, [])
    page = learned.get(f"/rules/en/{ID}")
    assert page.status_code == 404
    assert f"synthesis reader show {PRESSURE}" in page.text


def test_pages_tell_its_words_from_those_of_rules(learned: Any) -> None:
    page = learned.post("/", data={"user": USER, "assistant": REPLY}).text
    assert '<mark class="against learned">' in page
    assert f"synthesis reader show {PRESSURE}" in page
    assert f"/rules/en/{ID}" not in page


@pytest.mark.usefixtures("toy_reader")
def test_pages_of_runs_name_the_reader_and_repeat_with_it(serving: Any, tmp_path: Any) -> None:
    from synthesis import evaluate_files
    from synthesis.history import Provenance

    place, log = tmp_path / "history.db", tmp_path / "log.jsonl"
    log.write_bytes(ROW)
    with open_history(str(place)) as history:
        ids = [
            history.add_report(evaluate_files(log, reader=reader), Provenance(name="night", with_text=True))
            for reader in ("rules", "learned", "learned")
        ]
    with serving(history=str(place)) as client:
        assert f"reader {NAME}" in client.get(f"/runs/{ids[2]}").text
        assert client.get(f"/api/v1/runs/{ids[0]}").json()["reader"] == "rules"
        across = client.get("/compare", params={"before": ids[0], "after": ids[2]}).text
        assert "reader" in across
        again = client.get("/compare", params={"before": ids[1], "after": ids[2], "again": "1"}).text
        assert f"the reader {NAME}" in again
