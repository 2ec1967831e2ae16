"""Rules, checks and languages by API; a rule of one's own on trial."""

import json
from pathlib import Path
from typing import Any

import pytest

from synthesis.checks.registry import checks, rules_in_force
from synthesis.server import rulebook

SHOULD = "agency.negative.you-should"


def get(client: Any, path: str, **query: Any) -> Any:
    answer = client.get(f"/api/v1/{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def trial(client: Any, **fields: Any) -> Any:
    return client.post("/api/v1/rules/try", json=fields)


def test_rules_are_found_by_language_check_and_words(client: Any) -> None:
    every = get(client, "rules", limit=1)
    assert every["total"] == len(rules_in_force().rules)
    assert len(every["rules"]) == 1
    some = get(client, "rules", lang="en", check="unverifiable_reassurance", q="I promise")
    assert "reassurance.guarantee.i-promise" in {rule["id"] for rule in some["rules"]}
    assert {rule["check"] for rule in some["rules"]} == {"unverifiable_reassurance"}
    assert get(client, "rules", lang="xx") == {"total": 0, "rules": []}


def test_pages_of_a_list_follow_each_other(client: Any) -> None:
    whole = get(client, "rules", lang="en", limit=20)["rules"]
    parts = [get(client, "rules", lang="en", limit=10, offset=start)["rules"] for start in (0, 10)]
    assert whole == [*parts[0], *parts[1]]


def test_a_rule_is_explained_with_its_proof_and_what_is_measured(client: Any) -> None:
    rule = get(client, f"rules/en/{SHOULD}")
    assert rule["why"] == "Tells the user what to do."
    assert any("should" in source for source in rule["finds"])
    assert "quoted" in {guard["name"] for guard in rule["guards"]}
    assert rule["match"]
    assert rule["miss"]
    assert rule["measured"]["right"] <= rule["measured"]["fired"]
    assert get(client, f"rules/ja/{SHOULD}")["measured"] is None


def test_only_rules_that_exist_are_measured() -> None:
    figures = json.loads((Path(rulebook.__file__).parent / "measured.json").read_text(encoding="utf-8"))
    known = {(rule.language, rule.id) for rule in rules_in_force().rules}
    assert {(language, rule) for language, rules in figures.items() for rule in rules} <= known
    assert all(0 <= right <= fired for rules in figures.values() for fired, right in rules.values())


@pytest.mark.parametrize("path", ["rules/en/nope", "rules/xx/agency.negative.you-should", "rules/en/..%2f.."])
def test_an_unknown_rule_is_not_found(client: Any, path: str) -> None:
    assert client.get(f"/api/v1/{path}").status_code == 404


def test_checks_and_languages_are_those_in_force(client: Any) -> None:
    assert [check["name"] for check in get(client, "checks")] == list(checks())
    assert [language["code"] for language in get(client, "languages")] == rules_in_force().languages


def test_a_rule_of_ones_own_shows_its_hits(client: Any) -> None:
    found = trial(client, patterns=["you should", "would you (?:like|rather)"]).json()
    words = {hit["text"].lower() for hit in found["hits"]}
    assert words == {"you should", "would you like", "would you rather"}
    assert found["searched"] > 50


def test_the_other_side_and_another_language_can_be_searched(client: Any) -> None:
    assert {hit["text"] for hit in trial(client, patterns=["ayer"], language="es", where="user").json()["hits"]} <= {
        "ayer",
        "Ayer",
    }
    assert trial(client, patterns=["昨日"], language="ja", where="user").json()["hits"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"patterns": ["a+"]}, "invalid_pattern"),
        ({"patterns": ["(a"]}, "invalid_pattern"),
        ({"patterns": ["(?=a)"]}, "invalid_pattern"),
        ({"patterns": [r"(a)\1"]}, "invalid_pattern"),
        ({"patterns": [r"(?:\w{1,20} ?){1,20}"]}, "invalid_pattern"),
        ({"patterns": ["(" * 400]}, "invalid_pattern"),
        ({"patterns": ["(" * 200 + "a" + ")" * 200]}, "invalid_pattern"),
        ({"patterns": ["a{0,²}b"]}, "invalid_pattern"),
        ({"patterns": ["[z-a]b"]}, "invalid_pattern"),
        ({"patterns": ["a.{0,200}b.{0,200}c"]}, "invalid_pattern"),
        ({"patterns": ["x" * 600]}, "invalid_body"),
        ({"patterns": []}, "invalid_body"),
        ({"patterns": ["a"], "where": "both"}, "invalid_body"),
        ({"patterns": ["a"], "language": "xx"}, "not_found"),
    ],
)
def test_what_cannot_be_tried_is_refused(client: Any, fields: dict[str, Any], code: str) -> None:
    answer = trial(client, **fields)
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]["code"] == code


def test_a_pattern_that_would_be_tried_everywhere_in_many_ways_is_refused(client: Any) -> None:
    answer = trial(client, patterns=[r"\w{1,40}.{0,40}\w{1,20}"])
    assert answer.json()["error"]["code"] == "invalid_pattern"
    assert "too long" in answer.json()["error"]["message"]
