"""What a reply means: certain meanings are read, all else is refused, and no text breaks the reader."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesis.judge.replies import UnusableReplyError, read_reply
from synthesis.judge.rubric import load_rubric

RUBRIC = load_rubric("rag")
SCORE = st.integers(1, 5)
REASON = st.text(min_size=1).filter(lambda text: text.strip())


def reply(faithfulness, completeness, why="because"):
    return json.dumps(
        {
            "faithfulness": {"reasoning": why, "score": faithfulness},
            "completeness": {"reasoning": why, "score": completeness},
        }
    )


@given(SCORE, SCORE, REASON)
def test_a_verdict_is_read_back_as_it_was_meant(faithfulness, completeness, why):
    axes = read_reply(reply(faithfulness, completeness, why), RUBRIC)
    assert [axis.score for axis in axes.values()] == [faithfulness, completeness]
    assert axes["faithfulness"].reasoning == why.strip()


@given(st.text())
def test_any_text_is_either_read_or_refused(text):
    with contextlib.suppress(UnusableReplyError):
        assert set(read_reply(text, RUBRIC)) == {"faithfulness", "completeness"}


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=3))
def test_only_a_whole_score_from_one_to_five_is_a_score(value):
    meant = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    text = value.strip() if isinstance(value, str) else ""
    fine = meant in (1, 2, 3, 4, 5) or text[:1] in tuple("12345")
    try:
        read_reply(reply(value, 3), RUBRIC)
    except UnusableReplyError:
        return
    assert fine


@pytest.mark.parametrize("score", [0, 6, 3.5, -1, True, None, "", "five", "4.5", "10", [4], {"score": 4}])
def test_scores_off_the_scale_are_refused(score):
    with pytest.raises(UnusableReplyError):
        read_reply(reply(score, 3), RUBRIC)


@pytest.mark.parametrize(
    "text",
    [
        reply(5, 5) + "\n" + reply(1, 1),
        reply(5, 5).replace('"completeness"', '"faithfulness"'),
        reply(5, 5).replace('"score": 5', '"score": 5, "score": 1'),
        "{" * 5000,
        '{"a":' * 5000,
    ],
    ids=["two verdicts", "axis twice", "score twice", "braces", "deep"],
)
def test_doubtful_replies_are_refused(text):
    with pytest.raises(UnusableReplyError):
        read_reply(text, RUBRIC)


def test_the_same_verdict_twice_is_one_verdict():
    axes = read_reply(f"Draft: {reply(4, 2)} Final: {reply(4, 2)}", RUBRIC)
    assert axes["completeness"].score == 2
