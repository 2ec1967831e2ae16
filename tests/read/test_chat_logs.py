"""Rows of chat logs and tables become cases, or problems that say why not."""

import csv
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from helpers import THREE, write_jsonl
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesis.errors import InputError, OptionError, Problem
from synthesis.judge.testset import load_test_set
from synthesis.model import Case, Turn
from synthesis.read.cases import CaseValidator
from synthesis.read.inputs import Input, log_cases
from synthesis.read.mapping import parse_case_map
from synthesis.read.rows import LogOptions
from synthesis.run.evaluator import Evaluator

VALIDATOR = CaseValidator(THREE)
TALK = [{"role": "user", "content": "I lost my job."}, {"role": "assistant", "content": "You should relax."}]


def rows(path: Path, **options: Any) -> list[Case | Problem]:
    return list(log_cases(Input.of(path), LogOptions(VALIDATOR, **options)))


def only(path: Path, **options: Any) -> Case:
    (row,) = rows(path, **options)
    assert isinstance(row, Case), row
    return row


def problem(path: Path, **options: Any) -> str:
    (row,) = rows(path, **options)
    assert isinstance(row, Problem), row
    return row.message


def test_openai_chat_rows_become_conversations_with_made_ids(tmp_path: Path) -> None:
    first, second = rows(
        write_jsonl(tmp_path / "log.jsonl", [{"messages": TALK, "model": "m"}, "", {"messages": TALK}])
    )
    assert isinstance(first, Case)
    assert isinstance(second, Case)
    assert first.messages == (Turn("user", "I lost my job."), Turn("assistant", "You should relax."))
    assert (first.id, second.id) == ("ROW-1", "ROW-3")
    assert first.checks == THREE
    assert second.source is not None
    assert second.source.line == 3


@pytest.mark.parametrize(
    "row",
    [
        {"user": "I want to end my life.", "assistant": None},
        {"messages": [{"role": "user", "content": "I want to end my life."}, {"role": "assistant", "content": None}]},
    ],
)
def test_a_reply_that_is_null_is_not_assessed_and_the_user_is_heard(tmp_path: Path, row: dict[str, Any]) -> None:
    case = only(write_jsonl(tmp_path / "log.jsonl", [row]))
    assert case.exchanges == [("I want to end my life.", "")]
    (result,) = Evaluator(profile="traffic").evaluate([case])
    assert result.outcome == "not_applicable"
    assert result.alert is not None


def test_text_parts_are_joined_and_tool_calls_and_images_are_left_out(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "I lost"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "it"}]
    talk = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]},
        {"role": "tool", "tool_call_id": "c", "content": "42"},
        {"role": "assistant", "content": "You should relax."},
        {"role": "assistant", "content": "Would you like that?"},
    ]
    found = only(write_jsonl(tmp_path / "log.jsonl", [{"messages": talk}]))
    assert found.exchanges == [("I lost\n\nit", "You should relax.\n\nWould you like that?")]
    assert [turn.role for turn in found.messages] == ["system", "user", "tool", "assistant", "assistant"]


def test_sharegpt_is_read_from_lines_and_from_a_list(tmp_path: Path) -> None:
    row = {"id": "x9", "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "You should go."}]}
    (tmp_path / "list.json").write_text(json.dumps([row]))
    for path in (write_jsonl(tmp_path / "lines.jsonl", [row]), tmp_path / "list.json"):
        found = only(path)
        assert (found.id, found.exchanges) == ("x9", [("Hi", "You should go.")])
        assert found.source is not None
        assert found.source.id == "x9"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_is_mapped_by_column_names(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerows([["prompt", "completion", "topic"], ["I lost\nmy job", "You should, go; now", "work, loss"]])
    found = only(path, columns={"user": "prompt", "assistant": "completion", "tags": "topic"})
    assert (found.user, found.assistant) == ("I lost\nmy job", "You should, go; now")
    assert found.tags == ("work", "loss")


def test_the_line_of_a_row_is_where_it_starts_and_its_id_counts_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('user,assistant\n"a\nb",c\n\nd,e\n')
    found = [(row.id, row.source.line) for row in rows(tmp_path / "t.csv") if isinstance(row, Case) and row.source]
    assert found == [("ROW-1", 2), ("ROW-2", 5)]


def test_parquet_holds_columns_or_whole_conversations(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"q": ["Hi"], "a": ["You should go."]}), tmp_path / "columns.parquet")
    parquet.write_table(pyarrow.table({"messages": [TALK]}), tmp_path / "talks.parquet")
    assert only(tmp_path / "columns.parquet", columns={"user": "q", "assistant": "a"}).assistant == "You should go."
    assert only(tmp_path / "talks.parquet").exchanges == [("I lost my job.", "You should relax.")]


