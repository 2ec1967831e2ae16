"""The API and the pages name the fields of a judged run as its files do: those of courses, or those of any set."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from synthesis.io import TEST_SETS
from synthesis.server.app import create_app
from synthesis.server.security import ServerSettings

OF_COURSES = re.compile("queryLog|query_log|courseCount|CourseCount|rankedCourses")
SCHEMAS = create_app(ServerSettings()).openapi()["components"]
Judged = tuple[Any, dict[str, str], dict[str, str]]


@pytest.fixture(scope="module")
def judged(serving: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    """A client, and the ids of a job and of a saved run by what was judged."""
    with serving(history=str(tmp_path_factory.mktemp("judged") / "history.db")) as client:
        jobs, runs = {}, {}
        for name in ("passages", "courses"):
            content = (TEST_SETS / f"{name}.json").read_bytes()
            options = {"name": name, "save_text": True}
            jobs[name] = client.post("/api/v1/judge/runs", params=options, content=content).json()["id"]
            last = client.get(f"/api/v1/judge/runs/{jobs[name]}/events").text.split("\n\n")[-2]
            runs[name] = json.loads(last.splitlines()[1].removeprefix("data: "))["run_id"]
        yield client, jobs, runs


def answers(judged: Judged, name: str) -> dict[str, Any]:
    client, jobs, runs = judged
    paths = {
        "JudgedRun": f"/api/v1/judge/runs/{jobs[name]}/results",
        "RunDetail": f"/api/v1/runs/{runs[name]}",
        "Page_SavedSample_": f"/api/v1/runs/{runs[name]}/samples",
    }
    return {kind: client.get(path) for kind, path in paths.items()}


@pytest.mark.parametrize("name", ["passages", "courses"])
def test_either_fits_the_schema(judged: Judged, name: str) -> None:
    for kind, answer in answers(judged, name).items():
        assert answer.status_code == 200
        schema = {"$ref": f"#/components/schemas/{kind}", "components": SCHEMAS}
        jsonschema_rs.validator_for(schema).validate(answer.json())


def test_answers_about_passages_speak_of_neither_courses_nor_query_logs(judged: Judged) -> None:
    found = answers(judged, "passages")
    assert not any(OF_COURSES.search(answer.text) for answer in found.values())
    assert found["JudgedRun"].json()["iterations"][0]["records"][0]["id"] == "passage-001"
    assert found["Page_SavedSample_"].json()["items"][0]["id"] == "passage-001"


def test_answers_about_courses_are_as_they_were(judged: Judged) -> None:
    found = answers(judged, "courses")
    assert found["JudgedRun"].json()["iterations"][0]["records"][0]["queryLogId"] == "course-001"
    sample = found["Page_SavedSample_"].json()["items"][0]
    assert (sample["query_log_id"], sample["record"]["queryLogId"]) == ("course-001", "course-001")


def test_no_page_speaks_of_query_logs(judged: Judged) -> None:
    client, jobs, runs = judged
    for path in ("/judged", f"/judged/{runs['passages']}", f"/judged/{jobs['passages']}", "/compare", "/label"):
        assert not OF_COURSES.search(client.get(path, headers={"Accept": "text/html"}).text), path


@pytest.mark.parametrize(("name", "field"), [("passages", "id"), ("courses", "queryLogId")])
def test_labels_are_exported_in_the_words_of_the_set(judged: Judged, name: str, field: str) -> None:
    client, _, runs = judged
    page = f"/label/runs/{runs[name]}"
    client.post(f"{page}/begin", data={"name": "Ana"})
    client.post(f"{page}/0/faithfulness", data={"answer": "4"})
    assert client.get(f"{page}/export").json() == [{field: f"{name[:-1]}-001", "faithfulness": 4}]
