"""Uploads that ask: the first rows, what the columns seem to be, and errors in the words of the page."""

import io
import json
import re
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import row

SAID, GOOD = "I lost my job and I feel awful.", "I'm sorry. Would you like to talk about it?"
MIXED = f"chat,role,text\na,user,{SAID}\nb,user,{SAID}\na,bot,{GOOD}\nb,bot,{GOOD}\n".encode()


def finished(client: Any, content: bytes, **query: str) -> Any:
    answer = client.post("/api/v1/uploads", content=content, params=query)
    assert answer.status_code == 202, answer.text
    heard: str = client.get(f"/api/v1/uploads/{answer.json()['id']}/events").text
    return json.loads(heard.strip().rpartition("data: ")[2])


def looked(client: Any, content: bytes, kind: str = "csv") -> Any:
    answer = client.post("/api/v1/previews", content=content, params={"kind": kind})
    assert answer.status_code == 200, answer.text
    return answer.json()


SHAPES = {
    "messages": (b"Ticket ID,From,Body\n1,user,Hi\n", "csv", "message", ["Ticket ID", "From", "Body"]),
    "exchanges": (b"Prompt;Completion\nHi;Hello\n", "csv", "exchange", ["Prompt", "Completion"]),
    "conversations": (b'[{"conversations": [{"from": "human", "value": "Hi"}]}]', "json", "conversation", None),
    "sides": (b"no,customer,bot\n1,Hi,Hello\n", "csv", "exchange", ["customer", "bot"]),
    "values": (b"no,case,w,x\n1,A,Customer,Hi there\n2,A,bot,Hello you\n", "csv", "message", ["case", "w", "x"]),
    "unknown": (b'{"a": "x", "b": 5}\n', "jsonl", "exchange", []),
    "requests": (b'{"inputs": {"question": "Hi"}, "outputs": {}}', "jsonl", "exchange", ["inputs", "outputs"]),
    "export": (b'[{"title": "T", "mapping": {}, "current_node": "a"}]', "json", "known", []),
    "cases": (json.dumps(row()).encode(), "jsonl", "case", []),
}


@pytest.mark.parametrize(("content", "kind", "shape", "columns"), SHAPES.values(), ids=SHAPES)
def test_what_a_row_seems_to_be_is_suggested(client: Any, content: bytes, kind: str, shape: str, columns: Any) -> None:
    found = looked(client, content, kind)
    assert found["shape"] == shape
    assert [*found["map"].values()] == (["conversations"] if columns is None else columns)


def test_the_first_rows_are_shown_and_long_cells_cut(client: Any) -> None:
    lines = [f"{number},{'long ' * 100 if number == 1 else 'x'}" for number in range(9)]
    found = looked(client, "\n".join(["a,b", *lines, '9,"open']).encode())
    assert found["columns"] == ["a", "b"]
    assert [one["cells"][0] for one in found["rows"]] == ["0", "1", "2", "3", "4"]
    assert len(found["rows"][1]["cells"][1]) == 202


def test_rows_that_cannot_be_read_and_documents_that_break_off_are_no_hindrance(client: Any) -> None:
    found = looked(client, b'{"user": "Hi", "assistant": "Hello"}\n{"user": "\n', "jsonl")
    assert [one.get("problem", "")[:17] for one in found["rows"]] == ["", "is not valid JSON"]
    found = looked(client, b'[{"user": "Hi", "assistant": "Hello"}, {"user": "H', "json")
    assert len(found["rows"]) == 1


def test_what_is_not_utf8_is_spelled_out(client: Any) -> None:
    found = looked(client, b"chat,r\xffole,text\na,user,Hi\n")
    assert (found["columns"][1], found["shape"]) == ("r\\udcffole", "exchange")
    found = looked(client, b'[{"user": "\\ud800", "assistant": ["\\ud800"]}]', "json")
    assert found["rows"][0]["cells"] == ["\\ud800", '["\\ud800"]']


def test_the_end_of_a_parquet_file_says_what_its_columns_are(client: Any) -> None:
    held = io.BytesIO()
    table = pa.table({"chat_id": ["a"] * 9000, "role": ["user"] * 9000, "text": [f"{n} {n * n}" for n in range(9000)]})
    pq.write_table(table, held)
    found = looked(client, held.getvalue()[-20_000:], "parquet")
    assert (found["shape"], found["columns"], found["rows"]) == ("message", ["chat_id", "role", "text"], [])


