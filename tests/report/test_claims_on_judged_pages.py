"""Claims on the page of a judged run: readable without colour and script, with quotes shown in their passage."""

import re
from typing import Any

import msgspec

from synthesis.judge.claims import CheckedClaim, with_passages
from synthesis.judge.metrics import failure_analysis, iteration_metrics
from synthesis.judge.rubric import load_rubric
from synthesis.report.judged.html import render
from synthesis.report.judged.run import Iteration, JudgedRun

RUBRIC = load_rubric("rag")
ANSWER = "It opens at nine. Entry is <b>free</b>. Dogs may enter."
PASSAGE = "The library opens at nine. Entry costs two euros."
CLAIMS = [
    CheckedClaim("It opens at nine.", 1.0, "", verdict="supported", span=(0, 17), passage=1, quote="opens at nine",
                 quote_found=True, quote_span=(12, 25)),
    CheckedClaim("Entry is free.", 0.0, "", verdict="contradicted", span=(18, 39), passage=1, quote="Entry costs ten",
                 quote_found=False, notes=("contradicted", "false quote: it is not in passage 1")),
    CheckedClaim("Dogs may enter.", 0.0, "", verdict="not found", span=(40, 55)),
]  # fmt: skip


def record(name: str, answer: str, score: int, claims: list[CheckedClaim]) -> dict[str, Any]:
    said = {axis: {"score": score, "reasoning": "why"} for axis in ("faithfulness", "completeness")}
    found: dict[str, Any] = {"queryLogId": name, "question": "When?", "systemAnswer": answer, "judgeVerdict": said}
    found |= {"overallScore": float(score), "passed": score >= 4, "courseCount": 1, "tokenUsage": []}
    if not answer:
        return {**found, "flags": ["empty answer"]}
    return {**found, "details": with_passages([claim.as_detail() for claim in claims], [PASSAGE])}


def page_of(*records: dict[str, Any], judge: str = "openai") -> str:
    counts = {"total": len(records), "errors": 0, "not_judged": 0, "stale": 0}
    metrics = iteration_metrics(records, RUBRIC, iteration=1, timestamp="", **counts)
    analysis = failure_analysis(records, RUBRIC, judge)
    parts = {"number": 1, "metrics": metrics, "cost": {"totalCost": None}, "analysis": analysis}
    iteration = msgspec.convert({**parts, "records": records, "errors": ()}, Iteration)
    axes = tuple((axis.name, axis.pass_at) for axis in RUBRIC.axes)
    return "".join(render(JudgedRun("run", f"{judge} (m)", "rag", axes, (iteration,))))


def test_each_sentence_has_a_sign_and_words_for_its_verdict_and_leads_to_its_evidence() -> None:
    page = page_of(record("q-1", ANSWER, 2, CLAIMS))
    for number, sign, words in (
        (1, "✓1", "supported"),
        (2, "✗2!", "contradicted, false quote"),
        (3, "?3", "not found in the context"),
    ):
        anchor = f"s1-claim{number}"
        assert f'<a href="#{anchor}" aria-label="claim {number}: {words}">{sign}</a>' in page
        assert page.count(f'id="{anchor}"') == 1
    assert len(set(re.findall(r'<mark class="(for|against|outweighed)', page))) == 3  # told apart in black and white
    assert "Entry is &lt;b&gt;free&lt;/b&gt;." in page


def test_the_passage_opens_at_the_quote_without_a_script() -> None:
    page = page_of(record("q-1", ANSWER, 2, CLAIMS))
    assert 'The library <mark id="s1-claim1" class="for">opens at nine</mark>. Entry costs two euros.' in page
    assert page.index("<details>") < page.index('<mark id="s1-claim1"') < page.index("</details>")
    assert "<script" not in page


def test_a_false_quote_is_struck_out_beside_the_passage_that_it_names() -> None:
    page = page_of(record("q-1", ANSWER, 2, CLAIMS))
    assert '<del dir="auto">Entry costs ten</del> is not in passage 1' in page
    assert "! false quote</span>" in page
    assert f'<blockquote class="text" dir="auto">{PASSAGE}</blockquote>' in page
    assert '<th scope="row">quotes that are not in their passage</th><td>50.0 % (1 of 2)</td>' in page


def test_empty_answers_are_apart_from_contradictions() -> None:
    page = page_of(record("q-0", "", 1, []), record("q-1", ANSWER, 1, CLAIMS))
    assert page.index(">q-1<") < page.index("<h3>1 empty answer</h3>") < page.index(">q-0<")
    assert "Nothing was said, so nothing was judged" in page
    assert "without 1 empty answer" in page
    assert "Wrong and useless (bottom left)</dt><dd>1 sample:" in page  # of the two with 1 on both axes
    assert "1 of 2 failed samples has an empty answer" in page


def test_the_analysis_names_the_unsupported_claims_that_most_answers_have() -> None:
    again = [CheckedClaim("dogs may  enter", 0.0, "", verdict="not found")]
    records = [record("q-1", ANSWER, 2, CLAIMS), record("q-2", "dogs may  enter", 1, again)]
    claims = failure_analysis(records, RUBRIC)["claims"]
    assert [claims[key] for key in ("total", "supported", "contradicted", "notFound", "falseQuotes")] == [4, 1, 1, 2, 1]
    assert [(one["count"], one["text"]) for one in claims["examples"]] == [
        (2, "Dogs may enter."),
        (1, "Entry is free."),
    ]
    assert claims["examples"][0]["queryLogIds"] == ["q-1", "q-2"]
    assert "2 answers with a claim that is not found: <q" in page_of(*records)


def test_offline_completeness_is_not_validated_in_the_analysis_either() -> None:
    records = [record("q-1", ANSWER, 2, CLAIMS)]
    assert (
        "completeness (not validated) 2 (" in failure_analysis(records, RUBRIC, "offline")["insights"]["systemWeakness"]
    )
    assert "not validated" not in str(failure_analysis(records, RUBRIC, "openai"))
    assert "faithfulness: 2, completeness (not validated): 2" in page_of(*records, judge="offline")


def test_claims_of_version_0_1_are_a_table_without_verdicts() -> None:
    old = record("q-1", ANSWER, 2, [])
    claim = {"text": "It opens.", "support": 0.5, "passage": 0, "evidence": "opens", "unsupported": [], "notes": []}
    old["details"] = {"judge": "offline", "claims": [claim]}
    page = page_of(old)
    assert '<table class="claims">' in page
    assert "claim1" not in page
