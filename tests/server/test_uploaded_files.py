"""Uploads: evaluated beside the server, followed by events, cancelled, forgotten; never a path from a request."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from helpers import row

from synthesis.io import CASES
from synthesis.report.stored import from_dict


def upload(client: Any, content: bytes, **query: str) -> Any:
    return client.post("/api/v1/uploads", content=content, params=query)


def events(client: Any, upload_id: str) -> list[tuple[str, Any]]:
    text = client.get(f"/api/v1/uploads/{upload_id}/events").text
    parts = [part.split("\n") for part in text.strip().split("\n\n") if not part.startswith(":")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parts]


def finished(client: Any, content: bytes, **query: str) -> Any:
    answer = upload(client, content, **query)
    assert answer.status_code == 202, answer.text
    return events(client, answer.json()["id"])[-1][1]


def test_a_case_file_becomes_a_report(client: Any) -> None:
    answer = upload(client, CASES.read_bytes())
    assert answer.headers["location"] == f"/api/v1/uploads/{answer.json()['id']}"
    heard = events(client, answer.json()["id"])
    assert [name for name, _ in heard] == ["progress"] * (len(heard) - 1) + ["done"]
    name, last = heard[-1]
    assert (name, last["state"], last["cases"]) == ("done", "done", 26)
    report = client.get(f"/api/v1/uploads/{last['id']}/report").json()
    assert report["summary"] == last["summary"]
    assert len(list(from_dict(report).results())) == 26


@pytest.mark.parametrize(
    ("form", "beginning"),
    [("html", "<!doctype html>"), ("markdown", "#"), ("csv", "id,"), ("junit", "<?xml"), ("sarif", "{")],
)
def test_the_report_is_drawn_in_other_forms(client: Any, form: str, beginning: str) -> None:
    last = finished(client, json.dumps(row()).encode())
    answer = client.get(f"/api/v1/uploads/{last['id']}/report", params={"format": form})
    assert answer.status_code == 200
    assert answer.text.startswith(beginning)
    assert (
        "script-src" in answer.headers["content-security-policy"]
        or "sandbox" in answer.headers["content-security-policy"]
    )


def test_a_table_is_read_with_the_names_of_its_columns(client: Any) -> None:
    table = b"prompt,reply\nI lost my job.,Would you like to talk about it?\n"
    last = finished(client, table, kind="csv", map="user=prompt,assistant=reply", checks="agency_language")
    assert last["summary"]["by_check"] == {"agency_language": {"passed": 1, "failed": 0, "not_applicable": 0}}


def test_problems_of_a_file_are_told_with_their_lines(client: Any) -> None:
    last = finished(client, b'{"id": "T-1"}\nnonsense\n')
    assert last["state"] == "failed"
    assert "line 2" in last["error"]["message"]
    answer = client.get(f"/api/v1/uploads/{last['id']}/report")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_done")


def test_bad_rows_can_be_counted_as_errors(client: Any) -> None:
    last = finished(client, f"{json.dumps(row())}\nnonsense\n".encode(), on_bad_row="error")
    assert (last["state"], last["summary"]["errors"]) == ("done", 1)


def test_an_upload_can_be_cancelled_and_then_forgotten(client: Any) -> None:
    many = "\n".join(json.dumps(row(id=f"T-{number}")) for number in range(20_000)).encode()
    answer = upload(client, many)
    place = answer.headers["location"]
    assert client.delete(place).json()["error"]["code"] == "not_over"
    assert client.post(f"{place}/cancel").status_code == 200
    assert events(client, answer.json()["id"])[-1][1]["state"] == "cancelled"
    assert client.delete(place).status_code == 204
    assert client.get(place).status_code == 404


def test_of_the_file_nothing_is_left_when_it_is_over_and_only_its_owner_can_read_the_rest(
    serving: Any, tmp_path: Path
) -> None:
    with serving(tmp_path) as client:
        last = finished(client, json.dumps(row(notes="a secret")).encode())
        folder = tmp_path / "uploads" / last["id"]
        assert sorted(path.name for path in folder.iterdir()) == ["report.json", "state.json"]
        assert (folder.stat().st_mode & 0o077, folder.parent.stat().st_mode & 0o077) == (0, 0)
        assert "a secret" not in (folder / "report.json").read_text(encoding="utf-8")


def test_an_upload_that_breaks_off_leaves_nothing(
    serving: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(tmp_path) as client:
        with socket.create_connection((client.base_url.host, client.base_url.port), timeout=30) as connection:
            head = f"POST /api/v1/uploads HTTP/1.1\r\nHost: {client.base_url.netloc.decode()}\r\n"
            connection.sendall(f"{head}Content-Length: 100\r\n\r\nbegun".encode())
            while not list(tmp_path.glob("uploads/*/upload.jsonl")):
                pass
        while list(tmp_path.glob("uploads/*")):
            pass
    assert not [record for record in caplog.records if record.name == "synthesis.server"]


@pytest.mark.parametrize("name", ["..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "a" * 22, "x", "%00"])
def test_an_id_is_never_a_path(client: Any, name: str) -> None:
    for ending in ("", "/events", "/report"):
        assert client.get(f"/api/v1/uploads/{name}{ending}").status_code == 404


def test_more_files_than_can_wait_are_refused(serving: Any) -> None:
    many = "\n".join(json.dumps(row(id=f"T-{number}")) for number in range(5_000)).encode()
    with serving(jobs=1) as client:
        first = upload(client, many)
        second = upload(client, many)
        assert (first.status_code, second.status_code) == (202, 429)
        assert second.headers["retry-after"]
        client.post(f"{first.headers['location']}/cancel")
        assert events(client, first.json()["id"])[-1][0] == "done"


@pytest.mark.parametrize("query", [{"kind": "exe"}, {"checks": "nope"}, {"map": "user"}, {"on_bad_row": "maybe"}])
def test_wrong_options_are_told(client: Any, query: dict[str, str]) -> None:
    answer = upload(client, b"{}", **query)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"]
