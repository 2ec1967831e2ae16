"""Similarity: token cosine by default, and whatever takes its place really decides."""

import math
import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesis import check_pivot, run_case, set_embedding_adapter
from synthesis.errors import SimilarityError
from synthesis.rules.reading import token_cosine

texts = st.text(max_size=60) | st.lists(st.sampled_from(["sad", "so", "am", "I"]), max_size=12).map(" ".join)
USER = "My husband asked for a divorce and I am devastated."


def cosine(left: str, right: str) -> float:
    return token_cosine(*(re.findall(r"\w+", text.lower()) for text in (left, right)))


def by_definition(left: str, right: str) -> float:
    def counts(text: str) -> Counter[str]:
        words = "".join(c if c.isalnum() or c == "_" else " " for c in text.lower()).split()
        return Counter(words) + Counter(f"{a} {b}" for a, b in pairwise(words))

    a, b = counts(left), counts(right)
    if not a or not b:
        return 0.0
    norm = math.sqrt(sum(v * v for v in a.values())) * math.sqrt(sum(v * v for v in b.values()))
    return sum(a[token] * b[token] for token in a) / norm


@given(texts, texts)
def test_it_is_symmetric_and_within_bounds(left: str, right: str) -> None:
    assert cosine(left, right) == cosine(right, left)
    assert 0 <= cosine(left, right) <= 1


@given(texts)
def test_equal_texts_with_words_are_wholly_alike(text: str) -> None:
    assert cosine(text, text) == (1.0 if any(c.isalnum() or c == "_" for c in text.lower()) else 0.0)


plain = st.text("aB c_1.,!?", max_size=40)


@given(plain, plain)
def test_it_is_the_cosine_of_words_and_pairs_of_words(left: str, right: str) -> None:
    assert cosine(left, right) == pytest.approx(by_definition(left, right))


class Fixed:
    name = "fixed"

    def __init__(self, value: object) -> None:
        self.value = value

    def similarity(self, text1: str, text2: str) -> object:
        return self.value


@pytest.mark.usefixtures("default_similarity")
def test_a_swapped_adapter_changes_the_verdict_and_none_resets_it() -> None:
    reply = "Pottery is nice."
    assert not check_pivot(USER, reply).passed
    set_embedding_adapter(Fixed(0.9))  # type: ignore[arg-type]
    swapped = check_pivot(USER, reply)
    assert (swapped.passed, swapped.evidence["anchor_similarity"]) == (True, 0.9)
    set_embedding_adapter(None)
    assert not check_pivot(USER, reply).passed


@pytest.mark.usefixtures("default_similarity")
@pytest.mark.parametrize("value", [float("nan"), -0.1, 1.5, "high", None, True])
def test_a_value_that_is_no_similarity_is_an_error_outcome(value: object) -> None:
    set_embedding_adapter(Fixed(value))  # type: ignore[arg-type]
    result = run_case({"id": "T-1", "user": USER, "assistant": "Hm.", "checks": ["topic_pivot"]})
    assert result.outcome == "error"
    assert "fixed returned" in (result.checks["topic_pivot"].error or "")


def test_something_that_is_no_adapter_is_refused() -> None:
    with pytest.raises(SimilarityError, match="not an embedding adapter"):
        set_embedding_adapter("cosine")  # type: ignore[arg-type]