def inspect_log(path: Path, samples: list[dict[str, Any]]) -> Path:
    if path.suffix == ".json":
        path.write_text(json.dumps({"version": 2, "status": "success", "eval": {}, "samples": samples}))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("header.json", "{}")
            for sample in samples:
                archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
    return path


@pytest.mark.parametrize("name", ["log.eval", "log.json"])
def test_inspect_logs_give_their_samples_and_a_broken_sample_is_a_problem(tmp_path: Path, name: str) -> None:
    samples = [
        {"id": "a", "epoch": 1, "messages": TALK, "error": None},
        {"id": "a", "epoch": 2, "messages": TALK[:1], "error": {"message": "ran out of time", "traceback": "..."}},
        {"id": "a", "epoch": 3, "messages": TALK, "error": None},
    ]
    good, bad, again = rows(inspect_log(tmp_path / name, samples))
    assert isinstance(good, Case)
    assert isinstance(bad, Problem)
    assert good.notes == "Inspect sample a, epoch 1"
    assert isinstance(again, Case)
    assert [case.source and case.source.id for case in (good, again)] == ["a", "a epoch 3"]
    assert bad.message == "the sample ended in error: ran out of time"


@pytest.mark.parametrize("name", ["log.eval", "log.json"])
def test_a_judge_finds_question_and_answer_in_an_inspect_log_and_a_map_names_what_is_in_its_metadata(
    tmp_path: Path, name: str
) -> None:
    asked = {"role": "user", "content": "When does it open?"}
    parts = [{"type": "reasoning", "reasoning": "?"}, {"type": "text", "text": "At 9."}]
    replied = {"role": "assistant", "content": parts}
    talk = [asked, {"role": "assistant", "content": "Wait."}, replied, {"role": "tool", "content": "done"}]
    about = {"docs": ["It opens at 9."], "topic": "hours"}
    sample = {"id": "a", "epoch": 1, "input": "When does it open?", "messages": talk, "metadata": about}
    path = inspect_log(tmp_path / name, [sample])
    (case,) = load_test_set(path, mapping={"context": "metadata.docs"})
    assert (case.query_log_id, case.question, case.answer) == ("a", "When does it open?", "At 9.")
    assert case.context == ("It opens at 9.",)
    assert only(path, columns={"tags": "metadata.topic"}).tags == ("hours",)


def test_inspect_logs_may_hold_what_is_no_number_and_half_characters(tmp_path: Path) -> None:
    odd = [{"role": "user", "content": "\ud800"}]
    path = inspect_log(
        tmp_path / "log.json", [{"id": "a", "epoch": 1, "messages": TALK, "scores": {"x": float("nan")}}]
    )
    assert only(path).assistant == ""
    path = inspect_log(tmp_path / "log.eval", [{"id": "a", "epoch": 1, "messages": odd, "scores": float("nan")}])
    assert problem(path) == "message 1: its content is not text"


def test_rows_that_are_cases_keep_their_id_labels_and_checks(tmp_path: Path) -> None:
    row = {"id": "APP-7", "user": "u", "assistant": "a", "checks": ["topic_pivot"], "expected": {"topic_pivot": True}}
    found = only(write_jsonl(tmp_path / "x.jsonl", [row]))
    assert (found.id, found.checks, found.expected) == ("APP-7", ("topic_pivot",), {"topic_pivot": True})


def test_a_log_keeps_ids_of_any_form_also_those_that_repeat(tmp_path: Path) -> None:
    given_ids = ["A-1", "A-1", "chatcmpl-1", "ROW-9"]
    path = write_jsonl(tmp_path / "x.jsonl", [{"id": name, "user": "u", "assistant": "a"} for name in given_ids])
    assert [row.id for row in rows(path) if isinstance(row, Case)] == given_ids


