"""The normal form, and the way back to the words as they were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesis.rules.text import Text, language_of

EN = language_of("en")
JA = language_of("ja")


def normal(text: str) -> str:
    return Text(text, EN).normal


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("You’ll see", "you'll see"),
        ("I *promise* you", "i promise you"),
        ("I **really** _do_", "i really do"),
        ("every\u00a0thing", "every thing"),
        ("ever\u200bything", "everything"),
        ("will\nbe fine", "will be fine"),
        ("ＦＩＮＥ", "fine"),
        ("cafe\u0301", "café"),
        ("snake_case stays", "snake_case stays"),
        ("One. Two", "one.\ntwo"),
        ("Dr. Smith said", "dr. smith said"),
        ("Wait... what", "wait... what"),
        ("Wait... What", "wait...\nwhat"),
        ("Title:\n- one\n- two", "title:\n- one\n- two"),
        ("1. Rest\n2. Eat", "1. rest\n2. eat"),
        ("para\n\ngraph", "para\ngraph"),
    ],
)
def test_normal_form(written: str, expected: str) -> None:
    assert normal(written) == expected


def sentences(text: str, language: str = "en") -> list[str]:
    prepared = Text(text, language_of(language))
    return [prepared.cut(start, end) for start, end in prepared.sentences]


def test_sentences_are_cut_from_the_original() -> None:
    assert sentences("Hello there!  How *are* you?\n\n- First thing.\n- “Second” thing") == [
        "Hello there!",
        "How *are* you?",
        "First thing.",
        "Second” thing",
    ]


def test_sentences_without_spaces_between_them() -> None:
    assert sentences("大丈夫ですか？話してみて。うん", "ja") == ["大丈夫ですか？", "話してみて。", "うん"]
    assert sentences("मैं ठीक हूँ। और तुम?", "hi") == ["मैं ठीक हूँ।", "और तुम?"]


def test_the_anchor_is_the_first_two_sentences() -> None:
    text = Text("One. Two! Three?", EN)
    assert text.cut(0, text.anchor_end) == "One. Two!"


def test_quotations_are_found_but_a_reply_in_quotes_quotes_nobody() -> None:
    assert [
        Text('He said "go away" twice', EN).cut(*span) for span in Text('He said "go away" twice', EN).quotations
    ] == ['"go away"']
    assert Text("what 'failing' means, don't you?", EN).quotations == [(5, 14)]
    assert Text('"Would you like to talk?"', EN).quotations == []


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=80) | st.text(
    "aB é’“*_ \n.?!1-\u200b\u0301ﬁİ。", max_size=40
)


@given(any_text, st.sampled_from(["en", "ja", "hi"]), st.data())
def test_every_span_of_the_normal_form_leads_back_to_its_words(text: str, language: str, data: st.DataObject) -> None:
    prepared = Text(text, language_of(language))
    start = data.draw(st.integers(0, len(prepared.normal)))
    end = data.draw(st.integers(start, len(prepared.normal)))
    first, last = prepared.span(start, end)
    assert 0 <= first <= last <= len(text)
    for index in range(start, end):
        one, after = prepared.span(index, index + 1)
        written, seen = text[one:after], prepared.normal[index]
        assert seen in (" ", "\n") if written.isspace() else len(written) >= 1
        assert first <= one <= after <= last


@given(any_text)
def test_normalising_twice_changes_nothing_more_than_spacing(text: str) -> None:
    prepared = Text(text, EN)
    assert prepared.normal == prepared.normal.lower() or len(text.lower()) != len(text)


@given(any_text, st.sampled_from(["en", "zh"]))
def test_sentences_are_in_order_and_hold_no_line_feed(text: str, language: str) -> None:
    prepared = Text(text, language_of(language))
    reached = 0
    for start, end in prepared.sentences:
        assert reached <= start <= end
        assert "\n" not in prepared.normal[start:end]
        reached = end
