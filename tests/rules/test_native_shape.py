"""The compiled reader tells how a text is built, and which telling words it shares with another, as Python does."""

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from both_readers import needs_library
from drawn_texts import CODE, MARKS, PASTED, built, spoken
from hypothesis import example, given, settings
from hypothesis import strategies as st
from native_functions import Shape, shapes, taken_up

from synthesis.checks import facts
from synthesis.rules.reading import Reading
from synthesis.rules.text import Language, language_of

pytestmark = needs_library
MORE = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12)]
LANGUAGES = [language_of(code) for code in ("en", "fr", "hi", "ja", "zh", "eo")]


def shape(text: str) -> Shape:
    pasted = facts._PASTED.search(text)
    return Shape(
        bool(facts._CODE.search(text)),
        pasted.start() if pasted else None,
        len(facts._QUOTE.findall(text)),
        len(facts._QUESTION.findall(text)),
    )


@pytest.mark.parametrize("seed", [1, *MORE])
def test_shape_of_drawn_texts(seed: int) -> None:
    chance = Random(seed)
    texts = [built(chance) for _ in range(20_000)]
    for text, found in zip(texts, shapes(texts), strict=True):
        assert found == shape(text), text


@settings(max_examples=200)
@given(st.lists(st.sampled_from([*CODE, *PASTED, *MARKS]), max_size=14).map("".join) | st.text(max_size=40))
@example("<a\n\n>")
@example(" \n \x0bdef x\u2028:")
@example("a: \n")
@example("a:\n\n- b")
def test_shape_of_any_text(text: str) -> None:
    assert shapes([text]) == [shape(text)]


@pytest.mark.parametrize("seed", [1, *MORE])
def test_words_that_a_reply_takes_up(seed: int) -> None:
    chance = Random(seed)
    repeating = 0
    for _ in range(2_000):
        user = chance.choice(LANGUAGES)
        reply = chance.choice([user, user, chance.choice(LANGUAGES)])
        repeating += same(spoken(chance, spaced=user.spaced), user, spoken(chance, spaced=reply.spaced), reply)
    assert repeating > 50


def same(message: str, spoken_by_user: Language, answer: str, spoken_in_reply: Language) -> bool:
    user, reply = Reading(message, spoken_by_user, "declared"), Reading(answer, spoken_in_reply, "declared")
    exchange: Any = SimpleNamespace(user=user, assistant=reply)
    expected = facts.taken_up(exchange)
    only_repeats = facts.only_repeats(exchange)
    assert taken_up(as_compared(user), as_compared(reply)) == (
        only_repeats,
        facts.families(exchange, expected),
        expected,
    )
    return only_repeats


def as_compared(reading: Reading) -> tuple[str, Language]:
    return reading._text.normal if reading.language.spaced else reading.spoken, reading.language


@pytest.mark.parametrize("count", [1, 31, 32, 33, 200])
def test_few_and_many_words_are_compared_alike(count: int) -> None:
    english = language_of("en")
    message = " ".join(f"word{number}" for number in range(0, count, 2))
    same(message, english, " ".join(f"word{number} word{number % 50}" for number in range(count)), english)
