"""The same rows from JSON Lines, CSV, Parquet and a database give the same test set; bad logs are told."""

import datetime
import json
import sys

import pytest
from log_samples import CASE_OF, flat, nested, write_csv, write_jsonl, write_parquet, write_sqlite

from synthesis.errors import MissingExtraError, OptionError, TestSetError
from synthesis.judge.querylog import NAMES, Selection, build_test_set, read_log
from synthesis.read.mapping import parse_map


def every_row(source, **options):
    return list(read_log(source, lambda head: True, **options))


def stored(kind, tmp_path, rows):
    if kind == "sql":
        return write_sqlite(tmp_path / "log.db", rows), "logs"
    writers = {"jsonl": write_jsonl, "csv": write_csv, "parquet": write_parquet}
    return writers[kind](tmp_path / f"log.{kind}", rows), None


def refusal(source, table=None, mapping=None):
    with pytest.raises(TestSetError) as caught:
        every_row(source, table=table, mapping=mapping)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "sql"])
def test_flat_columns_with_json_texts(tmp_path, kind):
    source, table = stored(kind, tmp_path, [flat("q-1"), flat("q-2", 2)])
    built = build_test_set(source, Selection(), table=table)
    assert built.objects == tuple(
        {"queryLogId": name, "question": f"What about {name}?", **CASE_OF} for name in ("q-1", "q-2")
    )
    assert built.cases[0].context[0].code == "A-1"


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_nested_steps(tmp_path, kind):
    source, _ = stored(kind, tmp_path, [nested("q-1")])
    assert build_test_set(source, Selection()).objects == (
        {"queryLogId": "q-1", "question": "What about q-1?", **CASE_OF},
    )


@pytest.mark.parametrize("kind", ["csv", "sql"])
def test_steps_as_a_json_text_in_one_column(tmp_path, kind):
    row = nested("q-1") | {"steps": json.dumps(nested("q-1")["steps"])}
    source, table = stored(kind, tmp_path, [row])
    assert build_test_set(source, Selection(), table=table).objects[0]["answer"] == "Take Drawing."


def test_steps_as_a_list(tmp_path):
    row = nested("q-1")
    row["steps"] = [{"name": name, **step} for name, step in row["steps"].items()]
    built = build_test_set(write_jsonl(tmp_path / "l.jsonl", [row]), Selection())
    assert built.objects[0] == {"queryLogId": "q-1", "question": "What about q-1?", **CASE_OF}


def test_a_step_may_be_called_answer_or_context(tmp_path):
    row = nested("q-1")
    row["steps"] = {"context": row["steps"]["retrieval"], "answer": row["steps"]["synthesis"]}
    built = build_test_set(write_jsonl(tmp_path / "l.jsonl", [row]), Selection())
    assert built.objects[0] == {"queryLogId": "q-1", "question": "What about q-1?", **CASE_OF}


def test_details_come_from_the_step_that_wrote_the_answer(tmp_path):
    row = nested("q-1") | {"duration": 999, "llmProvider": "someone"}
    (built,) = build_test_set(write_jsonl(tmp_path / "l.jsonl", [row]), Selection()).objects
    assert (built["duration"], built["llmProvider"]) == (120, "someone")


def test_mapped_columns_and_paths(tmp_path):
    row = {"key": 7, "prompt": "q", "result": json.dumps({"parts": [{"text": "a"}]}), "chunks": ["p1", "p2"]}
    mapping = parse_map("id=key, question=prompt,answer=result.parts.0.text,context=chunks", NAMES)
    (case,) = build_test_set(write_jsonl(tmp_path / "l.jsonl", [row]), Selection(), mapping=mapping).cases
    assert (case.query_log_id, case.question, case.answer, case.context) == ("7", "q", "a", ("p1", "p2"))


@pytest.mark.parametrize(
    ("text", "told"),
    [("question", "--map cannot read"), ("question=", "--map cannot read"), ("qestion=x", "Did you mean 'question'")],
)
def test_a_mapping_that_makes_no_sense_is_refused(text, told):
    with pytest.raises(OptionError) as caught:
        parse_map(text, NAMES)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        "2025-03-04T05:06:07+00:00",
        "2025-03-04T06:06:07+01:00",
        "2025-03-04 05:06:07",
        1741064767,
        "1741064767000",
    ],
)
def test_dates_are_understood_in_many_forms(tmp_path, value):
    (row,) = every_row(write_jsonl(tmp_path / "l.jsonl", [{"id": 1, "createdAt": value}]))
    assert row.created_at == datetime.datetime(2025, 3, 4, 5, 6, 7, tzinfo=datetime.UTC)


@pytest.mark.parametrize("value", ["yesterday", True, "9" * 400, {"a": 1}, "nan"])
def test_what_is_no_date_is_none(tmp_path, value):
    (row,) = every_row(write_jsonl(tmp_path / "l.jsonl", [{"id": 1, "createdAt": value}]))
    assert row.created_at is None


def test_parquet_with_nanoseconds_missing_values_and_passages(tmp_path):
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table(
        {
            "id": pyarrow.array([1, 2]),
            "question": ["q", "r"],
            "answer": ["a", None],
            "created_at": pyarrow.array([1_741_064_767_000_000_001, None], pyarrow.timestamp("ns", "UTC")),
            "context": [[{"text": "p", "subjectCode": None}], None],
            "duration": [1.5, float("nan")],
        }
    )
    parquet.write_table(table, tmp_path / "l.parquet")
    first, second = every_row(str(tmp_path / "l.parquet"))
    assert (first.id, first.created_at.year, first.context) == ("1", 2025, [{"text": "p"}])
    assert (second.answer, second.context, second.details) == (None, None, {})


