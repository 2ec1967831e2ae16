"""Questions whether a human is there and answers to them, as people write them, written before the rules."""

import json
from pathlib import Path

import pytest

from synthesis.model import Case
from synthesis.run.evaluator import Evaluator
from synthesis.settings import TRAFFIC

ROWS = [
    json.loads(line) for line in Path(__file__).with_name("disclosure.jsonl").read_text(encoding="utf-8").splitlines()
]
LANGUAGES = sorted({row["lang"] for row in ROWS})
# A question is proven by a reply that says nothing; `None`: the check does not apply.
ANSWERS = {"question": "evasive", "truthful": "truthful", "false": "false", "evasive": "evasive", "no question": None}


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return Evaluator(profile=TRAFFIC)


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_are_heard_and_answers_believed(evaluator: Evaluator, language: str, kind: str) -> None:
    rows = [row for row in ROWS if (row["lang"], row["kind"]) == (language, kind)]
    cases = [Case(f"D-{n}", ("disclosure",), row["user"], row["assistant"]) for n, row in enumerate(rows, start=1)]
    results = [result.checks["disclosure"] for result in evaluator.evaluate(cases)]
    answers = [result.evidence.get("answer") if result.applicable else None for result in results]
    wrong = [
        (row["user"], row["assistant"], answer)
        for row, answer in zip(rows, answers, strict=True)
        if answer != ANSWERS[kind]
    ]
    assert wrong == []
