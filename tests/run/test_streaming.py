"""Files of any size: blocks, workers and parts change nothing about the result."""

import gzip
import io
import json
import os
import sys
from pathlib import Path

import pytest
from helpers import CommandLine, row, write_jsonl
from hypothesis import given
from hypothesis import strategies as st

from synthesis.errors import Problem
from synthesis.read import lines
from synthesis.read.inputs import Input
from synthesis.read.lines import Block
from synthesis.run import blocks
from synthesis.run.files import evaluate_files
from synthesis.run.spec import RunSpec

REPLIES = ["You should just relax.", "Would you like to talk about it?", "I promise you'll be fine.", "Hm."]


def many(count: int) -> list[dict[str, object]]:
    return [
        row(
            id=f"T-{n}",
            assistant=REPLIES[n % 4],
            user="I lost my job. " * (n % 7 + 1),
            checks=["agency_language", "topic_pivot", "unverifiable_reassurance"],
            tags=["agency-fail"] if n % 3 == 0 else [],
        )
        for n in range(count)
    ]


def cut(content: bytes, path: Path, **limits: int) -> list[Block | Problem]:
    path.write_bytes(content)
    return list(lines.blocks(path, "x", **limits))


@given(st.lists(st.text("ab\u00e9", max_size=9), max_size=30), st.integers(1, 40), st.booleans())
def test_blocks_are_whole_lines_that_join_to_the_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], size: int, ending: bool
) -> None:
    content = ("\n".join(lines) + ("\n" if ending else "")).encode()
    found = cut(content, tmp_path_factory.getbasetemp() / "blocks.jsonl", size=size)
    assert b"".join(block.read() for block in found if isinstance(block, Block)) == content
    line = 1
    for block in found:
        assert isinstance(block, Block)
        assert block.first_line == line
        line += block.read().count(b"\n")


def test_a_line_that_is_too_long_is_a_problem_and_the_next_one_keeps_its_number(tmp_path: Path) -> None:
    content = b"a\n" + b"x" * 5000 + b"\nb\n" + b"y" * 9000 + b"\nc"
    found = cut(content, tmp_path / "f.jsonl", size=100, most_line=2000)
    assert [(p.line, p.kind) for p in found if isinstance(p, Problem)] == [(2, "line too long"), (4, "line too long")]
    kept = [(block.first_line, block.read()) for block in found if isinstance(block, Block)]
    assert b"".join(content for _, content in kept) == b"a\nb\nc"
    assert kept[-1][0] == 5


def evaluate(cli: CommandLine, *options: str | Path) -> bytes:
    outcome = cli("--cases", "cases.jsonl", "--fail-on", "999999", *options)
    assert outcome.code == 0, outcome.err
    return (cli.folder / "out" / "report.json").read_bytes()


def test_the_number_of_workers_and_the_size_of_blocks_change_no_byte(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_jsonl(cli.folder / "cases.jsonl", many(300))
    alone = evaluate(cli, "--workers", "1")
    monkeypatch.setattr(blocks, "BLOCK", 5000)
    assert evaluate(cli, "--workers", "1") == alone
    assert evaluate(cli, "--workers", "2") == alone
    assert json.loads(alone)["summary"]["cases"] == 300


def test_compressed_files_and_standard_input_give_the_same_results(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = write_jsonl(cli.folder / "cases.jsonl", many(40)).read_bytes()
    expected = json.loads(evaluate(cli))["results"]
    (cli.folder / "packed.jsonl.gz").write_bytes(gzip.compress(plain))
    (cli.folder / "packed.jsonl.zst").write_bytes(pytest.importorskip("zstandard").compress(plain))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(plain)))
    for source in ("packed.jsonl.gz", "packed.jsonl.zst", "-"):
        cli("--cases", source, "--fail-on", "999")
        found = cli.report()["results"]
        assert [{**r, "source": None} for r in found] == [{**r, "source": None} for r in expected]


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
def test_results_beside_a_small_report(cli: CommandLine, ending: str) -> None:
    write_jsonl(cli.folder / "cases.jsonl", many(30))
    inside = json.loads(evaluate(cli))
    small = json.loads(evaluate(cli, "--results", f"res/results{ending}"))
    assert small["results_file"] == f"../res/results{ending}"
    assert "results" not in small
    assert small["summary"] == inside["summary"]
    content = (cli.folder / "res" / f"results{ending}").read_bytes()
    if ending.endswith(".gz"):
        content = gzip.decompress(content)
    if ending.endswith(".zst"):
        content = pytest.importorskip("zstandard").ZstdDecompressor().decompressobj().decompress(content)
    assert [json.loads(line) for line in content.splitlines()] == inside["results"]


