"""What a terminal shows fits its width, is broken between words, and says why a run ends as it does."""

import os
import pty
import re
import subprocess
import sys
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ

import pytest
from helpers import CommandLine, row, write_jsonl
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from synthesis.cli.history import table_lines
from synthesis.cli.terminal import cells, wrapped
from synthesis.history import SavedRun

STYLE = re.compile(r"\x1b\[[0-9;]*m")
ERASED = "\x1b[2K"  # the line of progress, which makes room
LONG = (
    "Tells the user to move past the feeling, which it does not. "
    "Ask what keeps the feeling going, and leave the rest to the person."
)


def plain(text: str) -> str:
    return STYLE.sub("", text)


@pytest.mark.parametrize("width", [20, 33, 50, 80])
def test_a_line_is_broken_between_words(width: int) -> None:
    rows = list(wrapped(f"    {LONG}", width))
    assert all(cells(row) <= width for row in rows)
    assert " ".join(" ".join(rows).split()) == LONG
    assert [row.split() for row in rows] == [row.split(" ")[len(row) - len(row.lstrip()) :] for row in rows]
    assert rows[1].startswith("      ")


def test_wide_characters_count_twice_and_closing_marks_do_not_begin_a_row() -> None:
    rows = list(wrapped("你" * 19 + "。" + "好" * 30, 38))
    assert all(cell_len(row) <= 38 for row in rows)
    assert not any(row.strip().startswith("。") for row in rows)


def test_colours_take_no_room_and_stay_whole() -> None:
    line = f"\x1b[31m{LONG}\x1b[0m"
    rows = list(wrapped(line, 40))
    assert [plain(row) for row in rows] == list(wrapped(LONG, 40))
    assert STYLE.findall("".join(rows)) == ["\x1b[31m", "\x1b[0m"]


@given(st.text(st.sampled_from("ab 你\u0301。."), max_size=200), st.integers(20, 60))
def test_no_character_is_lost_and_no_row_is_too_wide(text: str, width: int) -> None:
    rows = list(wrapped(text, width))
    assert all(cells(row) <= width for row in rows)
    assert "".join("".join(rows).split()) == "".join(text.split())


def on_terminal(args: list[str], folder: Path, columns: int) -> tuple[int, list[str]]:
    """The exit code of a command on a terminal of this width, and the rows that it shows."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, pack("HHHH", 40, columns, 0, 0))
    command = [sys.executable, "-m", "synthesis", *args]
    process = subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    return process.wait(), [plain(line.rstrip("\r").rpartition(ERASED)[2]) for line in shown.decode().split("\n")]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


def test_a_failing_run_on_a_narrow_terminal(tmp_path: Path) -> None:
    listed = "Here is what helps:\n\n- You should\n  just get over it\n- Don't worry about it\n"
    checks = ["agency_language", "unverifiable_reassurance"]
    write_jsonl(tmp_path / "cases.jsonl", [row(id="T-1", assistant=listed, checks=checks)])
    code, rows = on_terminal(["cases.jsonl"], tmp_path, 50)
    assert code == 2
    assert max(map(cell_len, rows)) <= 50
    assert "\\n" not in "".join(rows)
    assert "not met: failures: 1, allowed: 0" in " ".join(" ".join(rows).split())


def test_an_error_on_a_narrow_terminal(tmp_path: Path) -> None:
    code, rows = on_terminal(["eval", "a-file-with-a-name-that-is-rather-long.jsonl", "--lang", "xx"], tmp_path, 40)
    assert code == 1
    assert max(map(len, rows)) <= 40


def test_a_list_of_runs_has_two_lines_for_each_where_the_table_is_too_wide() -> None:
    summary = {"cases": 2, "strict_passed": 1, "strict_failed": 1, "unexpected_failures": 1, "errors": 0}
    run = SavedRun(
        id="0123456789ab",
        kind="checks",
        name="留言.jsonl",
        started="2026-11-01T08:00:00.000Z",
        tool_version="1",
        rules_hash="f",
        input_hash=None,
        revision=None,
        with_text=False,
        tags=("nightly",),
        conditions={"profile": "audit"},
        summary=summary,
    )
    table = list(table_lines([run], 120))
    assert len(table) == 2
    assert "PROFILE" in table[0]
    assert "traffic" in table[1]
    assert len(list(table_lines([run]))) == 2, "a pipe gets the table"
    narrow = [plain(line) for line in table_lines([run], 60)]
    assert narrow[0] == "0123456789ab  2026-11-01 08:00 UTC  checks, traffic"
    assert max(map(cell_len, narrow)) <= 60
    assert narrow[1:] == ["  2 cases, 1 unexpected, 50 % passed", "  留言.jsonl  nightly"]


def test_the_reason_of_exit_code_2_is_named_once(cli: CommandLine) -> None:
    cases = write_jsonl(cli.folder / "cases.jsonl", [row(assistant="You should just get over it.")])
    for more in ([], ["--format", "csv"]):
        outcome = cli("--cases", cases, *more)
        assert outcome.code == 2
        assert outcome.err.count("not met: failures: 1, allowed: 0") == 1
    quiet = cli("--cases", cases, "--quiet")
    assert (quiet.out, quiet.err) == ("", "not met: failures: 1, allowed: 0 (exit code 2)\n")
    assert cli("--cases", cases, "--fail-on", "1").err == ""


def test_the_console_counts_as_the_other_reports_do(cli: CommandLine) -> None:
    outcome = cli("--format", "html", "--format", "markdown")
    assert "26 cases: 15 passed, 10 failed, 1 not assessed (60 % of the 25 assessed passed)" in outcome.out
    page = (cli.folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "<dt>passed</dt><dd>15</dd>" in page
    assert "<dt>not assessed</dt><dd>1</dd>" in page
    drawn = (cli.folder / "out" / "report.md").read_text(encoding="utf-8")
    assert "26 cases: 15 passed, 10 failed, 1 not assessed" in drawn
