"""Logs are read as other tools write them: what people said, what was replied, and what the row is called."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import CommandLine, write_jsonl
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesis.checks.registry import checks
from synthesis.errors import InputError, OptionError, Problem
from synthesis.model import Case
from synthesis.read.cases import CaseValidator
from synthesis.read.inputs import Input, completed_columns, log_cases
from synthesis.read.lines import Row
from synthesis.read.rows import Converter, LogOptions
from synthesis.read.shapes import probable_map

LOGS = Path(__file__).parent / "logs"
VALIDATOR = CaseValidator(checks())
EXCHANGES = [
    (
        "I forgot my password and the reset mail never came.",
        "Check the spam folder first. If it is not there, I can send the mail again.",
    ),
    (
        "Can I change the delivery address of my order?",
        "Yes, until it ships: open the order and choose “Change address”.",
    ),
    (
        "My father died in March and I still set the table for him.",
        "I'm so sorry. Would you like to tell me about him?",
    ),
    ("I lost my job last week and I feel awful.", "You should just get over it."),
]
OTHER = "I can look that up for you. Which of the two orders is it about?"
ARENA = [
    EXCHANGES[0],
    (EXCHANGES[0][0], OTHER),
    EXCHANGES[2],
    (EXCHANGES[2][0], OTHER),
]
# File -> the id of its first case. A file that is not here has no ids.
IDS = {
    "anthropic-messages.jsonl": "conv_010",
    "chatgpt-conversations.json": "6f1d2c3b-4a59-4837-8695-a4b3c2d1e384",
    "helicone-requests.csv": "6f1d2c3b-4a59-4837-8695-a4b3c2d1e1f4",
    "helicone-requests.jsonl": "6f1d2c3b-4a59-4837-8695-a4b3c2d1e1f4",
    "input-output.csv": "s-1",
    "langchain-messages.jsonl": "s-1",
    "langfuse-observations.jsonl": "obs-0",
    "langfuse-traces.csv": "3f1c70aa-trace",
    "langfuse-traces.json": "3f1c70aa-trace",
    "langsmith-chain-runs.jsonl": "6f1d2c3b-4a59-4837-8695-a4b3c2d1e064",
    "langsmith-graph-runs.json": "6f1d2c3b-4a59-4837-8695-a4b3c2d1e064",
    "langsmith-llm-runs.jsonl": "6f1d2c3b-4a59-4837-8695-a4b3c2d1e064",
    "langsmith-openai-runs.jsonl": "6f1d2c3b-4a59-4837-8695-a4b3c2d1e064",
    "list-inside.json": "t-1",
    "litellm-logs.jsonl": "chatcmpl-B7x0Qz",
    "litellm-spend-logs.csv": "6f1d2c3b-4a59-4837-8695-a4b3c2d1e2bc",
    "lmsys-arena.jsonl": "58210e39b3fd4441a2bd4a518bb44310 a",
    "lmsys-chat.jsonl": "33f01939a744455c869cb234afca47f0",
    "one-message-per-row.csv": "T1",
    "openai-chat.jsonl": "chat_1",
    "openai-request-response.jsonl": "req_1",
    "openai-responses.jsonl": "resp_67ccd0",
    "openinference-spans.jsonl": "0x5b8efff798038103d269b633813fc600",
    "openllmetry-spans.jsonl": "0x5b8efff798038103d269b633813fc600",
    "opentelemetry-otlp.json": "5b8efff798038103d269b633813fc600",
    "opentelemetry-otlp.jsonl": "5b8efff798038103d269b633813fc600",
    "prompt-response.jsonl": "p-1",
    "promptfoo-results.json": "6f1d2c3b-4a59-4837-8695-a4b3c2d1e300",
    "question-answer.jsonl": "r-1",
    "sharegpt.json": "identity_0",
    "vercel-ai-sdk-messages.csv": "chat-1",
    "vercel-ai-sdk.jsonl": "chat-1",
    "wildchat.jsonl": "d0f1a20",
}


def read(path: Path) -> list[Case | Problem]:
    source = Input.of(path).looked_at()
    assert not source.holds_cases(mapped=False)
    return list(log_cases(source, LogOptions(VALIDATOR, columns=completed_columns(source, {}) or {})))


@pytest.mark.parametrize("path", sorted(LOGS.iterdir()), ids=lambda path: path.name)
def test_every_shape_is_read_without_a_map(path: Path) -> None:
    cases = read(path)
    assert all(isinstance(case, Case) for case in cases), cases
    said = [case.exchanges for case in cases if isinstance(case, Case)]
    assert said == [[exchange] for exchange in (ARENA if path.name == "lmsys-arena.jsonl" else EXCHANGES)]
    first = cases[0]
    assert isinstance(first, Case)
    assert first.id == IDS.get(path.name, "ROW-1")


def test_the_page_about_logs_says_what_was_read_of_every_shape() -> None:
    page = (Path(__file__).parents[2] / "docs" / "logs.md").read_text(encoding="utf-8")
    for path in LOGS.iterdir():
        cases = read(path)
        found = sum(isinstance(case, Case) for case in cases)
        assert f"| `{path.name}` | {found} of {len(cases)} |" in page, path.name


def test_parquet_is_recognised_by_its_columns(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for name in ("wildchat.jsonl", "langsmith-openai-runs.jsonl", "helicone-requests.jsonl", "lmsys-arena.jsonl"):
        rows = [json.loads(line) for line in (LOGS / name).read_text(encoding="utf-8").splitlines()]
        parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "log.parquet")
        (first, *_) = read(tmp_path / "log.parquet")
        assert isinstance(first, Case), first
        assert (first.id, first.exchanges) == (IDS[name], [EXCHANGES[0]])


def one(fields: dict[str, Any], *, cells: bool = False, columns: dict[str, str] | None = None) -> Case | Problem:
    return Converter(LogOptions(VALIDATOR, columns=columns or {}), "log", cells=cells).case(Row(1, 1, fields))


def said(fields: dict[str, Any], **options: Any) -> list[tuple[str, str]] | str:
    found = one(fields, **options)
    return found.exchanges if isinstance(found, Case) else found.message


def test_a_system_prompt_and_a_tool_result_are_not_what_a_person_said() -> None:
    messages = [
        {"role": "system", "content": "I want to die is what some people write."},
        {"role": "user", "content": "Hello"},
        {"type": "function_call_output", "call_id": "c", "output": "I want to die"},
        {"role": "tool", "content": "I want to die"},
        {"role": "assistant", "content": "Hi"},
    ]
    assert said({"input": messages[:-1], "output": messages[-1:]}) == [("Hello", "Hi")]


@pytest.mark.parametrize(
    ("fields", "exchange"),
    [
        ({"input": {"question": "Q"}, "output": {"answer": "A", "sources": ["s"]}}, ("Q", "A")),
        ({"inputs": {"input": "Q", "chat_history": []}, "outputs": {"output": {"text": "A"}}}, ("Q", "A")),
        ({"input": '"Q"', "output": '"A \\"quoted\\""'}, ("Q", 'A "quoted"')),
        ({"user": "u_17", "prompt": "Q", "response": "A"}, ("Q", "A")),
        ({"messages": None, "user": "Q", "assistant": "A"}, ("Q", "A")),
        ({"messages": [{"role": "user", "content": "Q"}], "choices": [{"message": {"content": "A"}}]}, ("Q", "A")),
        ({"attributes": {"app": "web"}, "user": "Q", "assistant": "A"}, ("Q", "A")),
        ({"instruction": "Sum up:", "context": "A long text.", "response": "A"}, ("Sum up:\n\nA long text.", "A")),
        ({"user": '{"a": 1}', "assistant": "A"}, ('{"a": 1}', "A")),
        (
            {
                "context.trace_id": "t",
                "attributes.llm.input_messages": [{"message.role": "user", "message.content": "Q"}],
                "attributes.llm.output_messages": [{"message": {"role": "assistant", "content": "A"}}],
            },
            ("Q", "A"),
        ),
    ],
)
def test_where_the_words_are(fields: dict[str, Any], exchange: tuple[str, str]) -> None:
    assert said(fields) == [exchange]


def test_an_object_without_a_text_that_has_a_known_name_is_a_problem_that_names_its_keys() -> None:
    assert said({"input": "Q", "output": {"verdict": "A", "score": 1}}) == (
        "'output' has no text under a known name (it has: score, verdict)"
    )


@pytest.mark.parametrize("names", [("user", "assistant"), ("prompt", "response")])
def test_json_in_the_cell_of_a_table_is_never_what_a_person_said(names: tuple[str, str]) -> None:
    user, assistant = names
    cell = json.dumps({"messages": [{"role": "user", "content": "Q"}]})
    assert said({user: cell, assistant: '{"answer": "A"}'}, cells=True) == [("Q", "A")]
    found = said({user: "Q", assistant: '{"verdict": 1}'}, cells=True)
    assert (
        found
        == f"'{assistant}' has no text under a known name (it has: verdict); the cell holds JSON, which nobody said"
    )
    assert said({user: "[1] is a footnote", assistant: "{}"}, cells=True) == [("[1] is a footnote", "{}")]


def test_a_span_without_words_says_how_to_record_them() -> None:
    assert "CAPTURE_MESSAGE_CONTENT" in said({"attributes": {"gen_ai.request.model": "m"}, "trace_id": "t"})


@pytest.mark.parametrize(
    "row",
    [
        {"attributes": {"http.request.method": "POST"}},
        {"attributes": {"gen_ai.operation.name": "execute_tool", "gen_ai.input.messages": "[]"}},
        {"attributes": {"openinference.span.kind": "RETRIEVER", "input.value": "mail", "output.value": "help.md"}},
        {"run_type": "tool", "inputs": {"input": "mail"}, "outputs": {"output": "sent"}},
        {"type": "TOOL", "traceId": "t", "input": "mail", "output": "sent"},
    ],
)
def test_what_programs_say_to_each_other_is_left_out(tmp_path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="holds no rows"):
        read(write_jsonl(tmp_path / "log.jsonl", [row]))


def test_a_ring_in_a_tree_of_messages_has_an_end() -> None:
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hello"]}}
    nodes = {"a": {"message": message, "parent": "b"}, "b": {"message": message, "parent": "a"}}
    found = one({"mapping": nodes, "current_node": "a"})
    assert isinstance(found, Case)
    assert len(found.messages) == 2


def test_two_conversations_of_a_row_are_refused_where_a_row_is_one() -> None:
    talk = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]
    row = {"conversation_a": talk, "conversation_b": talk}
    assert "--map messages=conversation_a" in said(row)
    assert said(row, columns={"messages": "conversation_a"}) == [("Q", "A")]


LONG_NAMES = {"run": {"ask_text": "Why is that?", "model_text": "I see."}, "model_name": "m", "created_at": "now"}


def test_a_row_of_no_known_shape_names_its_keys_and_the_map_that_may_read_it() -> None:
    assert probable_map(LONG_NAMES) == "user=run.ask_text,assistant=run.model_text"
    assert probable_map({"id": "7", "a": "Why me?", "b": "I see."}) == "user=a,assistant=b"
    assert probable_map({"id": "7", "a": "Why me?", "b": "I see.", "c": "No idea"}) == ""
    assert probable_map({"a": "Hi", "b": "Oh"}, [{"a": "Why me?", "b": "你好，怎么了"}]) == "user=a,assistant=b"
    row = {"Ticket ID": "17", "customer_words": "Why me?", "bot_words": "I see."}
    assert probable_map(row) == "user=customer_words,assistant=bot_words,id=Ticket ID"
    assert said(LONG_NAMES) == (
        "has no 'user' (--map user=run.ask_text,assistant=run.model_text may name it; "
        "the row has: created_at, model_name, run)"
    )


GUESSED_NEVER = {
    "a batch's output": {
        "custom_id": "r1",
        "answer": {"choices": [{"finish_reason": "stop", "object": "chat.completion"}]},
    },
    "comments": {
        "subject": "My order",
        "comments": [{"author_id": 5, "body": "Where is it?"}, {"author_id": 7, "body": "I look."}],
    },
    "codes": {"user_type": "customer", "response_code": "E17", "text": "Where is my order?"},
}


@pytest.mark.parametrize("row", GUESSED_NEVER.values(), ids=GUESSED_NEVER)
def test_what_nobody_says_is_not_suggested_as_one_of_the_sides(row: dict[str, Any]) -> None:
    assert probable_map(row) == ""


ASKED = {"messages": [{"role": "user", "content": "Where is it?"}]}
ANSWERED = {"status_code": 200, "body": {"choices": [{"message": {"role": "assistant", "content": "On its way."}}]}}
EVENTS: dict[str, list[dict[str, Any]]] = {
    "attributes": [
        {"name": "gen_ai.system.message", "attributes": {"content": "Be kind."}},
        {"name": "gen_ai.user.message", "attributes": {"gen_ai.system": "x", "content": "Where is it?"}},
        {"name": "gen_ai.choice", "attributes": {"index": 0, "message": '{"content": "On its way."}'}},
    ],
    "bodies": [
        {"name": "gen_ai.user.message", "body": {"content": "Where is it?"}},
        {"name": "gen_ai.choice", "body": {"finish_reason": "stop", "message": {"content": "On its way."}}},
    ],
    "OTLP": [
        {"name": "gen_ai.user.message", "attributes": [{"key": "content", "value": {"stringValue": "Where is it?"}}]},
        {
            "name": "gen_ai.assistant.message",
            "attributes": [{"key": "content", "value": {"stringValue": "On its way."}}],
        },
    ],
}
BELOW = {
    "a joined batch": {"custom_id": "r1", "method": "POST", "body": ASKED, "response": ANSWERED, "error": None},
    "a thread": {"id": "t1", "thread": {"messages": [*ASKED["messages"], {"role": "bot", "content": "On its way."}]}},
    **{f"events with {name}": {"attributes": {"gen_ai.system": "x"}, "events": EVENTS[name]} for name in EVENTS},
}


@pytest.mark.parametrize("row", BELOW.values(), ids=BELOW)
def test_conversations_below_other_things_are_found(tmp_path: Path, row: dict[str, Any]) -> None:
    (case,) = read(write_jsonl(tmp_path / "log.jsonl", [row]))
    assert isinstance(case, Case), case
    assert case.exchanges == [("Where is it?", "On its way.")]


def test_half_of_a_batch_says_what_to_join() -> None:
    assert "nothing that it replies to: join the batch's input and its output by 'custom_id'" in str(
        said({"custom_id": "r1", "response": ANSWERED})
    )
    assert "no reply to it: join" in str(said({"custom_id": "r1", "method": "POST", "body": ASKED}))


def test_rows_are_found_where_an_export_wraps_them(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    tickets = [BELOW["a thread"], {**BELOW["a thread"], "id": "t2"}]
    path.write_text(json.dumps({"version": 2, "export": {"by": {"name": "x"}, "tickets": tickets}}))
    assert [case.id for case in read(path) if isinstance(case, Case)] == ["t1", "t2"]
    path.write_text(json.dumps({"export": {"tickets": tickets, "people": [{"name": "x"}]}}))
    with pytest.raises(InputError, match="no list of rows"):
        read(path)


def test_rows_without_anything_in_their_cells_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user,assistant\nHi,Hello\n,\n , \nOh,Yes\n")
    assert [
        (case.id, case.source.line) for case in read(tmp_path / "t.csv") if isinstance(case, Case) and case.source
    ] == [
        ("ROW-1", 2),
        ("ROW-2", 5),
    ]


def words(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(text.split())


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["", "Hello", "user", "[]", '{"a": [{}]}', '"x"', "[[", "ai"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            words(
                "role content type text parts messages choices generations message data kwargs id author author.role "
                "input output answer question chat_history key value attributes body from"
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
names = words(
    "messages conversations conversation conversation_a conversation_b mapping current_node attributes events "
    "resourceSpans scopeSpans gen_ai.prompt gen_ai.prompt.0.content gen_ai.input.messages llm.input_messages inputs "
    "outputs input output request response prompt completion instruction user assistant id trace_id run_type"
)


@given(st.dictionaries(names, values, min_size=1, max_size=5), st.booleans())
@settings(max_examples=300, deadline=None)
def test_whatever_a_row_holds_it_is_a_case_or_a_problem(fields: dict[str, Any], cells: bool) -> None:
    found = one(fields, cells=cells)
    assert isinstance(found, Case | Problem)


def test_a_table_without_a_likely_pair_is_refused_with_the_likely_map(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user_words,agent_words\nWhy me?,I see.\n")
    with pytest.raises(OptionError) as raised:
        read(tmp_path / "t.csv")
    assert "--map user=user_words,assistant=agent_words" in str(raised.value)


def test_a_log_that_no_recogniser_knows_is_one_error_with_keys_and_a_map(cli: CommandLine) -> None:
    done = cli("eval", write_jsonl(cli.folder / "log.jsonl", [LONG_NAMES] * 30))
    assert done.code == 1
    assert done.err.count("run.ask_text") == 1
    assert len(done.err.splitlines()) < 12
    assert "log.jsonl: 30 rows that are nothing like cases" in done.err
    assert "lines 1, 2, 3, 4, 5 and 25 more: neither a case nor a row of a known shape" in done.err
    assert "The first row has: created_at, model_name, run." in done.err


def test_errors_in_the_same_words_are_one_with_an_exact_count(cli: CommandLine) -> None:
    rows = [{"id": f"c{number}", "prompt": "Q", "response": {"verdict": 1}} for number in range(30)]
    path = write_jsonl(cli.folder / "log.jsonl", [{"prompt": "Q", "response": "A"}, *rows])
    done = cli("eval", path, "--format", "markdown=drawn.md", "--format", "github=drawn.txt")
    why = "'response' has no text under a known name (it has: verdict)"
    assert f"error      c0, c1, c2, c3, c4 and 25 more: {why}" in done.out
    assert done.out.count(why) == 1
    assert (cli.folder / "drawn.md").read_text().count(why) == 1
    assert (cli.folder / "drawn.txt").read_text().count("no verdict") == 1
    assert cli.report()["summary"]["errors"] == 30
    stopped = cli("eval", path, "--on-bad-row", "stop")
    assert f"lines 2, 3, 4, 5, 6 and 25 more: {why}" in stopped.err
    assert stopped.err.count(why) == 1