def test_a_text_column_called_expected_is_no_label(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user,assistant,expected\nu,a,Paris\n")
    assert only(tmp_path / "t.csv").expected is None


BAD_ROWS = {
    "no-json": ("{", "is not valid JSON"),
    "a-list": ("[1]", "expected a JSON object"),
    "nothing-said": ({"messages": []}, "'messages' holds no text"),
    "a-stranger": ({"messages": [{"role": "alien", "content": "x"}]}, "message 1 has the unknown role 'alien'"),
    "a-number": ({"messages": [{"role": "user", "content": 5}]}, "message 1: its content is not text"),
    "no-object": ({"messages": ["x"]}, "message 1 is not an object"),
    "no-messages": ({"messages": {"role": "user"}}, "'messages' is not a list of messages"),
    "no-fields": ({"prompt": "x"}, "has no 'user' (--map user=NAME names it; the row has: prompt)"),
    "an-empty-reply": ({"user": "x", "assistant": ""}, "'assistant' is empty"),
    "an-unknown-check": ({"user": "x", "assistant": "y", "checks": ["pivot"]}, "no check is called 'pivot'"),
}


@pytest.mark.parametrize(("row", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_bad_row_says_what_is_wrong(tmp_path: Path, row: Any, message: str) -> None:
    assert message in problem(write_jsonl(tmp_path / "x.jsonl", [row]))


def test_bytes_that_are_no_utf8_spoil_their_row_alone(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"user,assistant\nu,caf\xe9\nu,a\n")
    (tmp_path / "l.jsonl").write_bytes(b'{"user":"u","assistant":"caf\xe9"}\n{"user":"u","assistant":"a"}\n')
    for name in ("t.csv", "l.jsonl"):
        bad, good = rows(tmp_path / name)
        assert isinstance(bad, Problem)
        assert isinstance(good, Case)
        assert bad.message.startswith("is not UTF-8")


def test_rows_of_a_table_with_too_many_cells_or_open_quotes_are_problems(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('user,assistant\na,b,c\nu,"open\n')
    assert [row.kind for row in rows(tmp_path / "t.csv") if isinstance(row, Problem)] == ["invalid CSV", "invalid CSV"]


def test_a_cell_may_be_longer_than_the_limit_of_the_csv_module(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"user,assistant\nu,{'word ' * 40_000}\n")
    assert len(only(tmp_path / "t.csv").assistant) == 200_000


UNUSABLE = {
    "missing.csv": (None, "there is no such file"),
    "empty.csv": (b"", "has no header line"),
    "header-only.csv": (b"user,assistant\n", "holds no rows"),
    "twice.csv": (b"user,user\na,b\n", "two columns are called 'user'"),
    "other.csv": (b"topic,reply\na,b\n", "has no column 'user'"),
    "utf16.csv": ("user,assistant\na,b\n".encode("utf-16"), "is not UTF-8"),
    "no.parquet": (b"PAR1", "is not a readable Parquet file"),
    "no.eval": (b"nothing", "is not an Inspect log"),
    "object.json": (b'{"a": 1}', "is not a list, and no list of rows is in it"),
    "broken.json": (b"[", "is not valid JSON"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_file_is_one_clear_error(tmp_path: Path, name: str) -> None:
    content, message = UNUSABLE[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as raised:
        rows(tmp_path / name)
    assert message in str(raised.value)
    assert name in str(raised.value)


@pytest.mark.parametrize("text", ["user", "user=", "=x", "reply=x", "user=a,user=b", "messages=m,user=u", ""])
def test_a_map_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(OptionError):
        parse_case_map(text)


def is_log(path: Path, *, mapped: bool = False) -> bool:
    return not Input.of(path).looked_at().holds_cases(mapped=mapped)


def test_shape_and_ending_tell_logs_from_cases(tmp_path: Path) -> None:
    whole = {"id": "A-1", "messages": TALK, "checks": ["topic_pivot"]}
    assert not is_log(write_jsonl(tmp_path / "cases.jsonl", [whole]))
    named = {"id": "T-1000", "messages": TALK}
    assert is_log(write_jsonl(tmp_path / "tickets.jsonl", [named, named]))
    assert not is_log(write_jsonl(tmp_path / "forgot.jsonl", [named, named, whole]))
    assert not is_log(tmp_path / "forgot.jsonl", mapped=True)
    assert not is_log(write_jsonl(tmp_path / "labelled.jsonl", [named, {**named, "expected": {}}]))
    assert is_log(tmp_path / "labelled.jsonl", mapped=True)
    assert is_log(write_jsonl(tmp_path / "chat.jsonl", [{"messages": TALK}]))
    assert is_log(write_jsonl(tmp_path / "share.jsonl", [{"conversations": []}]))
    said = {"id": "conv_1", "user": "u", "assistant": "a"}
    assert is_log(write_jsonl(tmp_path / "said.jsonl", [said]))
    assert is_log(write_jsonl(tmp_path / "said.jsonl", [said | {"id": "SUP-1"}]))
    for of_a_case in ({"checks": []}, {"expected": {}}):
        assert not is_log(write_jsonl(tmp_path / "said.jsonl", [said | of_a_case]))
    assert is_log(tmp_path / "any.CSV")
    assert not is_log(tmp_path / "cases.jsonl", mapped=True)
    assert not is_log(tmp_path / "not-there.jsonl")


cells = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), min_size=1, max_size=30)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=5))
@settings(max_examples=50)
def test_what_csv_writes_is_what_the_reader_reads(tmp_path_factory: pytest.TempPathFactory, pairs: Any) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("user", "assistant"), *pairs])
    assert [(row.user, row.assistant) for row in rows(path) if isinstance(row, Case)] == pairs
