"""Logs in, a table of verdicts out: nothing lost, the same bytes for every number of workers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import CommandLine, Outcome, row, write_jsonl
from table_samples import MAP, content_of, read_verdicts, rows, write_lake, write_parquet

from synthesis.io import open_binary
from synthesis.read import parquet
from synthesis.read.inputs import Input
from synthesis.read.lines import Block
from synthesis.run import blocks
from synthesis.run.spec import RunSpec


def evaluate(cli: CommandLine, cases: str, table: str = "verdicts", *options: str, map: str = MAP) -> Outcome:
    return cli("--cases", cases, "--out-table", table, "--map", map, "--fail-on", "9999", *options)


def test_every_row_has_a_verdict_where_its_partition_is(cli: CommandLine) -> None:
    outcome = evaluate(cli, write_lake(cli.folder), "verdicts", "--keep", "model")
    assert outcome.code == 3, outcome.err
    found = read_verdicts(cli.folder / "verdicts")
    given = rows(90, bad=(7, 61))
    assert [(r["id"], r["model"]) for r in found] == [(r["conversation"], r["model"]) for r in given]
    assert [r["date"] for r in found] == ["2026-01-01"] * 30 + ["2026-01-02"] * 60
    assert [r["source_line"] for r in found] == [*range(1, 31), *range(1, 61)]
    assert [r["id"] for r in found if r["outcome"] == "error"] == ["c-00007", "c-00061"]
    assert {p.parent.name for p in (cli.folder / "verdicts").rglob("*.parquet")} == {
        "date=2026-01-01",
        "date=2026-01-02",
    }


def test_the_report_is_small_and_names_the_table(cli: CommandLine) -> None:
    outcome = evaluate(cli, write_lake(cli.folder))
    report = cli.report()
    assert report["results_table"] == "../verdicts"
    assert "results" not in report
    assert "failures" not in report
    assert report["summary"]["cases"] == 90
    assert report["summary"]["errors"] == 2
    assert "results: verdicts" in outcome.out


def test_a_row_group_is_a_part_and_a_long_one_several(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = write_lake(cli.folder)
    evaluate(cli, pattern, "groups")
    monkeypatch.setattr(parquet, "MOST_UNIT_ROWS", 8)
    monkeypatch.setattr(parquet, "BATCH", 3)
    evaluate(cli, pattern, "stretches")
    parts = {name: len([*(cli.folder / name).rglob("*.parquet")]) for name in ("groups", "stretches")}
    assert parts == {"groups": 2 + 3, "stretches": 3 + 2 + 3 * 3}
    assert read_verdicts(cli.folder / "stretches") == read_verdicts(cli.folder / "groups")


def test_the_number_of_workers_changes_no_byte(cli: CommandLine) -> None:
    pattern = write_lake(cli.folder)
    reports = []
    for workers in ("1", "2"):
        evaluate(cli, pattern, "verdicts", "--workers", workers, "--fresh")
        reports.append(((cli.folder / "out/report.json").read_bytes(), content_of(cli.folder / "verdicts")))
    assert reports[0] == reports[1]


def test_case_files_become_tables_with_the_summary_of_a_report(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 3000)
    labelled = [row(id=f"T-{n}", expected={"agency_language": n % 2 == 0}) for n in range(40)]
    write_jsonl(cli.folder / "cases.jsonl", labelled)
    cli("--cases", "cases.jsonl")
    report = cli.report()
    cli("--cases", "cases.jsonl", "--out-table", "verdicts")
    assert cli.report()["summary"] == report["summary"]
    assert cli.report()["warnings"] == report["warnings"]
    found = read_verdicts(cli.folder / "verdicts")
    assert [(r["id"], r["outcome"], r["source_line"]) for r in found] == [
        (r["id"], r["outcome"], r["source"]["line"]) for r in report["results"]
    ]


def test_chat_logs_become_tables_too(cli: CommandLine) -> None:
    talk = [{"role": "user", "content": "I lost my job."}, {"role": "assistant", "content": "You should relax."}]
    write_jsonl(cli.folder / "log.jsonl", [{"id": "x9", "messages": talk}, {"messages": []}])
    assert cli("--cases", "log.jsonl", "--out-table", "verdicts").code == 3
    found = read_verdicts(cli.folder / "verdicts")
    assert [(r["id"], r["outcome"]) for r in found] == [("x9", "fail"), ("ROW-2", "error")]


def test_on_request_a_bad_row_stops_the_run_and_no_report_is_written(cli: CommandLine) -> None:
    outcome = evaluate(cli, write_lake(cli.folder), "verdicts", "--on-bad-row", "stop")
    assert outcome.code == 1
    assert "line 8 (c-00007): 'reply' is empty" in outcome.err
    assert not (cli.folder / "out/report.json").exists()
    assert not (cli.folder / "verdicts/_SUCCESS").exists()


def test_failures_only_keeps_failures_and_errors(cli: CommandLine) -> None:
    evaluate(cli, write_lake(cli.folder), "verdicts", "--failures-only", "--keep", "model")
    found = read_verdicts(cli.folder / "verdicts")
    summary = cli.report()["summary"]
    assert {r["outcome"] for r in found} == {"fail", "error"}
    assert len(found) == summary["failed"] + summary["errors"]
    assert [r["model"] for r in found] == [f"m{int(r['id'][2:]) % 2}" for r in found]


def test_a_limit_and_a_sample_choose_the_same_rows_as_in_a_report(cli: CommandLine) -> None:
    write_parquet(cli.folder / "log.parquet", rows(50), group=10)
    evaluate(cli, "log.parquet", "verdicts", "--sample", "7", map="user=prompt,assistant=reply")
    evaluate(cli, "log.parquet", "again", "--limit", "13")
    assert len(read_verdicts(cli.folder / "verdicts")) == 7
    assert [r["source_line"] for r in read_verdicts(cli.folder / "again")] == [*range(1, 14)]


def test_an_empty_file_among_others_is_no_mistake_but_nothing_at_all_is(cli: CommandLine) -> None:
    write_parquet(cli.folder / "logs/a.parquet", rows(3))
    pq.write_table(pa.Table.from_pylist(rows(1)).slice(0, 0), cli.folder / "logs/b.parquet")
    assert evaluate(cli, "logs/*.parquet").code == 0
    assert len(read_verdicts(cli.folder / "verdicts")) == 3
    outcome = evaluate(cli, "logs/b.parquet", "nothing")
    assert outcome.code == 1
    assert "no case is left" in outcome.err


def test_texts_do_not_enter_the_table_or_its_records(cli: CommandLine) -> None:
    write_parquet(cli.folder / "log.parquet", [{"prompt": "Hi, zebra.", "reply": "You should go, zebra."}])
    evaluate(cli, "log.parquet", map="user=prompt,assistant=reply")
    for path in (cli.folder / "verdicts").rglob("*"):
        assert path.is_dir() or b"zebra" not in path.read_bytes(), path
    assert "zebra" not in json.dumps(read_verdicts(cli.folder / "verdicts"))


def test_records_of_parts_quote_nobody(cli: CommandLine) -> None:
    write_parquet(cli.folder / "log.parquet", [{"prompt": "I lost my job.", "reply": "You should just relax."}])
    evaluate(cli, "log.parquet", map="user=prompt,assistant=reply")
    [record] = (cli.folder / "verdicts" / "_synthesis" / "parts").iterdir()
    [example] = json.loads(record.read_bytes())["examples"]
    assert [check["evidence"] for check in example["checks"].values()] == [{}] * 9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--keep", "nonsense"), "no column 'nonsense' to keep"),
        (("--keep", "outcome"), "'outcome' cannot be kept"),
        (("--results", "r.jsonl"), "--results cannot be combined with --out-table"),
        (("--format", "html"), "--format cannot be combined with --out-table"),
        (("--strict",), "--strict cannot be combined with --out-table"),
        (("--map", "user=nonsense,assistant=reply"), "no column 'nonsense'"),
        (("--master", "local"), "--master needs --engine spark"),
        (("--ray-address", "auto"), "--ray-address needs --engine ray"),
    ],
)
def test_options_that_make_no_sense_are_refused(cli: CommandLine, options: tuple[str, ...], message: str) -> None:
    write_parquet(cli.folder / "log.parquet", [{**rows(1)[0], "outcome": 1}])
    outcome = evaluate(cli, "log.parquet", "verdicts", *options)
    assert outcome.code == 1
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_a_table_is_not_its_own_input_and_no_file_is_read_twice(cli: CommandLine) -> None:
    write_parquet(cli.folder / "log.parquet", rows(3))
    evaluate(cli, "log.parquet")
    assert "is in the folder of --out-table" in evaluate(cli, "**/*.parquet").err
    assert "names log.parquet twice" in evaluate(cli, "log.parquet", "other", "--cases", "log.parquet").err


def test_label_accuracy_is_a_condition_for_tables_too(cli: CommandLine) -> None:
    write_jsonl(cli.folder / "cases.jsonl", [row(expected={"agency_language": False}, tags=["agency-fail"])])
    outcome = cli("--cases", "cases.jsonl", "--out-table", "verdicts", "--min-label-accuracy", "50")
    assert outcome.code == 2
    assert "label accuracy" in outcome.err


def test_no_document_is_drawn_from_a_table_as_if_it_were_empty(cli: CommandLine) -> None:
    write_jsonl(cli.folder / "cases.jsonl", [row()])
    cli("--cases", "cases.jsonl", "--out-table", "verdicts")
    outcome = cli("report", "convert", "out/report.json", "--format", "html")
    assert outcome.code == 1
    assert "its results are in a table (../verdicts)" in outcome.err
    assert cli("compare", "out/report.json", "out/report.json").code == 1


@pytest.mark.parametrize("option", [("--keep", "model"), ("--fresh",)])
def test_options_of_a_table_need_one(cli: CommandLine, option: tuple[str, ...]) -> None:
    write_jsonl(cli.folder / "cases.jsonl", [row()])
    outcome = cli("--cases", "cases.jsonl", *option)
    assert outcome.code == 1
    assert "needs --out-table" in outcome.err


def test_columns_are_kept_of_parquet_only(cli: CommandLine) -> None:
    write_jsonl(cli.folder / "cases.jsonl", [row()])
    assert "is not a Parquet file" in cli("--cases", "cases.jsonl", "--out-table", "v", "--keep", "model").err


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_an_engine_that_is_not_installed_is_named_with_its_install_line(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    for name in ("ray", "pyspark"):
        monkeypatch.setitem(sys.modules, name, None)
    write_jsonl(cli.folder / "cases.jsonl", [row()])
    outcome = cli("--cases", "cases.jsonl", "--engine", engine)
    assert outcome.code == 1
    assert f"pip install 'synthesis-eval[{engine}]'" in outcome.err
    assert not (cli.folder / "out").exists() or os.listdir(cli.folder / "out") == []


def test_a_folder_that_cannot_be_written_is_told(cli: CommandLine) -> None:
    write_parquet(cli.folder / "log.parquet", rows(3))
    Path("taken").write_text("a file")
    assert "--out-table is not a folder" in evaluate(cli, "log.parquet", "taken").err
    refused = evaluate(cli, "log.parquet", "taken/below").err
    assert "cannot be written" in refused
    assert "with --out-table" in refused


def test_a_long_row_group_is_read_at_constant_memory(tmp_path: Path) -> None:
    """In a process of its own, whose greatest memory before and after tells what the reading took."""
    making = """
