"""CSV by RFC 4180, safe to open in a spreadsheet."""

import csv
import io

import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import FAILED, GLOSSARY, Record, realistic, report, result
from snapshots import assert_unchanged

from synthesis.report.csv_table import COLUMNS, render
from synthesis.report.stored import from_dict


def drawn(content: Record) -> str:
    return "".join(render(from_dict(content), GLOSSARY))


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def saying(words: str) -> Record:
    findings = [(words, "agency.negative.you-should")]
    return result("A-1", "Hi", words, findings=findings, checks={"agency_language": FAILED})


def test_it_looks_as_it_was_read() -> None:
    assert_unchanged("report.csv", drawn(realistic()))


def test_a_row_for_each_check_of_each_case() -> None:
    found = rows(drawn(realistic()))
    assert len(found) == 19
    first = found[0]
    assert (first["id"], first["check"], first["outcome"]) == ("APP-1", "agency_language", "fail")
    assert (first["label"], first["label_matches"]) == ("pass", "no")
    assert first["words"] == "You should just try | just try to relax | Stop being so anxious"
    assert [row["expected_failure"] for row in found if row["id"] == "NEG-6"] == ["yes"]


def test_a_strict_reader_of_columns_agrees() -> None:
    table = pyarrow.csv.read_csv(io.BytesIO(drawn(realistic()).encode()))
    assert table.column_names == list(COLUMNS)
    assert table.num_rows == 19


def test_lines_end_as_the_standard_says() -> None:
    text = drawn(report(saying('a "b", c')))
    assert text.count("\r\n") == 2
    assert text.endswith("\r\n")
    assert '"a ""b"", c"' in text


@pytest.mark.parametrize(
    "words", ["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1", '=HYPERLINK("http://x.example")']
)
def test_no_cell_begins_as_a_formula(words: str) -> None:
    (row,) = rows(drawn(report(saying(words))))
    assert row["words"].startswith("'")


@given(st.text(min_size=1))
def test_any_words_at_all_stay_in_their_cell(words: str) -> None:
    (row,) = rows(drawn(report(saying(words))))
    assert row["why"] == "Tells the user what to do."
    assert not row["words"].startswith(("=", "+", "-", "@", "\t", "\r"))
