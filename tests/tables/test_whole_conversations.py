"""No unit of work and no batch cuts a conversation in two: the table is the same however a file is cut."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conversation_samples import exchanges
from helpers import CommandLine
from table_samples import read_verdicts

from synthesis.checks import checks
from synthesis.errors import InputError, OptionError
from synthesis.read import parquet
from synthesis.read.cases import CaseValidator
from synthesis.read.mapping import parse_case_map
from synthesis.read.parquet import BorderFinder, RowRange, row_ranges, whole_conversations
from synthesis.read.rows import LogOptions
from synthesis.run.blocks import Reader

MAP = "conversation=chat"
PATTERNS = ("pf", "ppppffff", "p", "pffpffpp", "pppp", "fp")
ROWS = [row for number, pattern in enumerate(PATTERNS) for row in exchanges(f"c-{number}", pattern)]
STARTS = [0, 2, 10, 11, 19, 23, 25]


def write(path: Path, rows: list[dict[str, Any]] = ROWS, group: int = 1000) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=group)
    return path


def ranges(path: Path) -> list[RowRange]:
    options = LogOptions(CaseValidator(checks()), columns=parse_case_map(MAP))
    return list(row_ranges(path, "log", options, (), lambda _: None))


@pytest.mark.parametrize("most", [3, 50_000])
def test_units_end_where_a_conversation_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(parquet, "MOST_UNIT_ROWS", most)
    for group in range(1, 27):
        units = ranges(write(tmp_path / "log.parquet", group=group))
        first = [unit.first_line - 1 for unit in units]
        assert set(first) <= set(STARTS), group
        assert [start + unit.rows for start, unit in zip(first, units, strict=True)] == [*first[1:], 25], group
        assert [unit.group * group + unit.skip for unit in units] == first, group
        reader = Reader(LogOptions(CaseValidator(checks()), columns=parse_case_map(MAP)), None)
        found = [case for unit in units for reading in reader.read(unit) for case in reading.cases]
        assert [(case.id, len(case.exchanges)) for case in found] == [
            (f"c-{number}", len(pattern)) for number, pattern in enumerate(PATTERNS)
        ], group


def test_a_file_whose_row_groups_end_with_conversations_is_cut_as_before(tmp_path: Path) -> None:
    rows = [row for number in range(6) for row in exchanges(f"c-{number}", "pf")]
    units = ranges(write(tmp_path / "log.parquet", rows, group=4))
    assert [(unit.group, unit.skip, unit.rows, unit.groups) for unit in units] == [(n, 0, 4, 1) for n in range(3)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 25])
def test_batches_are_cut_between_conversations_whatever_their_size(size: int) -> None:
    table = pa.Table.from_pylist(ROWS)
    batches = list(whole_conversations(table.to_batches(max_chunksize=size), "chat", "log"))
    assert pa.Table.from_batches(batches).equals(table.combine_chunks())
    starts = [sum(batch.num_rows for batch in batches[:number]) for number in range(len(batches))]
    assert set(starts) <= set(STARTS)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["a", "a", "b"], [0, 2]),
        ([None, None, "a", "a"], [0, 1, 2]),
        (["", "", "a"], [0, 1, 2]),
        ([1, 1, 2, 2, 1], [0, 2, 4]),
        ([], []),
    ],
)
def test_borders_of_a_column(values: list[Any], found: list[int]) -> None:
    column = pa.array(values, pa.int64() if values and isinstance(values[0], int) else pa.string())
    assert BorderFinder("log").borders(column) == found
    assert BorderFinder("log").borders(column.dictionary_encode()) == found
    finder = BorderFinder("log")
    apart = [place + start for start in range(len(column)) for place in finder.borders(column[start : start + 1])]
    assert apart == found


def test_rows_too_many_for_one_conversation_are_noticed_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "MOST_ROWS", 8)
    assert ranges(write(tmp_path / "log.parquet", group=3))
    monkeypatch.setattr(parquet, "MOST_ROWS", 7)
    with pytest.raises(InputError, match="'c-1' has more than"):
        ranges(write(tmp_path / "log.parquet", group=3))


def test_a_column_of_lists_names_no_conversations(tmp_path: Path) -> None:
    rows = [row | {"chat": [row["chat"]]} for row in ROWS]
    with pytest.raises(OptionError, match="the column 'chat' holds list"):
        ranges(write(tmp_path / "log.parquet", rows))


def test_the_table_is_the_same_however_the_file_is_cut(cli: CommandLine) -> None:
    found = []
    for group in (4, 1000):
        write(cli.folder / "log.parquet", group=group)
        options = "--map", MAP, "--checks", "agency_language", "--profile", "authored", "--keep", "model"
        outcome = cli("--cases", "log.parquet", "--out-table", f"table{group}", "--fail-on", "99", *options)
        assert outcome.code == 0, outcome.err
        summary = cli.report()["summary"]
        found.append((read_verdicts(cli.folder / f"table{group}"), summary))
    assert found[0] == found[1]
    verdicts, summary = found[0]
    assert [row["id"] for row in verdicts] == [f"c-{number}" for number in range(6)]
    assert [row["source_line"] - 1 for row in verdicts] == STARTS[:-1]
    assert {row["model"] for row in verdicts} == {"m0"}  # of the first row
    (timeline,) = verdicts[1]["timelines"]
    assert timeline["outcomes"] == ["pass"] * 4 + ["fail"] * 4
    assert (timeline["first_failure"], timeline["longest_run"], timeline["difference"]) == (4, 4, 1.0)
    assert verdicts[2]["timelines"] == []
    assert summary["drift"]["by_check"]["agency_language"]["usable"] == 2