import random, pyarrow as pa, pyarrow.parquet as pq
chance = random.Random(1)
texts = [chance.randbytes(1000).hex() for _ in range(40_000)]
pq.write_table(pa.table({"user": texts, "assistant": texts}), "log.parquet", use_dictionary=False)
"""
    subprocess.run([sys.executable, "-c", making], cwd=tmp_path, check=True)
    size = (tmp_path / "log.parquet").stat().st_size
    code = """
import re
from pathlib import Path
from synthesis.read.rows import LogOptions
from synthesis.read.parquet import read_range, row_ranges
from synthesis.read.cases import CaseValidator
options = LogOptions(CaseValidator([]))
found = list(row_ranges(Path("log.parquet"), "log", options, (), lambda _: None))
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = peak()
rows = sum(batch.num_rows for part in found for batch in read_range(part, options))
print(rows, (peak() - before) * 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    rows_read, taken = map(int, done.stdout.split())
    assert rows_read == 40_000
    assert size > 50e6
    assert taken < size / 2


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
def test_a_log_is_cut_into_large_parts_also_if_it_is_compressed(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log{ending}"
    with open_binary(path, "wb") as file:
        for number in range(3000):
            file.write(
                json.dumps({"user": f"{number} I lost my job. " * 50, "assistant": "Oh. " * 50}).encode() + b"\n"
            )
    spec = RunSpec(inputs=(Input.of(path),), table=tmp_path / "table")
    units = [unit for unit in blocks.file_units(spec.inputs[0], spec) if isinstance(unit, Block)]
    sizes = [len(unit.read()) for unit in units]
    assert len(sizes) == 2
    assert 2 << 20 < sizes[0] < 16 << 20
