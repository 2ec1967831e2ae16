"""A pasted chat: who speaks is told from the beginning of lines, or from JSON."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import synthesis
from synthesis.chats import FIRST, SECOND, SpeakerQuestion, parse_chat, speakers
from synthesis.errors import InputError
from synthesis.model import Turn

MESSAGES = """[{"role": "user", "content": "My dog died."}, {"role": "assistant", "content": "I'm so sorry."}]"""
TWO = [("user", "My dog died."), ("assistant", "I'm so sorry.")]


def turns_of(text: str, speaker: str = "") -> tuple[Turn, ...]:
    turns = parse_chat(text, speaker)
    assert not isinstance(turns, SpeakerQuestion)
    return turns


def spoken(text: str, speaker: str = "") -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in turns_of(text, speaker)]


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
def test_any_text_is_a_chat_or_a_question_or_an_error_in_words(text: str) -> None:
    with contextlib.suppress(InputError):
        require_chat_or_question(parse_chat(text))


def require_chat_or_question(found: tuple[Turn, ...] | SpeakerQuestion) -> None:
    if isinstance(found, SpeakerQuestion):
        assert found.choices
    else:
        assert any(turn.role == "assistant" for turn in found)


UNCLEAR = pytest.mark.parametrize(
    "text",
    [
        "Anna: My dog died.\nMo B.: I'm so sorry.",
        "[12:03] Anna: My dog died.\n[12:04] Mo B.: I'm so sorry.",
        "3/4/24, 9:01 PM - Anna: My dog died.\n3/4/24, 9:02 PM - Mo B.: I'm so sorry.",
        "**Anna**: My dog died.\n**Mo B.**: I'm so sorry.",
        """[{"role": "Anna", "content": "My dog died."}, {"role": "Mo B.", "content": "I'm so sorry."}]""",
        """{"messages": [{"from": "Anna", "value": "My dog died."}, {"from": "Mo B.", "value": "I'm so sorry."}]}""",
    ],
)


@UNCLEAR
def test_a_chat_from_anywhere_asks_who_is_the_assistant(text: str) -> None:
    asked = parse_chat(text)
    assert asked == parse_chat(text, "Nobody") == SpeakerQuestion(("Anna", "Mo B."))
    assert spoken(text, "Mo B.") == TWO


@UNCLEAR
def test_the_library_returns_the_question_and_takes_the_answer(text: str) -> None:
    asked = synthesis.evaluate_chat(text)
    assert isinstance(asked, synthesis.SpeakerQuestion)
    assert not asked
    assert str(asked) == "Which of them is the assistant? Anna, Mo B."
    verdict = synthesis.evaluate_chat(text, speaker=asked.choices[1], checks="all")
    assert isinstance(verdict, synthesis.Verdict)
    assert verdict.exchanges == [("My dog died.", "I'm so sorry.")]


@UNCLEAR
def test_the_api_answers_with_the_question_and_takes_the_answer(client: Any, text: str) -> None:
    asked = client.post("/api/v1/check", json={"chat": text})
    question = {"question": "Which of them is the assistant?", "choices": ["Anna", "Mo B."]}
    assert (asked.status_code, asked.json()) == (200, question)
    told = client.post("/api/v1/check", json={"chat": text, "speaker": "Mo B."})
    assert (told.status_code, told.json()["outcome"]) == (200, "pass")


def test_a_batch_answers_one_line_with_a_question_and_the_others_with_verdicts(client: Any) -> None:
    chat = '{"chat": "Anna: My dog died.\\nMo: I am so sorry."}'
    clear = '{"chat": "User: My dog died.\\nAssistant: I am so sorry."}'
    answer = client.post("/api/v1/batch", content=f"{chat}\n{clear}\n").text.splitlines()
    first, second = map(json.loads, answer)
    assert first == {"line": 1, "question": "Which of them is the assistant?", "choices": ["Anna", "Mo"]}
    assert (second["line"], second["outcome"]) == (2, "pass")


def test_a_chat_without_any_reply_is_refused_in_words(client: Any) -> None:
    refused = client.post("/api/v1/check", json={"chat": "hello"})
    assert refused.status_code == 422
    assert refused.json()["error"]["message"] == "The chat contains no reply of an assistant."
    both = client.post("/api/v1/check", json={"chat": "hello", "user": "hi", "assistant": "ho"})
    assert both.status_code == 422


def test_a_role_that_is_a_name_beside_known_roles_is_asked_about() -> None:
    said = {"system": "Be kind.", "user": "Hi.", "Mo": "Ho."}
    text = json.dumps([{"role": role, "content": content} for role, content in said.items()])
    assert parse_chat(text) == SpeakerQuestion(("user", "Mo"))
    assert spoken(text, "Mo") == [("system", "Be kind."), ("user", "Hi."), ("assistant", "Ho.")]


def test_paragraphs_without_names_take_turns() -> None:
    text = "My dog died.\n\nI'm so sorry."
    assert speakers(text) == (FIRST, SECOND)
    assert spoken(text, SECOND) == TWO
    assert turns_of(text, FIRST)[0].role == "assistant"


def test_a_word_before_a_colon_inside_a_message_is_no_speaker() -> None:
    text = "Anna: hi\nMo: Three things.\nNote: rest\nAnna: ok\nMo: good\nTip: sleep"
    assert speakers(text) == ("Anna", "Mo")
    assert turns_of(text, "Mo")[1].content == "Three things.\nNote: rest"


@given(st.text(max_size=200), st.text(max_size=20))
def test_any_text_and_any_answer_give_a_chat_or_an_error_in_words(text: str, assistant: str) -> None:
    with contextlib.suppress(InputError):
        require_chat_or_question(parse_chat(text, assistant))


@pytest.mark.parametrize("unit", [" ", "1:", "* ", "a ", "1 ", "_", "\n"])
def test_long_lines_of_one_kind_are_read_in_no_time(unit: str) -> None:
    assert speakers(unit * 20_000) == ()
