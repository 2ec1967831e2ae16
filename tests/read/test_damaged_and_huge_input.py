"""Damaged files are one error with its place; no input takes the memory that its size asks for."""

import gzip
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from helpers import CommandLine, row, write_jsonl

from synthesis.errors import InputError
from synthesis.read.lines import Block, blocks

TALK = [{"role": "user", "content": "I lost my job."}, {"role": "assistant", "content": "You should relax."}]
MB = 1 << 20
# Prints the exit code of the run and how much more memory it took than one over a small file, in MB.
MEASURE = """
import resource, sys
from synthesis.cli.main import call
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
call(["--cases", "small.jsonl", "--workers", "1", "-q"])
before = peak()
code = call([*sys.argv[1:], "--workers", "1", "-q", "--fail-on", "999999"])
print(code, peak() - before)
"""


def chat(count: int) -> bytes:
    return b"".join(json.dumps({"messages": TALK, "n": n}).encode() + b"\n" for n in range(count))


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_a_chat_log_is_recognised_in_every_compression(cli: CommandLine, ending: str) -> None:
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[ending]
    path = cli.folder / f"log.jsonl{ending}"
    path.write_bytes(pack(chat(3)))
    assert cli("--cases", path).code == 2
    assert cli.report()["summary"]["cases"] == 3


def damaged(content: bytes, tries: int) -> Iterator[bytes]:
    chosen = random.Random(15)
    for _ in range(tries):
        at = chosen.randrange(len(content))
        yield content[:at]
        yield content[:at] + bytes([content[at] ^ (1 << chosen.randrange(8))]) + content[at + 1 :]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_damaged_archives_are_errors_and_lose_nothing_without_a_word(tmp_path: Path, ending: str) -> None:
    pack = gzip.compress if ending == ".gz" else zstandard.ZstdCompressor(write_checksum=True).compress
    path = tmp_path / f"cases.jsonl{ending}"
    content = "\n".join(str(random.Random(n).random()) for n in range(500)).encode()
    for broken in damaged(pack(content), 300):
        path.write_bytes(broken)
        try:
            found = [block.read() for block in blocks(path, "x") if isinstance(block, Block)]
        except InputError:
            continue
        assert b"".join(found) == content or not broken  # a bit of the header may flip without harm


def test_a_truncated_archive_says_so(cli: CommandLine) -> None:
    for ending, pack in ((".gz", gzip.compress), (".zst", zstandard.compress)):
        path = cli.folder / f"log.jsonl{ending}"
        path.write_bytes(pack(chat(2000))[:-9])
        outcome = cli("--cases", path)
        assert outcome.code == 1
        assert f"log.jsonl{ending}: cannot be read: it is cut short" in outcome.err


