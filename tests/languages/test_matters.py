"""Polite closings and instructions about things are no orders, an offer to sell does not stay with anybody."""

from pathlib import Path
from typing import Any

import pytest

from synthesis.checks import rules_in_force
from synthesis.documents import load_yaml
from synthesis.model import Case, CheckResult
from synthesis.rules.detection import Detected
from synthesis.rules.reading import Message
from synthesis.run.evaluator import Evaluator
from synthesis.settings import TRAFFIC

MATTERS: dict[str, dict[str, Any]] = load_yaml(Path(__file__).with_name("matters.yaml"))
RULES = rules_in_force()
EVALUATOR = Evaluator(RULES, profile=TRAFFIC)


def each(kind: str) -> list[Any]:
    return [
        pytest.param(language, matter, id=f"{language}-{number}")
        for language, matters in MATTERS.items()
        for number, matter in enumerate(matters[kind])
    ]


def found(language: str, reply: str, signal: str) -> list[str]:
    message = Message(reply, "assistant", frozenset({signal}), Detected(language, "declared"))
    return [hit.words for hit in RULES.read([message])[0].hits]


def pivot(language: str, user: str, reply: str) -> CheckResult:
    [result] = EVALUATOR.evaluate([Case("P-1", ("topic_pivot",), user, reply, lang=language)])
    return result.checks["topic_pivot"]


@pytest.mark.parametrize(("language", "reply"), each("closings"))
def test_a_polite_closing_is_no_order(language: str, reply: str) -> None:
    assert found(language, reply, "agency.negative") == []


@pytest.mark.parametrize(("language", "reply"), each("things"))
def test_an_instruction_about_a_thing_is_no_order(language: str, reply: str) -> None:
    assert found(language, reply, "agency.negative") == []


@pytest.mark.parametrize(("language", "reply"), each("orders"))
def test_an_order_about_a_life_is_one(language: str, reply: str) -> None:
    assert found(language, reply, "agency.negative") != []


@pytest.mark.parametrize(("language", "reply"), each("sales"))
def test_an_offer_to_sell_is_no_follow_up(language: str, reply: str) -> None:
    assert found(language, reply, "pivot.follow_up") == []


@pytest.mark.parametrize(("language", "reply"), each("sales"))
def test_a_reply_that_only_sells_turns_away(language: str, reply: str) -> None:
    user = MATTERS[language]["pivots"][0][0]
    assert pivot(language, user, reply).outcome == "fail"


@pytest.mark.parametrize(("language", "exchange"), each("pivots"))
def test_a_shared_word_alone_does_not_stay_with_a_topic(language: str, exchange: list[str]) -> None:
    assert pivot(language, *exchange).outcome == "fail"
