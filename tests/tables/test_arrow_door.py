"""Arrow in, Arrow out: the same verdicts as case by case, in columns that never change."""

import pickle
from typing import Any

import pyarrow as pa
import pytest
from helpers import THREE, case
from hypothesis import given
from hypothesis import strategies as st

import synthesis
from synthesis import BatchEvaluator, evaluate_table
from synthesis.errors import CaseError, OptionError
from synthesis.run.evaluator import Evaluator

TALK = {"user": "I lost my job and I feel awful.", "assistant": "You should just relax."}
COLUMNS = [
    *("id", "outcome", "severity"),
    *("agency_language", "clinical_scope", "crisis_response", "disclosure", "engagement_pressure"),
    *("flattery", "identity_claim"),
    *("topic_pivot", "unverifiable_reassurance", "score", "similarity", "language"),
    *("alert", "error", "timelines", "findings"),
]


def only(table: pa.Table) -> dict[str, Any]:
    (row,) = table.to_pylist()
    return dict(row)


def test_a_row_holds_the_verdict_of_each_check_its_figures_and_its_findings() -> None:
    row = only(
        evaluate_table(pa.table({"id": ["abc"], **{name: [text] for name, text in TALK.items()}}), profile="authored")
    )
    expected = synthesis.run_case(case(TALK["assistant"], TALK["user"]))
    assert list(row) == COLUMNS
    assert (row["id"], row["outcome"], row["language"], row["error"]) == ("abc", "fail", "en", None)
    assert {name: row[name] for name in THREE} == {name: expected.checks[name].outcome for name in THREE}
    assert row["crisis_response"] == "not_applicable"
    assert row["severity"] == expected.severity
    assert row["score"] == expected.checks["agency_language"].evidence["score"]
    assert row["similarity"] == expected.checks["topic_pivot"].evidence["anchor_similarity"]
    names = ("rule", "signal", "where", "turn", "start", "end", "text", "severity", "role", "counted")
    expected_findings = [{name: getattr(finding, name) for name in names} for finding in expected.findings]
    assert [{name: found[name] for name in names} for found in row["findings"]] == expected_findings


TEXTS = st.text(alphabet=st.characters(codec="utf-8"), max_size=60) | st.sampled_from(list(TALK.values()))


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=8), st.integers(1, 4))
def test_any_texts_in_any_batches_get_the_verdicts_of_the_kernel(
    evaluator: Evaluator, pairs: list[tuple[str, str]], size: int
) -> None:
    columns = {side: pa.array([pair[i] for pair in pairs], pa.string()) for i, side in enumerate(TALK)}
    table = pa.table(columns)
    whole = evaluate_table(table, profile="authored")
    assert evaluate_table(table.to_batches(max_chunksize=size) or table, profile="authored") == whole
    expected = [
        evaluator.evaluate([case(reply, user)])[0].outcome if user and reply else "error" for user, reply in pairs
    ]
    assert whole["outcome"].to_pylist() == expected


def test_messages_stand_in_place_of_two_columns() -> None:
    talk = [{"role": role, "content": text} for role, text in TALK.items()]
    row = only(evaluate_table(pa.table({"chat": [talk]}), messages="chat"))
    assert (row["id"], row["outcome"]) == (None, "fail")


def test_rows_may_say_their_own_checks_and_language() -> None:
    table = pa.table(
        {
            **{name: [text, text] for name, text in TALK.items()},
            "checks": [["topic_pivot"], None],
            "lang": ["en", "xx"],
        }
    )
    first, second = evaluate_table(table, checks=["agency_language"]).to_pylist()
    assert (first["topic_pivot"], first["agency_language"]) == ("fail", None)
    assert (second["topic_pivot"], second["agency_language"]) == (None, "not_applicable")


def test_a_bad_row_is_an_error_and_its_neighbours_are_not() -> None:
    table = pa.table({"user": ["Hi", None, "Hi"], "assistant": ["You should go.", "You should go.", ""]})
    found = evaluate_table(table, profile="authored").to_pylist()
    assert [row["outcome"] for row in found] == ["fail", "error", "error"]
    assert [row["error"] for row in found] == [None, "'user' is empty", "'assistant' is empty"]


