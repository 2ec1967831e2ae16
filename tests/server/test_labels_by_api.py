"""Labels by the API: letters instead of names, nobody's answer before one's own, and figures."""

from pathlib import Path
from typing import Any

import pytest
from saved_samples import COLD, cases

from synthesis.api import run_all_cases
from synthesis.history import Provenance, open_history
from synthesis.server.security import add_person, load_people

PIVOT = {"position": 2, "question": "topic_pivot"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with open_history(tmp_path / "history.db") as history:
        history.add_report(run_all_cases(cases(COLD)), Provenance(with_text=True))
    return tmp_path / "history.db"


def test_labels_are_given_and_read_under_letters(serving: Any, place: Path) -> None:
    with serving(history=str(place)) as client:
        path = "/api/v1/runs/latest/labels"
        for name, answer in (("Ana", "yes"), ("Bo", "no"), ("Ana", "no")):
            given = client.post(path, json=PIVOT | {"answer": answer, "person": name})
            assert given.status_code == 201
            assert name not in given.text
        found = client.get(path).json()
        assert [(one["person"], one["answer"], one["first_answer"]) for one in found] == [
            ("A", "no", "yes"),
            ("B", "no", "no"),
        ]
        assert {one["person"] for one in client.get(f"{path}?names=true").json()} == {"Ana", "Bo"}
        summary = client.get(f"{path}/summary").json()
        assert (summary["people"], summary["unverified"], summary["labels"]) == (2, 2, 2)
        pivot = next(one for one in summary["questions"] if one["question"] == "topic_pivot")
        assert pivot["recall"]["reason"] == "the cases were not drawn with known probabilities"


def test_someone_with_a_token_sees_others_where_they_have_answered(serving: Any, place: Path, tmp_path: Path) -> None:
    tokens = {name: add_person(tmp_path / "people.toml", name) for name in ("Ana", "Bo")}
    ana, bo = ({"Authorization": f"Bearer {token}"} for token in tokens.values())
    with serving(history=str(place), people=load_people(tmp_path / "people.toml")) as client:
        path = "/api/v1/runs/latest/labels"
        assert client.post(path, json=PIVOT | {"answer": "yes", "person": "Bo"}, headers=ana).status_code == 201
        assert client.get(path, headers=bo).json() == []
        client.post(path, json=PIVOT | {"answer": "skip"}, headers=bo)
        assert [one["person"] for one in client.get(path, headers=bo).json()] == ["B"]
        client.post(path, json=PIVOT | {"answer": "no"}, headers=bo)
        seen = client.get(f"{path}?names=true", headers=bo).json()
        assert [(one["person"], one["verified"]) for one in seen] == [("Ana", True), ("Bo", True)]
        assert client.post(path, json=PIVOT | {"answer": "yes"}).status_code == 401


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (PIVOT | {"answer": "perhaps", "person": "Ana"}, 422),
        (PIVOT | {"answer": "yes"}, 422),
        ({"position": 2, "question": "nothing", "answer": "yes", "person": "Ana"}, 404),
        (PIVOT | {"answer": "yes", "person": "Ana", "more": 1}, 422),
        ({"position": -1, "question": "topic_pivot", "answer": "yes", "person": "Ana"}, 422),
    ],
)
def test_what_cannot_be_a_label_is_refused(serving: Any, place: Path, body: dict[str, Any], status: int) -> None:
    with serving(history=str(place)) as client:
        answer = client.post("/api/v1/runs/latest/labels", json=body)
        assert answer.status_code == status
        assert answer.json()["error"]["message"]
        assert client.get("/api/v1/runs/nothing/labels").status_code == 404


def test_labels_are_deleted_with_their_run(serving: Any, place: Path) -> None:
    with serving(history=str(place)) as client:
        run_id = client.get("/api/v1/runs").json()["runs"][0]["id"]
        client.post(f"/api/v1/runs/{run_id}/labels", json=PIVOT | {"answer": "yes", "person": "Ana"})
        assert client.delete(f"/api/v1/runs/{run_id}").status_code == 204
        assert client.get(f"/api/v1/runs/{run_id}/labels").status_code == 404
    with open_history(place) as history, history._database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM synthesis_labels").scalar() == 0
