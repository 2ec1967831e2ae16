"""What the offline judge tells of answers that are true to their passages, of those that are not, and of the rest."""

import pytest
from offline_samples import BRIDGE, faithfulness, judged, told

RACE = ("Alice Moreau trained Boris Petrov before the race in Lyon.",)
HOURS = ("On Saturday we are open from 9 to 17. The warranty period is two years. Berlin is larger than Hamburg.",)


def test_a_verbatim_copy_is_supported():
    verdict = judged("The harbour bridge was opened in 1932 by Mayor Anna Lind.")
    assert verdict.details["support"] == 1.0
    assert verdict.axes["faithfulness"].score == 5


def test_the_whole_context_is_faithful_to_itself():
    assert faithfulness(" ".join(BRIDGE)) == 5


@pytest.mark.parametrize(
    ("answer", "context"),
    [
        ("The bridge was opened in 1932.", BRIDGE),
        ("It carries 40000 cars every day.", BRIDGE),
        ("It carries ４０，０００ cars every day.", BRIDGE),
        ("On Saturdays it is open from 9 am to 5 pm.", HOURS),
        ("The warranty period is 24 months.", HOURS),
        ("Alice Moreau trained Boris Petrov before the race.", RACE),
    ],
)
def test_a_value_written_in_another_way_is_the_same(answer, context):
    assert told(answer, context) == ("supported", None)


@pytest.mark.parametrize(
    ("answer", "context", "slot"),
    [
        ("The harbour bridge was opened in 1945 by Mayor Anna Lind.", BRIDGE, ("date", "1945", "1932")),
        ("The harbour bridge was opened in 1932 by Mayor Peter Holm.", BRIDGE, ("entity", "Peter Holm", "Anna Lind")),
        ("The toll is charged at night.", BRIDGE, ("negation", "–", "not")),
        ("The harbour bridge was not opened in 1932.", BRIDGE, ("negation", "not", "–")),
        ("On Saturday we are open from 8 to 19.", HOURS, ("number", "8 to 19", "9 to 17")),
        ("The warranty period is three years.", HOURS, ("number", "three years", "two years")),
        ("Hamburg is larger than Berlin.", HOURS, ("role", "Hamburg … Berlin", "Berlin … Hamburg")),
        ("Boris Petrov trained Alice Moreau before the race.", RACE, ("role", "Boris … Alice", "Alice … Boris")),
    ],
)
def test_a_part_that_the_source_fills_differently_contradicts(answer, context, slot):
    assert told(answer, context) == ("contradicted", slot)


@pytest.mark.parametrize(
    ("answer", "context"),
    [
        ("Bananas contain potassium and ripen quickly.", BRIDGE),  # nothing similar
        ("The harbour bridge carries trams and ferries.", BRIDGE),  # words that are missing
        ("It carries more than 39,000 cars every day.", BRIDGE),  # true, but no value to compare
        ("Boris Petrov was trained by Alice Moreau before the race.", RACE),  # the passive turns the names
        ("The notice does not say when the bridge was opened.", BRIDGE),  # what is not said
        ("The other one does not: it has steps.", ("The ridge trail has steps.",)),  # a denial of something else
    ],
)
def test_the_rest_cannot_be_told(answer, context):
    assert told(answer, context)[0] == "cannot tell"
    assert faithfulness(answer, context) is None


def test_two_ways_to_deny_the_same_are_no_conflict():
    assert told("At night no toll is charged.", BRIDGE)[0] != "contradicted"


def test_clauses_are_told_one_by_one_where_the_whole_cannot_be():
    context = ("Foot passengers need no booking. Cars must be booked one day ahead. The ferry carries twelve cars.",)
    assert told("Foot passengers need no booking; cars must be booked one day ahead.", context)[0] == "supported"
    assert told("Foot passengers need no booking, but cars must be booked two days ahead.", context) == (
        "contradicted",
        ("number", "two days", "one day"),
    )


TRUE, FALSE, UNTOLD = "The toll is not charged at night.", "The toll is charged at night.", "It was designed in Vienna."


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (f"{TRUE} It carries 40,000 cars every day.", 5),
        (f"{TRUE} {FALSE}", 3),
        (f"{TRUE} {UNTOLD} {FALSE}", 3),
        (f"{FALSE} It carries 50,000 cars every day. {TRUE}", 2),
        (FALSE, 1),
        (f"{TRUE} {UNTOLD}", None),
    ],
)
def test_the_score_follows_from_the_claims(answer, score):
    verdict = judged(answer)
    assert verdict.axes["faithfulness"].score == score
    assert verdict.is_untold == (score is None)
    assert (verdict.axes["completeness"].score is None) == (score is None)


def test_the_reasoning_says_how_many_claims_were_told_and_what_decides():
    assert judged(f"{TRUE} {FALSE}").axes["faithfulness"].reasoning == (
        "2 claims: 1 contradicted, 1 supported. The answer says “–”, the context “not” (negation)."
    )
    assert judged("The harbour bridge carries trams.").axes["faithfulness"].reasoning == (
        "1 claim: 1 cannot tell. First that cannot be told: “The harbour bridge carries trams.” "
        "(not in the context: trams)."
    )


def test_sentences_glued_together_from_distant_pieces_are_not_supported():
    context = (
        "The minister of transport opened the new tunnel under the river on Monday morning. "
        "Thousands of people came to see the old steam engine arrive from the coast. "
        "The mayor of the neighbouring town was fined for parking in front of the station.",
    )
    glued = "The minister of transport opened the new tunnel was fined for parking in front of the station."
    assert faithfulness(context[0], context) == 5
    assert faithfulness(glued, context) is None


def test_questions_beside_an_answer_are_not_compared_and_a_reply_of_questions_alone_is():
    asked = "Have you ever driven a tractor through Vienna?"
    assert faithfulness(asked) is None
    assert [claim["text"] for claim in judged(f"{TRUE} {asked}").details["claims"]] == [TRUE]
    assert faithfulness(f"{TRUE} {asked}") == 5


def test_each_claim_names_its_passage_and_evidence():
    claims = judged("It carries 40,000 cars. The toll is not charged at night.").details["claims"]
    assert [claim["passage"] for claim in claims] == [1, 2]
    assert "40,000 cars" in claims[0]["evidence"]
    assert "toll" in claims[1]["evidence"]


def test_what_the_context_does_not_have_is_listed():
    claim = judged("The harbour bridge carries trams and ferries.").details["claims"][0]
    assert claim["unsupported"] == ["trams", "ferries"]