@pytest.mark.parametrize("depth", [300, 100_000])
@pytest.mark.parametrize("name", ["cases.jsonl", "log.json", "chats.jsonl", "chats.csv"])
def test_deep_nesting_is_a_problem_of_its_row(cli: CommandLine, name: str, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    content = {
        "cases.jsonl": f'{{"id": "T-1", "checks": {deep}}}\n',
        "log.json": f'[{{"messages": {json.dumps(TALK)}, "tags": {deep}}}]',
        "chats.jsonl": f'{{"conversations": [{{"from": "human", "value": {deep}}}]}}\n',
        "chats.csv": f'user,assistant,messages\nu,a,"{deep}"\n',
    }
    (cli.folder / name).write_text(content[name])
    outcome = cli("--cases", name, "--on-bad-row", "stop")
    assert outcome.code == 1
    assert f"{name}:" in outcome.err


def test_a_column_name_that_is_not_utf8(cli: CommandLine) -> None:
    path = cli.folder / "log.parquet"
    pq.write_table(pa.table({"user": ["u"], "assistant": ["a"], "metaX": ["m"]}), path)
    path.write_bytes(path.read_bytes().replace(b"metaX", b"meta\xff"))
    for options in ((), ("--out-table", "verdicts")):
        outcome = cli("--cases", path, *options)
        assert outcome.code == 1
        assert "log.parquet: the name of a column is not UTF-8" in outcome.err


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is a place where nobody can write")
@pytest.mark.parametrize("options", [["--out", "/proc/report.json"], ["--out-table", "/proc/verdicts"]])
def test_a_place_that_cannot_be_written(cli: CommandLine, options: list[str]) -> None:
    write_jsonl(cli.folder / "cases.jsonl", [row()])
    outcome = cli("--cases", "cases.jsonl", *options)
    assert outcome.code == 1
    assert "/proc" in outcome.err
    assert "cannot be written" in outcome.err


def test_a_long_value_of_a_json_document_is_refused(cli: CommandLine) -> None:
    talk = json.dumps([{"messages": TALK}, {"messages": TALK, "more": "x" * 5000}])
    (cli.folder / "log.json").write_text(talk)
    outcome = cli("--cases", "log.json", "--max-line", "2000")
    assert outcome.code == 1
    assert "log.json:1:120: holds a value of more than 2,000 bytes" in outcome.err


def test_a_long_row_of_a_table_is_skipped_and_the_next_keeps_its_line(cli: CommandLine) -> None:
    long = "x\n" * 3000
    (cli.folder / "log.csv").write_text(f'user,assistant\nu,You should.\n"{long}",a\nu,"b\nc"\nu,{"y" * 5000}\nu,d\n')
    assert cli("--cases", "log.csv", "--max-line", "2000").code == 3
    found = [(result["id"], result["source"]["line"], result["outcome"]) for result in cli.report()["results"]]
    assert [place for *place, outcome in found if outcome == "error"] == [["ROW-2", 3], ["ROW-4", 3006]]
    assert found[2][:2] == ("ROW-3", 3004)
    assert found[4][:2] == ("ROW-5", 3007)


def test_a_long_row_of_parquet_is_an_error_of_that_row(cli: CommandLine) -> None:
    rows = {"user": ["u"] * 50, "assistant": ["x" * 5000] + ["a"] * 49}
    pq.write_table(pa.table(rows), cli.folder / "log.parquet")
    assert cli("--cases", "log.parquet", "--max-line", "2000").code == 3
    assert cli.report()["summary"]["errors"] == 1
    outcome = cli("--cases", "log.parquet", "--max-line", "1000", "--map", "user=user,assistant=assistant")
    assert outcome.code == 3
    pq.write_table(pa.table({"user": ["u"], "assistant": ["x" * 5000]}), cli.folder / "log.parquet")
    assert "bytes on average, more than 2,000" in cli("--cases", "log.parquet", "--max-line", "2000").err


def huge_line_gz(folder: Path) -> None:
    with gzip.open(folder / "huge.jsonl.gz", "wb", compresslevel=1) as file:
        for _ in range(300):
            file.write(b"x" * MB)
        file.write(b"\n" + chat(1))


def huge_line_zst(folder: Path) -> None:
    with zstandard.open(folder / "huge.jsonl.zst", "wb") as file:
        for _ in range(300):
            file.write(b"x" * MB)
        file.write(b"\n" + chat(1))


def huge_cell(folder: Path) -> None:
    with (folder / "huge.csv").open("wb") as file:
        file.write(b'user,assistant\nu,a\nu,"')
        for _ in range(150):
            file.write(b"x" * MB)
        file.write(b'"\nu,a\n')


def huge_list(folder: Path) -> None:
    element = json.dumps({"messages": TALK, "more": "x" * 100_000}).encode()
    with (folder / "huge.json").open("wb") as file:
        file.write(b"[" + element)
        for _ in range(1500):
            file.write(b",\n" + element)
        file.write(b"]")


def many_objects(folder: Path) -> None:
    (folder / "huge.jsonl").write_bytes(b'{"messages": [' + b'{"":0},' * (2 * MB) + b"0]}\n" + chat(1))


def many_cells(folder: Path) -> None:
    (folder / "huge.csv").write_bytes(b"user,assistant\n" + b"ab," * (5 * MB) + b"\nu,a\n")


def long_texts(folder: Path) -> None:
    """In a process of its own: its memory would stay with the worker of the tests."""
    code = """
import pyarrow as pa, pyarrow.parquet as pq
texts = [str(n) + "x" * (1 << 20) for n in range(150)]
pq.write_table(pa.table({"user": texts, "assistant": ["a"] * 150}), "huge.parquet")
"""
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (huge_line_gz, 3),
        (huge_line_zst, 3),
        (huge_cell, 3),
        (huge_list, 0),
        (many_objects, 3),
        (many_cells, 3),
        (long_texts, 1),
    ],
)
def test_huge_input_takes_little_memory(tmp_path: Path, make, code: int) -> None:  # type: ignore[no-untyped-def]
    """Of 100 to 300 MB of content; before, it took up to five times its size."""
    make(tmp_path)
    write_jsonl(tmp_path / "small.jsonl", [row()])
    [huge] = tmp_path.glob("huge.*")
    options = ["--cases", huge.name, "--no-text", "--on-bad-row", "error"]
    options += ["--max-line", "500000"] if make is long_texts else []
    command = [sys.executable, "-c", MEASURE, *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr
    ended, extra = map(int, done.stdout.split())
    assert extra < 150, f"{extra} MB"
    assert ended == code, done.stderr