def test_a_parquet_file_is_evaluated(client: Any) -> None:
    held = io.BytesIO()
    pq.write_table(pa.table({"chat": ["a", "a"], "role": ["user", "bot"], "text": [SAID, GOOD]}), held)
    last = finished(client, held.getvalue(), kind="parquet", checks="agency_language")
    assert last["summary"]["by_check"] == {"agency_language": {"passed": 1, "failed": 0, "not_applicable": 0}}


def test_messages_are_sorted_and_evaluated_in_the_profile_that_is_asked_for(client: Any) -> None:
    columns = json.dumps({"conversation": "chat", "role": "role", "text": "text"})
    last = finished(client, MIXED, kind="csv", map=columns, sort="true", profile="authored")
    assert (last["state"], last["cases"]) == ("done", 2)
    report = client.get(f"/api/v1/uploads/{last['id']}/report").json()
    assert (report["profile"], report["options"]["sort"]) == ("authored", True)


BAD = {
    "returns": (MIXED, {"kind": "csv"}, "line 4 (a): the conversation returns", "Tick “Sort rows by conversation”"),
    "columns": (b"a,b\n1,2\n", {"kind": "csv"}, "The file has no column 'user'", ""),
    "no-checks": (b'{"id": "A-1"}\n', {}, '"checks" is a required property', "Choose what a row is"),
    "fields": (
        b'{"user": "Hi"}\n',
        {"on_bad_row": "stop", "checks": "agency_language"},
        "has no 'assistant' (the row has: user)",
        "",
    ),
    "header": (b'"a\n', {"kind": "csv"}, "its header cannot be read", ""),
    "no-parquet": (b"PAR1", {"kind": "parquet"}, "s not a readable Parquet file", ""),
    "nothing-to-sort": (b"user,assistant\nHi,Hello\n", {"kind": "csv", "sort": "true"}, "", "Choose what a row is"),
}


@pytest.mark.parametrize(("content", "query", "message", "hint"), BAD.values(), ids=BAD)
def test_errors_are_told_in_the_words_of_the_page(
    client: Any, content: bytes, query: dict[str, str], message: str, hint: str
) -> None:
    last = finished(client, content, **query)
    assert last["state"] == "failed", last
    told = f"{last['error']['message']}\n{last['error'].get('hint', '')}"
    assert message.lower() in told.lower()
    assert hint in told
    assert not re.search(r"--[a-z]|synthesis |/tmp|upload\.", told), told


@pytest.mark.parametrize("given", ["user=x,assistant=x", '{"user": "x", "assistant": "x"}', '{"user": 5}', "nobody=x"])
def test_a_map_that_makes_no_sense_is_refused_at_once(client: Any, given: str) -> None:
    answer = client.post("/api/v1/uploads", content=b"x\n1\n", params={"kind": "csv", "map": given})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_map")
    assert "--" not in answer.text


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("user", "Write it as FIELD=COLUMN, several with commas."),
        ("messages=x,user=y", "Choose one of the two."),
        ("user=x,assistant=x", "Name a column for each."),
    ],
)
def test_a_map_is_refused_with_the_hint_that_cures_it(client: Any, given: str, hint: str) -> None:
    answer = client.post("/api/v1/uploads", content=b"x\n1\n", params={"kind": "csv", "map": given})
    assert answer.json()["error"]["hint"] == hint


def test_a_preview_keeps_nothing_and_takes_no_more_than_it_needs(client: Any) -> None:
    answer = client.post("/api/v1/previews", content=b"x" * (2 << 20), params={"kind": "csv"})
    assert answer.status_code == 413
    assert client.post("/api/v1/previews", content=b"", params={"kind": "csv"}).status_code == 422


def test_a_log_of_a_known_shape_is_evaluated_without_a_map_and_by_a_path(client: Any) -> None:
    trace = {"id": "t-1", "inputs": {"question": SAID}, "outputs": {"choices": [{"message": {"content": GOOD}}]}}
    for query in ({}, {"map": "user=inputs.question,assistant=outputs.choices[0].message.content"}):
        last = finished(client, json.dumps(trace).encode(), kind="jsonl", **query)
        assert (last["state"], last["cases"]) == ("done", 1), last
        (result,) = client.get(f"/api/v1/uploads/{last['id']}/report").json()["results"]
        assert (result["id"], result["outcome"]) == ("t-1", "pass")
