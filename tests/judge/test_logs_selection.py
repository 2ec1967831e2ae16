"""Which rows become cases: by id, status, date, number and sample, and never one left out in silence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_samples import nested, write_jsonl

from synthesis.errors import OptionError, TestSetError
from synthesis.judge.querylog import LogRow, Selection, build_test_set, newest_first, period, pick


def built(tmp_path, rows, **chosen):
    return build_test_set(write_jsonl(tmp_path / "l.jsonl", rows), Selection(**chosen))


def names(result):
    return [case.query_log_id for case in result.cases]


def row(index, name=None):
    return LogRow(index, f"line {index}", name or f"q-{index}", None, None, "q", "a", [], {})


ROWS = [nested("q-3", 3), nested("q-1", 1, status="failed"), nested("q-2", 2), nested("q-4", 4)]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, ["q-3", "q-1", "q-2", "q-4"]),
        ({"ids": frozenset({"q-4", "q-3"})}, ["q-3", "q-4"]),
        ({"statuses": frozenset({"Completed"})}, ["q-3", "q-2", "q-4"]),
        ({"limit": 2}, ["q-3", "q-4"]),
        ({"limit": 9}, ["q-3", "q-1", "q-2", "q-4"]),
    ],
)
def test_filters_keep_the_order_of_the_log(tmp_path, chosen, expected):
    assert names(built(tmp_path, ROWS, **chosen)) == expected


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2025-03-02", None, ["q-3", "q-2", "q-4"]),
        (None, "2025-03-02", ["q-1", "q-2"]),
        ("2025-03-02", "2025-03-03", ["q-3", "q-2"]),
        ("2025-03-03T10:00:00Z", "2025-03-04T10:00:00Z", ["q-3"]),
        ("2025-03-03T11:00:00+01:00", None, ["q-3", "q-4"]),
    ],
)
def test_a_period_holds_its_first_and_its_last_day(tmp_path, since, until, expected):
    start, end = period(since, until)
    assert names(built(tmp_path, ROWS, since=start, until=end)) == expected


@pytest.mark.parametrize(
    ("since", "until", "told"),
    [
        ("soon", None, "--from 'soon' is not a date"),
        (None, "2025", "--until '2025' is not a date"),
        (None, "2025-02-31", "is not a date"),
        ("2025-03-02", "2025-03-01", "--from is later than --until"),
    ],
)
def test_a_period_that_makes_no_sense_is_refused(since, until, told):
    with pytest.raises(OptionError, match=told):
        period(since, until)


def test_a_sample_has_its_size_and_follows_its_seed(tmp_path):
    rows = [nested(f"q-{number}") for number in range(50)]
    first = names(built(tmp_path, rows, sample=10, seed=1))
    assert len(first) == 10
    assert names(built(tmp_path, rows, sample=10, seed=1)) == first
    assert names(built(tmp_path, rows, sample=10, seed=2)) != first


@given(st.permutations(range(30)), st.integers(1, 30), st.integers())
def test_a_sample_does_not_depend_on_the_order_of_the_log(order, size, seed):
    chosen = Selection(sample=size, seed=seed)
    straight = pick([row(index) for index in range(30)], chosen)
    shuffled = pick([row(index, f"q-{number}") for index, number in enumerate(order)], chosen)
    assert {found.id for found in straight} == {found.id for found in shuffled}
    assert len(straight) == size


def test_the_sample_is_taken_from_the_newest_when_both_are_asked_for(tmp_path):
    rows = [nested(f"q-{day}", day) for day in range(1, 21)]
    found = names(built(tmp_path, rows, limit=5, sample=3))
    assert len(found) == 3
    assert set(found) <= {f"q-{day}" for day in range(16, 21)}


def test_rows_without_a_date_are_ordered_by_the_log():
    assert [found.id for found in newest_first([row(0), row(1), row(2)], 2)] == ["q-2", "q-1"]


def test_rows_that_cannot_become_cases_are_left_out_and_counted(tmp_path):
    rows = [
        nested("q-1"),
        nested("q-2", answer=" "),
        nested("q-3", answer=None),
        {"id": "q-4", "question": "q"},
    ]
    result = built(tmp_path, rows)
    assert names(result) == ["q-1"]
    assert result.notes == ("matching rows without an answer, left out: 3",)


def test_a_sample_that_is_smaller_than_asked_for_is_noted(tmp_path):
    assert built(tmp_path, ROWS, sample=9).notes == ("asked for a sample of 9, found only 4",)


def test_rows_without_a_date_are_noted_when_dates_matter(tmp_path):
    since, _ = period("2025-03-01", None)
    result = built(tmp_path, [nested("q-1"), nested("q-2") | {"createdAt": "?"}], since=since)
    assert names(result) == ["q-1"]
    assert result.notes == ("rows without a readable date, left out: 1",)


def test_ids_that_are_absent_or_incomplete_are_an_error(tmp_path):
    rows = [nested("q-1"), nested("q-2", answer="")]
    with pytest.raises(TestSetError) as caught:
        built(tmp_path, rows, ids=frozenset({"q-1", "q-2", "q-9", "q-8"}))
    assert "line 2 (q-2): is without an answer" in str(caught.value)
    assert "not in the log: q-8, q-9" in str(caught.value)


def test_nothing_found_is_an_error_that_says_why(tmp_path):
    with pytest.raises(
        TestSetError, match=r"no row makes a case \(1 read\); matching rows without an answer, left out: 1"
    ):
        built(tmp_path, [nested("q-1", answer="")])


def test_the_same_id_twice_is_judged_under_a_name_of_its_own(tmp_path):
    twice = built(tmp_path, [nested("q-1"), nested("q-1", answer="Take Painting.")])
    assert [case.query_log_id for case in twice.cases] == ["q-1", "q-1#2"]
    assert any("whose id was taken" in note for note in twice.notes)
