"""A pasted chat: who speaks is told from the beginning of lines, or from JSON."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesis.errors import InputError
from synthesis.server.conversations import parse_chat

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
