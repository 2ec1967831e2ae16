"""What holds for every answer and every context."""

from hypothesis import given, settings
from hypothesis import strategies as st
from offline_samples import BRIDGE, RUBRIC

from synthesis.errors import LanguageError
from synthesis.judge.model import Course, Skill, TestCase
from synthesis.judge.offline import OfflineJudge
from synthesis.judge.offline.answers import split_claims

VOCABULARY = """
the bridge toll is not opened in 1932 Anna Lind night 40,000 cars never by you because
 สะพาน 橋 INF101 . ! - * 3. |
"""
words = st.sampled_from(VOCABULARY.split())
sentences = st.lists(words, max_size=25).map(" ".join)
texts = st.one_of(st.text(max_size=200), sentences)
contexts = st.lists(texts, max_size=4).map(tuple)
courses = st.builds(
    Course,
    code=texts,
    name=texts,
    skills=st.lists(st.builds(Skill, texts, st.lists(texts, max_size=2).map(tuple)), max_size=2).map(tuple),
    outcomes=st.lists(texts, max_size=2).map(tuple),
)


def verdict_on(answer, context, question="When?"):
    """None where the sample cannot be compared, which is an error of its own and never a constant."""
    try:
        return OfflineJudge().judge(TestCase("q", question, answer, context), RUBRIC)
    except LanguageError:
        return None


def in_bounds(verdict):
    if verdict is None:
        return
    assert 0.0 <= verdict.details["support"] <= 1.0
    assert all(0.0 <= claim["support"] <= 1.0 for claim in verdict.details["claims"])
    scores = [axis.score for axis in verdict.axes.values()]
    assert verdict.is_untold or all(type(score) is int and 1 <= score <= 5 for score in scores)


@given(texts, texts, contexts)
def test_any_text_gets_a_verdict_within_bounds(question, answer, context):
    in_bounds(verdict_on(answer, context, question))


@given(texts, texts, st.lists(courses, min_size=1, max_size=3).map(tuple))
def test_any_courses_get_a_verdict_within_bounds(question, answer, context):
    in_bounds(verdict_on(answer, context, question))


@given(texts, contexts)
def test_the_same_input_gets_the_same_verdict(answer, context):
    assert verdict_on(answer, context) == verdict_on(answer, context)


@settings(max_examples=300)
@given(texts, contexts)
def test_a_claim_whose_own_sentence_is_in_the_context_is_supported(answer, context):
    for before in claims_of(verdict_on(answer, context)):
        after = claims_of(verdict_on(answer, (*context, before["text"])))
        assert all(claim["verdict"] == "supported" for claim in after if claim["text"] == before["text"])


def claims_of(verdict):
    return verdict.details["claims"] if verdict else []


@given(texts)
def test_splitting_a_claim_again_changes_nothing(answer):
    for claim in split_claims(answer):
        again = [token.stem for part in split_claims(claim.text) for token in part.tokens]
        assert again == [token.stem for token in claim.tokens]


@given(st.permutations(BRIDGE), sentences)
def test_the_order_of_passages_does_not_matter_to_the_support(context, answer):
    turned, straight = verdict_on(answer, tuple(context)), verdict_on(answer, BRIDGE)
    assert (turned and turned.details["support"]) == (straight and straight.details["support"])
