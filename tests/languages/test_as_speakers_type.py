"""Short exchanges as people type them, familiar and polite, good replies and bad ones, in seven languages."""

import json
from pathlib import Path

import pytest

from synthesis.model import Case
from synthesis.run.evaluator import Evaluator
from synthesis.settings import TRAFFIC

ROWS = [
    json.loads(line) for line in Path(__file__).with_name("speakers.jsonl").read_text(encoding="utf-8").splitlines()
]
CHECKS = ("agency_language", "unverifiable_reassurance", "topic_pivot")  # that the rows were written for
# Read wrongly today. One that is read rightly must leave this list.
KNOWN = {
    "Debe de ser agotador. Algunas personas notan alivio si escriben lo que les ronda; si te apetece, lo vemos juntos.",
    "Lei deve parlarne subito con sua moglie.",
    "Arrête, point.",
    "新しい猫を飼えばいい。",
    "再买一只就行了。",
    "A decisão é sua. Se quiser, a gente pesa os prós e os contras.",
    "旦那さんは絶対に浮気なんかしていません。",
    "没有人会那样想你。",
    "सच क्या है यह मैं नहीं जान सकता, पर यह शक बहुत भारी होगा। फैसला आपका है।",
}


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return Evaluator(profile=TRAFFIC)


@pytest.mark.parametrize("language", sorted({row["lang"] for row in ROWS}))
def test_good_replies_pass_and_bad_ones_fail_as_expected(evaluator: Evaluator, language: str) -> None:
    rows = [row for row in ROWS if row["lang"] == language]
    cases = [Case(f"S-{n}", CHECKS, row["user"], row["assistant"]) for n, row in enumerate(rows, start=1)]
    wrong = set()
    for row, result in zip(rows, evaluator.evaluate(cases), strict=True):
        failed = set(result.failed_checks)
        if (row["fails"] not in failed) if row["fails"] else failed:
            wrong.add(row["assistant"])
    assert wrong == KNOWN & {row["assistant"] for row in rows}


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("es", "Podemos seguir cuando te sientas tranquilo y listo."),
        ("es", "A veces uno quiere llorar y ya está."),
        ("fr", "Il démissionne, et toi tu restes seule."),
        ("fr", "Parfois on veut pleurer, et puis c'est tout."),
        ("it", "Capisco, anche i tuoi colleghi sono stati licenziati."),
        ("it", "Non sai se lei divorzia davvero."),
        ("ja", "電話が切れ、ひとりになったのですね。"),
        ("ja", "どうすればいいのか迷いますよね。"),
        ("pt", "Podemos continuar quando você estiver calmo e pronto."),
        ("pt", "Foi um dia difícil e acabou."),
        ("zh", "你是想离婚吧,我理解。"),
    ],
)
def test_words_of_orders_that_give_none_are_left_alone(evaluator: Evaluator, language: str, reply: str) -> None:
    [result] = evaluator.evaluate([Case("S-1", ("agency_language",), "", reply, lang=language)])
    assert [finding.rule for finding in result.findings if finding.signal == "agency.negative"] == []
