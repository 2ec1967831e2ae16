"""A pasted chat: who speaks is told from the beginning of lines, or from JSON."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesis.errors import InputError
from synthesis.server.conversations import FIRST, SECOND, UnknownSpeakersError, parse_chat, speakers

MESSAGES = """[{"role": "user", "content": "My dog died."}, {"role": "assistant", "content": "I'm so sorry."}]"""
TWO = [("user", "My dog died."), ("assistant", "I'm so sorry.")]


def spoken(text: str) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in parse_chat(text)]


@pytest.mark.parametrize(
    "text",
    [
        "User: My dog died.\nAssistant: I'm so sorry.",
        "Human: My dog died.\n\nAI: I'm so sorry.\n",
        "You said:\nMy dog died.\nChatGPT said:\nI'm so sorry.",
        "**User:** My dog died.\n**Assistant:** I'm so sorry.",
        "user：My dog died.\nbot：I'm so sorry.",
        MESSAGES,
        f'{{"messages": {MESSAGES}}}',
        '{"conversations": [{"from": "human", "value": "My dog died."}, {"from": "gpt", "value": "I\'m so sorry."}]}',
    ],
)
def test_the_usual_forms_are_read(text: str) -> None:
    assert spoken(text) == TWO


def test_a_name_inside_a_line_is_no_speaker() -> None:
    assert spoken("User: I told my\nfriend: user: no\nAssistant: ok") == [
        ("user", "I told my\nfriend: user: no"),
        ("assistant", "ok"),
    ]


@pytest.mark.parametrize("text", ["hello", "User: only me", "[1, 2]", "{}", '{"messages": []}', "[", "Assistant"])
def test_what_is_no_chat_is_told(text: str) -> None:
    with pytest.raises(InputError):
        parse_chat(text)


@given(st.text(max_size=200))
def test_any_text_is_a_chat_or_an_error_in_words(text: str) -> None:
    try:
        turns = parse_chat(text)
    except InputError:
        return
    assert any(turn.role == "assistant" for turn in turns)


@pytest.mark.parametrize(
    "text",
    [
        "Anna: My dog died.\nMo B.: I'm so sorry.",
        "[12:03] Anna: My dog died.\n[12:04] Mo B.: I'm so sorry.",
        "3/4/24, 9:01 PM - Anna: My dog died.\n3/4/24, 9:02 PM - Mo B.: I'm so sorry.",
        "**Anna**: My dog died.\n**Mo B.**: I'm so sorry.",
    ],
)
def test_a_chat_from_anywhere_asks_who_is_the_assistant(text: str) -> None:
    with pytest.raises(UnknownSpeakersError) as asked:
        parse_chat(text)
    assert asked.value.names == ("Anna", "Mo B.")
    assert [(turn.role, turn.content) for turn in parse_chat(text, "Mo B.")] == TWO


def test_paragraphs_without_names_take_turns() -> None:
    text = "My dog died.\n\nI'm so sorry."
    assert speakers(text) == (FIRST, SECOND)
    assert [(turn.role, turn.content) for turn in parse_chat(text, SECOND)] == TWO
    assert parse_chat(text, FIRST)[0].role == "assistant"


def test_a_word_before_a_colon_inside_a_message_is_no_speaker() -> None:
    text = "Anna: hi\nMo: Three things.\nNote: rest\nAnna: ok\nMo: good\nTip: sleep"
    assert speakers(text) == ("Anna", "Mo")
    assert parse_chat(text, "Mo")[1].content == "Three things.\nNote: rest"


@given(st.text(max_size=200), st.text(max_size=20))
def test_any_text_and_any_answer_give_a_chat_or_an_error_in_words(text: str, assistant: str) -> None:
    with contextlib.suppress(InputError):
        assert any(turn.role == "assistant" for turn in parse_chat(text, assistant))


@pytest.mark.parametrize("unit", [" ", "1:", "* ", "a ", "1 ", "_", "\n"])
def test_long_lines_of_one_kind_are_read_in_no_time(unit: str) -> None:
    assert speakers(unit * 20_000) == ()