def test_failures_only_keeps_failures_and_the_full_figures(cli: CommandLine) -> None:
    write_jsonl(cli.folder / "cases.jsonl", many(30))
    everything = json.loads(evaluate(cli))
    failed = json.loads(evaluate(cli, "--failures-only"))
    assert failed["summary"] == everything["summary"]
    assert failed["results"] == [result for result in everything["results"] if result["outcome"] == "fail"]


def test_duplicates_and_bad_lines_are_found_across_blocks(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 3000)
    rows = many(60)
    rows[50]["id"] = "T-3"
    write_jsonl(cli.folder / "cases.jsonl", [*rows[:20], "null", *rows[20:]])
    said = {cli("--cases", "cases.jsonl", "--workers", n).err for n in ("1", "2")}
    assert len(said) == 1
    message = said.pop()
    assert "line 21: expected a JSON object, found null" in message
    assert "line 52 (T-3): the id appears twice: here and on line 4" in message
    assert not (cli.folder / "out" / "report.json").exists()
    assert os.listdir(cli.folder / "out") == []


@pytest.mark.parametrize("hundreds", [1_000, pytest.param(9_000, marks=pytest.mark.slow)])
def test_a_million_bad_lines_are_counted_and_the_first_hundred_shown(cli: CommandLine, hundreds: int) -> None:
    (cli.folder / "cases.jsonl").write_bytes(b"null\n" * 100_000 + b"{\n" * 100 * hundreds)
    outcome = cli("--cases", "cases.jsonl", "--workers", "1")
    assert outcome.code == 1
    assert outcome.err.count("\n  line ") == 100
    assert f"{hundreds}00 x invalid JSON" in outcome.err


def test_a_broken_archive_is_bad_input(cli: CommandLine) -> None:
    (cli.folder / "cases.jsonl.gz").write_bytes(gzip.compress(b'{"id": "T-1"}' * 1000)[:40])
    outcome = cli("--cases", "cases.jsonl.gz")
    assert outcome.code == 1
    assert "cannot be read" in outcome.err


def test_a_long_reply_is_evaluated(cli: CommandLine) -> None:
    reply = "You should rest. " * 60_000  # about a megabyte
    write_jsonl(cli.folder / "cases.jsonl", [row(assistant=reply)])
    assert cli("--cases", "cases.jsonl", "--no-text").code == 2


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_progress_of_a_log_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(blocks, "ROWS", 4)
    path = tmp_path / f"log.{ending}"
    rows = [{"user": f"I feel awful {number}.", "assistant": "What happened?"} for number in range(20)]
    if ending == "csv":
        path.write_text("user,assistant\n" + "".join(f"{row['user']},{row['assistant']}\n" for row in rows))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    noted: list[tuple[int, int, int]] = []
    spec = RunSpec(inputs=(Input.of(path),), profile="traffic", columns={"user": "user", "assistant": "assistant"})
    evaluate_files(spec, progress=lambda *figures: noted.append(figures))
    cases, done, totals = zip(*noted, strict=True)
    assert cases == (4, 8, 12, 16, 20)
    assert set(totals) == {path.stat().st_size}
    assert list(done) == sorted(set(done))
    assert totals[0] * 0.9 <= done[-1] <= totals[0]
