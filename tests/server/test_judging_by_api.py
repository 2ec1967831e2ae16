"""A judged run over the API: started with a set, followed by events, looked at, saved; and what cannot be judged."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from saved_samples import SAMPLES


@pytest.fixture(scope="module")
def judging(serving: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with serving(history=str(tmp_path_factory.mktemp("judged") / "history.db"), max_upload=100_000) as client:
        yield client


def followed(client: Any, job: str) -> list[tuple[str, dict[str, Any]]]:
    text = client.get(f"/api/v1/judge/runs/{job}/events").text
    events = [block.splitlines() for block in text.split("\n\n") if block.startswith("event")]
    return [(lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))) for lines in events]


def test_a_set_is_judged_followed_and_saved(judging: Any) -> None:
    options = {"name": "ferry", "iterations": 2, "save_text": True}
    answer = judging.post("/api/v1/judge/runs", params=options, content=json.dumps(SAMPLES))
    assert answer.status_code == 202
    job = answer.json()["id"]
    assert answer.headers["location"] == f"/api/v1/judge/runs/{job}"
    name, last = followed(judging, job)[-1]
    assert (name, last["state"], last["total"], last["judged"]) == ("done", "done", 4, 4)
    results = judging.get(f"/api/v1/judge/runs/{job}/results").json()
    assert len(results["iterations"]) == 2
    scores = {record["id"]: record["passed"] for record in results["iterations"][-1]["records"]}
    assert scores == {"right": True, "wrong <i>": False}
    saved = judging.get(f"/api/v1/runs/{last['run_id']}").json()
    assert (saved["kind"], saved["name"], saved["with_text"]) == ("judge", "ferry", True)


def test_nothing_is_saved_unless_wanted(judging: Any) -> None:
    before = judging.get("/api/v1/runs").json()
    job = judging.post("/api/v1/judge/runs", params={"save": False}, content=json.dumps(SAMPLES)).json()["id"]
    _, last = followed(judging, job)[-1]
    assert last["state"] == "done"
    assert "run_id" not in last
    assert judging.get("/api/v1/runs").json() == before
    assert judging.get(f"/api/v1/judge/runs/{job}/results").status_code == 200


@pytest.mark.parametrize("content", ["{", "[]", "[1]", '[{"id": "a"}]', "\xff"])
def test_what_is_no_set_is_told_without_a_path(judging: Any, content: str) -> None:
    job = judging.post("/api/v1/judge/runs", content=content.encode("latin-1")).json()["id"]
    _, last = followed(judging, job)[-1]
    assert last["state"] == "failed"
    assert last["error"]["code"] == "invalid_set"
    assert "set.json" not in last["error"]["message"]
    assert judging.get(f"/api/v1/judge/runs/{job}/results").status_code == 409


def test_a_run_that_waits_can_be_cancelled(serving: Any, tmp_path: Path) -> None:
    with serving(history=str(tmp_path / "history.db")) as client:
        many = [sample | {"queryLogId": f"{n}-{sample['queryLogId']}"} for n in range(200) for sample in SAMPLES]
        jobs = [client.post("/api/v1/judge/runs", content=json.dumps(many)).json()["id"] for _ in range(2)]
        for job in jobs:
            assert client.post(f"/api/v1/judge/runs/{job}/cancel").status_code == 200
        assert followed(client, jobs[1])[-1][1]["state"] == "cancelled"
        assert followed(client, jobs[0])[-1][1]["state"] in {"cancelled", "done"}


def test_limits_are_told(judging: Any) -> None:
    assert judging.post("/api/v1/judge/runs", content=b"").status_code == 422
    assert judging.post("/api/v1/judge/runs", content=b" " * 200_000).status_code == 413
    for params in ({"iterations": 0}, {"iterations": 11}, {"rubric": "../../etc/passwd"}):
        assert judging.post("/api/v1/judge/runs", params=params, content=b"[]").status_code == 422
    for path in ("", "/events", "/results"):
        assert judging.get(f"/api/v1/judge/runs/{'x' * 22}{path}").status_code == 404


def test_the_set_is_not_kept(serving: Any, tmp_path: Path) -> None:
    with serving(tmp_path, history=str(tmp_path / "history.db")) as client:
        job = client.post("/api/v1/judge/runs", content=json.dumps(SAMPLES)).json()["id"]
        followed(client, job)
        assert not list(tmp_path.rglob("set.json"))
