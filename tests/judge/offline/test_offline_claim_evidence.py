"""The offline judge's claims: a verdict for each, its place in the answer, and a quote that stands in its passage."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offline_samples import ANALYST, BRIDGE, COURSES, judged

from synthesis.errors import LanguageError
from synthesis.judge.claims import AROUND
from synthesis.judge.offline.answers import split_claims
from synthesis.judge.offline.text import Original
from synthesis.judge.prompt import context_texts


@pytest.mark.parametrize(
    ("answer", "verdict", "passage", "quote"),
    [
        ("It carries 40,000 cars every day.", "supported", 1, "It carries 40,000 cars every day."),
        ("It carries 75,000 cars every day.", "contradicted", 1, "It carries 40,000 cars every day."),
        ("The toll is charged at night.", "contradicted", 2, "The toll is not charged at night."),
        ("Penguins swim.", "cannot tell", None, ""),  # nothing in the context is like it
        # A number that no sentence has another of is missing, not contradicted; the nearest sentence is shown.
        ("The toll is not charged at night for 90 bicycles.", "cannot tell", 2, "The toll is not charged at night."),
    ],
)
def test_each_claim_has_a_verdict_with_the_sentence_that_decides_it(answer, verdict, passage, quote):
    (claim,) = judged(answer, question="").details["claims"]
    assert (claim["verdict"], claim.get("quote", "")) == (verdict, quote)
    if quote:
        assert claim["passage"] == passage
        assert claim.get("quoteFound") is (None if verdict == "cannot tell" else True)
        start, end = claim["quoteSpan"]
        assert BRIDGE[passage - 1][start:end] == quote
    else:
        assert "quoteFound" not in claim


def test_a_sentence_that_is_repeated_is_marked_each_time():
    said = "It carries 40,000 cars every day."
    claims = judged(f"{said} {said}").details["claims"]
    assert [claim["span"] for claim in claims] == [[0, 33], [34, 67]]


def test_quotes_are_word_for_word_through_markup_and_unusual_signs():
    opening = "The **library** opens at ［nine］ [every day](http://example.org/nine) – “really”."
    passage = f"# Hours\n* {opening}\n* It has 1, 000 seats."
    answer = "- The *library* opens at nine every day.\n- It has 1,000 seats."
    first, second = judged(answer, (passage,)).details["claims"]
    assert passage[slice(*first["quoteSpan"])] == first["quote"] == opening
    assert second["quote"] == "It has 1, 000 seats."
    assert [answer[slice(*claim["span"])] for claim in (first, second)] == [
        "The *library* opens at nine every day.",
        "It has 1,000 seats.",
    ]


def test_claims_on_courses_quote_the_skill_or_outcome_as_a_judge_reads_it():
    claims = judged("STA210 covers confidence intervals. INF101 does not cover Python.", COURSES, ANALYST).details[
        "claims"
    ]
    assert [(c["verdict"], c["passage"], c["quote"]) for c in claims] == [
        ("supported", 2, "Interpret confidence intervals"),
        ("contradicted", 1, "Python programming"),
    ]
    for claim in claims:
        assert context_texts(COURSES)[claim["passage"] - 1][slice(*claim["quoteSpan"])] == claim["quote"]


def test_the_record_keeps_the_part_of_the_passage_around_a_quote():
    filler = "Other matters are told here at length. " * 60
    (part,) = judged("It carries 40,000 cars every day.", (filler + BRIDGE[0] + filler,)).details["passages"]
    assert "It carries 40,000 cars every day." in part["text"]
    assert len(part["text"]) < 2 * AROUND + 100
    assert part["text"][0] != " "
    assert (filler + BRIDGE[0] + filler)[part["start"] :].startswith(part["text"])


WORDS = st.text(alphabet="ab Cé1.,!?\n*_-|#[]()“’ﬁ\u0301ไ東", max_size=60)


@settings(max_examples=60)
@given(st.lists(WORDS, max_size=3), WORDS)
def test_every_quote_and_every_span_is_cut_from_the_text_it_names(context, answer):
    try:
        details = judged(f"{answer} {context[0] if context else ''}", tuple(context)).details
    except LanguageError:
        return
    for claim in details["claims"]:
        if quote := claim.get("quote"):
            assert context[claim["passage"] - 1][slice(*claim["quoteSpan"])] == quote
        assert claim["verdict"] in ("supported", "contradicted", "cannot tell")


@given(WORDS)
def test_every_claim_of_a_text_is_found_in_it_or_said_not_to_be(text):
    for claim in split_claims(text):
        place = Original(text).locate(claim.text)
        assert place is None or 0 <= place[0] < place[1] <= len(text)
