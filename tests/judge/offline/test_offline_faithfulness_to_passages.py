"""What the offline judge makes of answers that are true to their passages, and of those that are not."""

import pytest
from offline_samples import BRIDGE, faithfulness, judged


def test_a_verbatim_copy_is_fully_supported():
    verdict = judged("The harbour bridge was opened in 1932 by Mayor Anna Lind.")
    assert verdict.details["support"] == 1.0
    assert verdict.axes["faithfulness"].score == 5


def test_the_whole_context_is_faithful_to_itself():
    assert faithfulness(" ".join(BRIDGE)) == 5


def test_an_unrelated_answer_is_completely_false():
    verdict = judged("Bananas contain potassium and ripen quickly.")
    assert verdict.axes["faithfulness"].score == 1
    assert verdict.details["support"] < 0.1


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        ("The harbour bridge was opened in 1945 by Mayor Anna Lind.", "number not in the context: 1945"),
        (
            "The harbour bridge was opened in 1932 by Mayor Peter Holm.",
            "name not in the context: Peter, Holm",
        ),
        ("The toll is charged at night.", "opposite of the context at: charged"),
        ("The harbour bridge was not opened in 1932.", "opposite of the context at: opened"),
    ],
)
def test_what_speaks_against_the_context_is_named_and_fails(answer, note):
    verdict = judged(answer)
    assert any(note in said for said in verdict.details["claims"][0]["notes"])
    assert verdict.axes["faithfulness"].score <= 2


def test_two_ways_to_deny_the_same_are_no_conflict():
    assert judged("At night no toll is charged.").details["claims"][0]["notes"] == []


def test_names_that_change_places_are_noticed():
    context = ("Alice Moreau trained Boris Petrov before the race in Lyon.",)
    straight = judged("Alice Moreau trained Boris Petrov before the race.", context)
    turned = judged("Boris Petrov trained Alice Moreau before the race.", context)
    assert straight.axes["faithfulness"].score >= 4
    assert turned.axes["faithfulness"].score <= 2
    assert any("another order" in note for note in turned.details["claims"][0]["notes"])


def test_a_passive_sentence_may_turn_the_names():
    context = ("Alice Moreau trained Boris Petrov before the race in Lyon.",)
    passive = judged("Boris Petrov was trained by Alice Moreau before the race.", context)
    assert not passive.details["claims"][0]["notes"]


def test_one_false_sentence_among_true_ones_is_mixed():
    answer = (
        "The harbour bridge was opened in 1932 by Mayor Anna Lind. It carries 40,000 cars every day. "
        "The toll is not charged at night. It was designed by Otto Brandt in Vienna."
    )
    assert faithfulness(answer) == 3


@pytest.mark.parametrize("said", ["40000", "40,000", "４０，０００"])
def test_numbers_are_compared_by_value(said):
    assert not judged(f"It carries {said} cars every day.").details["claims"][0]["notes"]


def test_a_rounded_number_does_not_contradict():
    assert not judged("It carries more than 39,000 cars every day.").details["claims"][0]["notes"]


def test_number_words_and_figures_are_one():
    context = ("The course lasts 7 weeks and has three parts.",)
    assert not judged("The course lasts seven weeks and has 3 parts.", context).details["claims"][0]["notes"]


def test_glued_pieces_of_distant_sentences_earn_less_than_a_copy():
    context = (
        "The minister of transport opened the new tunnel under the river on Monday morning. "
        "Thousands of people came to see the old steam engine arrive from the coast. "
        "The mayor of the neighbouring town was fined for parking in front of the station.",
    )
    copied = "The minister of transport opened the new tunnel under the river on Monday morning."
    glued = "The minister of transport opened the new tunnel was fined for parking in front of the station."
    assert judged(glued, context).details["support"] < 0.8 < judged(copied, context).details["support"]


def test_an_extract_of_glued_pieces_fails_where_the_same_sentences_whole_pass():
    context = (
        "The minister of transport opened the new tunnel under the river on Monday morning. "
        "Thousands of people came to see the old steam engine arrive from the coast. "
        "The mayor of the neighbouring town was fined for parking in front of the station.",
    )
    glued = (
        "The minister of transport opened the new tunnel was fined for parking in front of the station. "
        "Thousands of people came to see the old steam engine under the river on Monday morning."
    )
    assert faithfulness(context[0], context) == 5
    assert faithfulness(glued, context) <= 3
    assert judged(glued, context).details["style"] == "an extract of the context"


def test_the_verdict_shows_what_made_the_score():
    scoring = judged("The harbour bridge carries 40,000 cars and was opened in 1945.").details["scoring"]
    assert scoring["contributions"]["conflicts"] < 0
    assert scoring["features"]["conflicts"] == 1
    assert scoring["limit"] == 2
    assert 0 <= scoring["probability"] <= 1


def test_one_unknown_name_in_a_long_answer_does_not_fail_it():
    answer = (
        "In 1932 the bridge in the harbour was opened. The mayor who opened it was Anna Lind. Cars use it every day, "
        "40,000 of them. At night no toll is charged. Next spring the northern tower will see repairs, says Otto."
    )
    assert faithfulness(answer) == 4


def test_a_reply_of_questions_alone_is_compared_and_beside_an_answer_is_not():
    asked = "Have you ever driven a tractor through Vienna?"
    assert faithfulness(asked) <= 2
    assert judged(f"The toll is not charged at night. {asked}").details["claims"][0]["text"].startswith("The toll")
    assert faithfulness(f"The toll is not charged at night. {asked}") == 5


def test_each_claim_names_its_passage_and_evidence():
    claims = judged("It carries 40,000 cars. The toll is not charged at night.").details["claims"]
    assert [claim["passage"] for claim in claims] == [1, 2]
    assert "40,000 cars" in claims[0]["evidence"]
    assert "toll" in claims[1]["evidence"]


def test_what_is_unsupported_is_listed():
    claim = judged("The harbour bridge carries trams and ferries.").details["claims"][0]
    assert claim["unsupported"] == ["trams", "ferries"]