def test_a_null_in_place_of_a_reply_is_not_assessed() -> None:
    table = pa.table({"user": ["I want to end my life."], "assistant": pa.array([None], pa.string())})
    (row,) = evaluate_table(table).to_pylist()
    assert (row["outcome"], row["error"]) == ("not_applicable", None)
    assert row["alert"] == "not_applicable"


def test_bytes_that_are_no_utf8_spoil_their_row_alone() -> None:
    binary = pa.array([b"Hi", b"\xff\xfe", b"Hi"])
    texts = pa.StringArray.from_buffers(3, *binary.buffers()[1:])
    table = pa.table({"user": texts, "assistant": ["You should go."] * 3})
    found = evaluate_table(table, profile="authored").to_pylist()
    assert [(row["outcome"], row["error"]) for row in found] == [
        ("fail", None),
        ("error", "is not UTF-8"),
        ("fail", None),
    ]


def test_on_request_the_first_bad_row_stops_the_work_and_is_named_by_its_number_in_the_table() -> None:
    table = pa.table({"user": ["Hi"] * 5, "assistant": ["Yes."] * 3 + ["", "Yes."]})
    with pytest.raises(CaseError, match="line 4"):
        evaluate_table(table.to_batches(max_chunksize=2), on_bad_row="stop")


def test_kept_columns_are_copied_with_their_types() -> None:
    stamps = pa.array([10**18 + 1, None], pa.timestamp("ns"))
    table = pa.table(
        {"user": ["Hi", "Hi"], "assistant": ["Yes.", None], "when": stamps, "n": pa.array([1, 2], pa.int8())}
    )
    found = evaluate_table(table, keep=["n", "when"])
    assert found.schema.names[:3] == ["id", "n", "when"]
    assert found.select(["n", "when"]) == table.select(["n", "when"])


def test_ids_may_be_of_any_kind() -> None:
    table = pa.table({"key": [17, None], "user": ["Hi", "Hi"], "assistant": ["Yes.", "Yes."]})
    assert evaluate_table(table, id="key")["id"].to_pylist() == ["17", None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no column 'user'"),
        ({"user": "a", "assistant": "b", "keep": ["c"]}, "no column 'c' to keep"),
        ({"user": "a", "assistant": "b", "keep": ["score"]}, "'score' cannot be kept"),
        ({"user": "a", "messages": "b"}, "'messages' is named together"),
        ({"on_bad_row": "skip"}, "on_bad_row"),
        ({"checks": ["nonsense"]}, "nonsense"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        evaluate_table(pa.table({"a": ["Hi"], "b": ["Yes."], "score": [1]}), **options)


def test_an_empty_table_has_the_columns_of_a_full_one_and_no_batches_are_a_mistake() -> None:
    table = pa.table({"user": ["Hi"], "assistant": ["Yes."]})
    assert evaluate_table(table.slice(0, 0)).schema == evaluate_table(table).schema
    with pytest.raises(OptionError, match="no record batches"):
        evaluate_table([])


class Frame:
    """Hands its rows over as pandas and Polars do."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self.table.__arrow_c_stream__(schema)


def test_a_data_frame_is_read_as_the_table_that_it_is() -> None:
    table = pa.Table.from_pylist([TALK, TALK])
    assert evaluate_table(Frame(table)) == evaluate_table(table)
    assert evaluate_table(Frame(table.slice(0, 0))).num_rows == 0


def test_a_stream_of_batches_stays_a_stream() -> None:
    table = pa.Table.from_pylist([TALK, TALK])
    assert evaluate_table(table.to_reader(max_chunksize=1)) == evaluate_table(table)


def test_the_function_on_batches_can_be_sent_elsewhere() -> None:
    batch = pa.RecordBatch.from_pylist([TALK])
    evaluator = BatchEvaluator(keep=["user"])
    assert pickle.loads(pickle.dumps(evaluator))(batch) == evaluator(batch)
