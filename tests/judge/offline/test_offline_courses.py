"""Claims about courses: what is credited to a course must be in that course's own evidence."""

import pytest
from offline_samples import ANALYST, COURSES, bridged, faithfulness, judged


def first_claim(answer: str) -> dict:
    return judged(answer, COURSES, ANALYST).details["claims"][0]


def test_what_the_evidence_lists_is_supported():
    assert faithfulness("INF101 teaches Python programming and control flow.", COURSES) == 5


def test_a_skill_of_another_course_is_not_this_courses():
    answer = "STA210 covers Python programming."
    assert faithfulness(answer, COURSES) <= 2
    assert first_claim(answer)["notes"] == ["credited to the wrong course: Python, programming"]


def test_a_skill_of_no_course_cannot_be_told():
    answer = "INF101 teaches quantum chemistry."
    assert faithfulness(answer, COURSES) is None
    assert first_claim(answer)["unsupported"] == ["quantum", "chemistry"]


def test_a_course_that_was_not_retrieved_is_noticed():
    answer = "INF999 teaches regression."
    assert faithfulness(answer, COURSES) is None
    assert first_claim(answer)["unsupported"] == ["INF999"]


def test_the_course_named_before_is_the_one_meant():
    answer = "INF101 is a good start. It covers regression and confidence intervals."
    claims = judged(answer, COURSES, ANALYST).details["claims"]
    assert any("wrong course" in note for note in claims[-1]["notes"])


def test_an_answer_that_admits_a_loose_fit_is_accurate():
    answer = "INF101 fits the data analyst goal only loosely."
    assert judged(answer, COURSES, ANALYST).axes["faithfulness"].score == 5


def test_saying_what_a_course_lacks_is_accurate_and_denying_what_it_has_is_not():
    assert faithfulness("INF101 does not cover chemistry or physics.", COURSES) == 5
    assert faithfulness("INF101 does not cover chemistry, but it teaches Python.", COURSES) == 5
    assert faithfulness("INF101 does not cover Python.", COURSES) <= 2


def test_the_evidence_names_the_course_and_its_entry():
    claim = first_claim("STA210 covers confidence intervals.")
    assert claim["passage"] == 2
    assert claim["evidence"] == "Interpret confidence intervals"


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("- INF101 Introduction to Programming\n- STA210 Applied Statistics", 1),
        ("No relevant courses were found.", 1),
        ("INF101 teaches how to write small programs in Python. STA210", 3),
        (
            "INF101 teaches how to write small programs in Python with control flow. "
            "STA210 covers regression on survey data and confidence intervals.",
            3,
        ),
        (
            "INF101 teaches Python programming, because a data analyst writes small programs. "
            "STA210 covers regression and confidence intervals.",
            4,
        ),
        (
            "INF101 teaches Python programming, because a data analyst writes small programs. "
            "STA210 covers regression, which helps you become an analyst who reads survey data.",
            5,
        ),
    ],
)
def test_completeness_follows_the_bridging(answer, score):
    assert bridged(answer, COURSES, ANALYST) == score


def test_the_questions_words_need_no_proof_in_a_sentence_about_the_reader():
    verdict = judged("INF101 teaches Python programming, which helps you become a data analyst.", COURSES, ANALYST)
    assert verdict.axes["faithfulness"].score == 5


def test_persuasive_but_false_scores_high_on_one_axis_only():
    answer = "STA210 teaches Python programming, because you want to become a data analyst."
    verdict = judged(answer, COURSES, ANALYST)
    assert verdict.axes["faithfulness"].score <= 2
    assert verdict.axes["completeness"].score == 5