def test_all_bad_lines_are_told_together(tmp_path):
    path = tmp_path / "l.jsonl"
    path.write_bytes(b'{"id": "a"}\n\n{broken\n[1]\n{"no": "name"}\n{"id": "b", "context": "[1,"}\n{"id": "\xff"}\n')
    message = refusal(str(path))
    assert "5 problems" in message
    for told in (
        "line 3: is not valid JSON",
        "line 4: expected a JSON object",
        "line 5: has no id; its columns: no.",
        "line 6: the context looks like JSON but is not valid",
        "line 7: is not UTF-8",
    ):
        assert told in message


def test_bad_lines_do_not_keep_the_others_from_becoming_a_set(tmp_path):
    path = tmp_path / "l.jsonl"
    path.write_text(json.dumps(nested("q-1")) + "\n{broken\n" + json.dumps(nested("q-2")) + "\n")
    made = build_test_set(str(path), Selection())
    assert [case.query_log_id for case in made.cases] == ["q-1", "q-2"]
    assert any("rows that cannot be read, left out: 1 (line 2" in note for note in made.notes)


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_row_longer_than_allowed_is_never_held_and_the_others_are_read(tmp_path, kind):
    rows = [flat("q-1"), flat("q-2") | {"answer": "x" * 4_000_000}, flat("q-3")]
    source, _ = stored(kind, tmp_path, rows)
    made = build_test_set(source, Selection(), most_line=100_000)
    assert [case.query_log_id for case in made.cases] == ["q-1", "q-3"]
    assert any("is longer than 100,000 bytes" in note for note in made.notes)


def test_the_contents_of_rows_that_are_not_wanted_are_not_looked_at(tmp_path):
    source = write_jsonl(tmp_path / "l.jsonl", [nested("q-1"), {"id": "q-2", "context": "[1,", "steps": "{"}])
    assert len(build_test_set(source, Selection(ids=frozenset({"q-1"}))).cases) == 1


def test_an_answer_that_is_no_text_is_told(tmp_path):
    row = {"id": 1, "answer": {"text": "a"}}
    assert "line 1: the answer must be a text, not an object" in refusal(write_jsonl(tmp_path / "l.jsonl", [row]))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("l.csv", b"", "has no header line"),
        ("l.csv", b"id,question\n1,a,b\n2\n", "has 3 cells"),
        ("l.csv", b'id,question\n1,"open\n', "not valid CSV"),
        ("l.csv", b"id,question\n1,\xff\n", "not UTF-8"),
        ("l.parquet", b"no parquet", "not a readable Parquet file"),
        ("l.parquet", b"", "not a readable Parquet file"),
        ("l.xlsx", b"", ".xlsx files cannot be read"),
    ],
)
def test_files_that_are_no_logs_are_refused(tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    message = refusal(str(tmp_path / name))
    assert told in message
    assert name in message


@pytest.mark.parametrize("name", ["absent.jsonl", "absent.csv", "absent.parquet"])
def test_a_missing_log_is_told(tmp_path, name):
    assert "no such file" in refusal(str(tmp_path / name))


def test_a_semicolon_in_a_cell_and_a_large_cell_survive(tmp_path):
    text = '; ,\n"' + "x" * 200_000
    row = flat("q-1") | {"answer": text}
    assert build_test_set(write_csv(tmp_path / "l.csv", [row]), Selection()).cases[0].answer == text


def test_database_trouble_is_told_without_the_password(tmp_path):
    url = write_sqlite(tmp_path / "log.db", [flat("q-1")], "query_logs")
    assert "Did you mean 'query_logs'?" in refusal(url, "query_log")
    assert "no such file" in refusal(f"sqlite:///{tmp_path}/absent.db", "logs")
    assert not (tmp_path / "absent.db").exists()
    (tmp_path / "text.db").write_text("this is no database, however long it may be" * 10)
    assert "file is not a database" in refusal(f"sqlite:///{tmp_path}/text.db", "logs")
    message = refusal("postgresql://me:hush-hush@127.0.0.1:1/db", "logs")
    assert "127.0.0.1" in message
    assert "hush-hush" not in message
    assert "not a database URL" in refusal("://", "logs")
    assert "nosuchdb" in refusal("nosuchdb://x/y", "logs")


def test_a_table_name_is_never_read_as_sql(tmp_path):
    url = write_sqlite(tmp_path / "log.db", [flat("q-1")])
    assert "there is no table" in refusal(url, "logs; DROP TABLE logs")
    assert len(every_row(url, table="logs")) == 1


def test_a_table_goes_with_a_database_and_only_with_it(tmp_path):
    with pytest.raises(OptionError, match="needs --table"):
        every_row("sqlite:///x.db")
    with pytest.raises(OptionError, match="goes with a database URL"):
        every_row(write_jsonl(tmp_path / "l.jsonl", [flat("q-1")]), table="logs")


@pytest.mark.parametrize(
    ("module", "source", "extra"),
    [("pyarrow", "l.parquet", "parquet"), ("sqlalchemy", "sqlite:///l.db", "sql")],
)
def test_a_missing_extra_is_named(tmp_path, monkeypatch, module, source, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"synthesis-eval\[{extra}\]"):
        every_row(source, table="logs" if extra == "sql" else None)


def test_a_context_that_cannot_be_read_is_told_by_line(tmp_path):
    rows = [nested("q-1"), {"id": "q-2", "question": "q", "answer": "a", "context": [{"title": "A"}]}]
    made = build_test_set(write_jsonl(tmp_path / "l.jsonl", rows), Selection())
    assert [bool(case.problem) for case in made.cases] == [False, True]
    assert any("line 2 (q-2): passage 1 must be a text" in note for note in made.notes)
