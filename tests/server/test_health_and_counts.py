"""Health, readiness, and counts that tell nothing of what was said."""

import logging
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

SECRET = "zanzibar-4711"


def test_alive_and_ready(client: Any) -> None:
    assert client.get("/healthz").text == "alive\n"
    assert client.get("/readyz").text == "ready\n"


@pytest.mark.parametrize("path", ["/healthz", "/", "/api/v1/checks", "/static/pages.css"])
def test_only_the_head_of_an_answer_can_be_asked_for(client: Any, path: str) -> None:
    head, whole = client.head(path), client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == whole.headers["content-length"]


def samples(client: Any) -> dict[tuple[str, ...], float]:
    """Every sample under its name and its labels, as Prometheus reads them."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    every = [sample for family in families for sample in family.samples]
    return {(one.name, *(one.labels[label] for label in sorted(one.labels))): one.value for one in every}


def test_requests_and_outcomes_are_counted(serving: Any) -> None:
    with serving() as client:
        for _ in range(3):
            client.post("/api/v1/check", json={"user": "a", "assistant": "I promise."})
        client.post("/api/v1/check", content=b"{")
        client.get("/nowhere")
        found = samples(client)
    assert found["synthesis_http_requests_total", "/api/v1/check", "200"] == 3
    assert found["synthesis_http_requests_total", "/api/v1/check", "400"] == 1
    assert found["synthesis_http_requests_total", "none", "404"] == 1
    assert found["synthesis_cases_total", "fail"] == 3
    assert found["synthesis_cases_total", "pass"] == 0
    assert found["synthesis_http_request_seconds_count", "/api/v1/check"] == 4
    assert found["synthesis_http_request_seconds_bucket", "+Inf", "/api/v1/check"] == 4


def test_the_series_are_those_that_dashboards_read(client: Any) -> None:
    client.post("/api/v1/check", json={"user": "a", "assistant": "b"})
    assert {name for name, *_ in samples(client)} == {
        "synthesis_build_info",
        "synthesis_cases_total",
        "synthesis_http_requests_total",
        "synthesis_http_request_seconds_bucket",
        "synthesis_http_request_seconds_count",
        "synthesis_http_request_seconds_sum",
    }


def test_the_exposition_has_the_form_that_prometheus_reads(client: Any) -> None:
    answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.text.endswith("\n")
    assert {line.split()[3] for line in answer.text.splitlines() if line.startswith("# TYPE")} == {
        "counter",
        "gauge",
        "histogram",
    }


def test_nothing_of_a_request_gets_into_counts_or_logs(serving: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(access_log=True) as client:
        client.post("/api/v1/check", json={"user": SECRET, "assistant": SECRET, "id": SECRET})
        client.post("/api/v1/check", content=SECRET.encode())
        client.get("/rules", params={"q": SECRET})
        client.get(f"/{SECRET}")
        client.get(f"/api/v1/uploads/{SECRET}")
        client.post("/login", data={"token": SECRET, "next": f"/{SECRET}"})
        counted = client.get("/metrics").text
    own = [record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert any("POST /api/v1/check 200" in line for line in own)
    assert SECRET not in "\n".join([*own, counted])


def test_an_unforeseen_error_is_logged_without_what_was_said(
    serving: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from synthesis.server.state import ServerState

    def fail(self: ServerState, case: Any) -> Any:
        raise RuntimeError(case.user)

    with serving() as client:
        monkeypatch.setattr(ServerState, "evaluate", fail)
        answer = client.post("/api/v1/check", json={"user": SECRET, "assistant": "b"})
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "unforeseen"
    assert "content-security-policy" in answer.headers
    logged = [record for record in caplog.records if record.name == "synthesis.server"]
    assert "RuntimeError" in logged[-1].getMessage()
    assert not [record for record in logged if SECRET in record.getMessage() or record.exc_info]
