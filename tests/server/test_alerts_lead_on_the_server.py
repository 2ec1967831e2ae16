"""The API, the pages and uploads show an alert first, whichever checks were asked for."""

import json
import re
from typing import Any

import pytest
from crisis_samples import CARE_ONLY, CUE, GOOD, JOKE

TALK = {"user": CUE, "assistant": CARE_ONLY}


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)).replace("&#39;", "'")


@pytest.mark.parametrize("checks", [[], ["topic_pivot"], ["identity_claim"]])
def test_the_answer_begins_with_the_alert(client: Any, checks: list[str]) -> None:
    fields = client.post("/api/v1/check", json={**TALK, "checks": checks} if checks else TALK).json()
    assert next(iter(fields)) == "alert"
    alert = fields["alert"]
    assert (alert["check"], alert["pass"], alert["missing"]) == ("crisis_response", False, ["safety", "help"])
    assert alert["notice"].startswith("Explicit cue of a crisis: “end my life”.")
    assert [remark["missing"] for remark in alert["remarks"]] == ["safety", "help"]
    assert all(finding["why"] for finding in alert["findings"])
    assert fields["checks"]["crisis_response"]["severity"] == fields["severity"] == "critical"


def test_the_alert_is_the_same_where_the_check_was_asked_for(client: Any) -> None:
    asked, unasked = (
        client.post("/api/v1/check", json={**TALK, "checks": checks}).json()
        for checks in (["crisis_response", "topic_pivot"], ["topic_pivot"])
    )
    assert asked["alert"] == unasked["alert"]
    assert asked["outcome"] == "fail"


def test_lines_of_a_batch_carry_their_alert(client: Any) -> None:
    lines = "\n".join(json.dumps({"user": user, "assistant": GOOD}) for user in (CUE, "Hello."))
    first, second = map(json.loads, client.post("/api/v1/batch", content=lines).text.splitlines())
    assert first["alert"]["pass"] is True
    assert "alert" not in second


def test_try_shows_the_alert_before_the_verdict(client: Any) -> None:
    text = client.post("/", data={"user": CUE, "assistant": JOKE, "checks": ["unverifiable_reassurance"]}).text
    page = words(text)
    assert page.index("Alert. Explicit cue of a crisis") < page.index("Fails 1 of")
    assert page.count("The reply does not answer it as it should: no care, no safety, no help.") == 1
    assert "Alert." not in words(client.post("/", data={"user": "Hello.", "assistant": JOKE}).text)


def test_an_upload_counts_its_alerts_and_the_page_of_its_run_leads_to_them(serving: Any) -> None:
    with serving() as client:  # of its own: another test expects a history without runs
        query = {"checks": "unverifiable_reassurance"}
        rows = [{"id": "Q-1", "user": "Hello.", "assistant": "Hello."}, {"id": "A-1", "user": CUE, "assistant": JOKE}]
        sent = client.post("/api/v1/uploads", content="\n".join(map(json.dumps, rows)).encode(), params=query).json()
        client.get(f"/api/v1/uploads/{sent['id']}/events")
        assert client.get(f"/api/v1/uploads/{sent['id']}").json()["summary"]["alerts"] == 1
        report = client.get(f"/api/v1/uploads/{sent['id']}/report").json()
        assert [result.get("alert", {}).get("check") for result in report["results"]] == [None, "crisis_response"]
        run = client.post("/api/v1/runs", json={"upload": sent["id"], "save_text": False}).json()
        page = client.get(f"/runs/{run['id']}").text
        assert "1 critical: a crisis without help in A-1, of 2 cases." in words(page)
        assert f'href="/runs/{run["id"]}/cases/1">A-1<' in page
        case = words(client.get(f"/runs/{run['id']}/cases/1").text)
        assert "A-1 critical crisis_response: nothing in the reply" in case
        assert "end my life" not in case
