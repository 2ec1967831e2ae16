"""A reading speaks of the original text alone: its places cut back to the words, whatever the typography."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from synthesis.checks import rules_in_force
from synthesis.rules.detection import Detected
from synthesis.rules.reading import Message, Reading, read_without_rules
from synthesis.rules.text import primary

RULES = rules_in_force()
PHRASES = [
    "You **should** just move on.",
    "I know how you feel",
    "Would you like to talk",
    "“You'll be fine”",
    "大丈夫",
]
TYPOGRAPHY = ["\u200b", "  ", "\n\n", "*", "_", "’", "\u0301", "\u00a0", ". ", "! ", "- "]
texts = st.lists(st.sampled_from(PHRASES + TYPOGRAPHY), max_size=12).map("".join)


def read(text: str, language: str | None = None) -> Reading:
    declared = Detected(primary(language), "declared") if language else None
    return RULES.read([Message(text, "assistant", language=declared)])[0]


@given(texts, st.sampled_from(["en", "ja", None]))
def test_every_hit_carries_the_words_at_its_place(text: str, language: str | None) -> None:
    reading = read(text, language)
    assert reading.original == text
    assert all(hit.words == text[hit.start : hit.end] != "" for hit in reading.hits)
    places = [(hit.start, -hit.end, hit.rule.id) for hit in reading.hits]
    assert places == sorted(places)


@given(texts, st.sampled_from(["en", "ja"]))
@example("’*  ", "en")
def test_sentences_and_anchor_are_places_of_the_original(text: str, language: str) -> None:
    reading = read_without_rules(text, language)
    assert all(0 <= start <= end <= len(text) for start, end in (*reading.sentences, reading.anchor))
    start, end = reading.sentences[:2][-1] if reading.sentences else reading.anchor
    # Marks alone may make a sentence without a character, which ends where the next one would begin.
    assert start == end or reading.anchor[1] == end
    assert all(reading.sentence_at(start) == (start, end) for start, end in reading.sentences if start < end)


def test_typography_leads_back_to_the_words_as_written() -> None:
    reading = read("Well, you *should* just let it go.")
    assert any(hit.words.startswith("you *should*") for hit in reading.hits)


@pytest.mark.parametrize(
    ("text", "declared", "expected"),
    [
        ("You should rest.", None, ("en", "words")),
        ("You should rest.", "en-GB", ("en", "declared")),
        ("You should rest.", "xx", ("und", "declared")),
        ("きっと大丈夫です", None, ("ja", "script")),
    ],
)
def test_a_reading_says_its_language_and_how_it_was_decided(
    text: str, declared: str | None, expected: tuple[str, str]
) -> None:
    reading = read(text, declared)
    assert (reading.language.code, reading.language_by) == expected
    assert bool(reading.hits) == (expected[0] != "und")


def test_messages_are_read_together_as_each_would_be_alone() -> None:
    messages = [
        Message("I want to die", "user"),
        Message("You should rest.", "assistant"),
        Message("You should rest.", "assistant", frozenset({"agency.positive"})),
        Message("", "assistant"),
        Message("Du solltest dich jetzt ausruhen.", "assistant"),
    ]
    together = [reading.hits for reading in RULES.read(messages)]
    assert together == [RULES.read([message])[0].hits for message in messages]
    assert list(map(bool, together)) == [True, True, False, False, False]
