"""Bad input: exit 1, what and where and what to do, no traceback, and the report of before untouched."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import CommandLine, row, write_jsonl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

BEFORE = '{"earlier": "report"}'


@pytest.fixture
def refuse(cli: CommandLine):  # type: ignore[no-untyped-def]
    """Run, expect a refusal, return the message."""
    report = cli.folder / "out" / "report.json"
    report.parent.mkdir()
    report.write_text(BEFORE)

    def run(*args: str | Path) -> str:
        outcome = cli(*args)
        assert outcome.code == 1, outcome
        assert outcome.out == ""
        assert outcome.err.startswith("error: ")
        assert "Traceback" not in outcome.err
        assert report.read_text() == BEFORE
        assert os.listdir(report.parent) == ["report.json"]
        return outcome.err

    return run


def test_a_missing_file(refuse) -> None:  # type: ignore[no-untyped-def]
    assert "nowhere.jsonl: there is no such file" in refuse("--cases", "nowhere.jsonl")


def test_a_folder_without_case_files(refuse, cli: CommandLine) -> None:  # type: ignore[no-untyped-def]
    (cli.folder / "empty").mkdir()
    assert "the folder empty holds no .jsonl files" in refuse("--cases", "empty")


def test_a_folder_as_schema(refuse, cli: CommandLine) -> None:  # type: ignore[no-untyped-def]
    assert "cannot be read: Is a directory" in refuse("--schema", ".")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"id": ', "line 3: is not valid JSON"),
        ("null", "line 3: expected a JSON object, found null"),
        ("42", "line 3: expected a JSON object, found a number"),
        ("[1]", "line 3: expected a JSON object, found an array"),
        ('"text"', "line 3: expected a JSON object, found a string"),
        ("true", "line 3: expected a JSON object, found a boolean"),
        (row(id="lower-1"), 'line 3 (lower-1): id: "lower-1" does not match'),
        (row(id="T-1"), "line 3 (T-1): the id appears twice: here and on line 1"),
        (row(id="T-9", user=""), 'line 3 (T-9): user: "" is shorter than 1 character'),
        (row(id="T-9", checks=[]), "line 3 (T-9): checks: [] has less than 1 item"),
        (row(id="T-9", checks=["agency"]), "no check is called 'agency'. Did you mean 'agency_language'?"),
        (row(id="T-9", expected={"agency": True}), "no check is called 'agency'"),
        (row(id="T-9", extra=1), "'extra' was unexpected"),
        (row(id="T-9", messages=[{"role": "user", "content": "x"}]), "is not allowed here"),
        ({"id": "T-9", "checks": ["topic_pivot"]}, '"assistant" is a required property'),
        ('{"a": "\\ud800"}', "line 3: is not valid JSON"),
    ],
)
def test_a_bad_line_is_named_with_its_true_number(refuse, cli: CommandLine, line, expected: str) -> None:  # type: ignore[no-untyped-def]
    write_jsonl(cli.folder / "cases.jsonl", [row(), "", line])
    message = refuse("--cases", "cases.jsonl")
    assert expected in message
    assert "synthesis schema case" in message


def test_all_errors_of_a_file_come_together_in_line_order(refuse, cli: CommandLine) -> None:  # type: ignore[no-untyped-def]
    write_jsonl(cli.folder / "cases.jsonl", ["null", row(id="x"), row(), row(), "{"])
    lines = [line for line in refuse("--cases", "cases.jsonl").splitlines() if line.startswith("  line")]
    assert [int(line.split()[1].strip(":")) for line in lines] == [1, 2, 4, 5]


def test_after_a_hundred_errors_they_are_counted_by_kind(refuse, cli: CommandLine) -> None:  # type: ignore[no-untyped-def]
    write_jsonl(cli.folder / "cases.jsonl", ["null"] * 150 + ["{"] * 50)
    message = refuse("--cases", "cases.jsonl")
    assert message.count("\n  line ") == 100
    assert "and 100 more" in message
    assert "150 x not an object" in message
    assert "50 x invalid JSON" in message


def test_not_utf8(refuse, cli: CommandLine) -> None:  # type: ignore[no-untyped-def]
    (cli.folder / "cases.jsonl").write_bytes(b'{"id": "T-1\xff"}\n')
    assert "line 1: is not UTF-8 (byte 12 of the line)" in refuse("--cases", "cases.jsonl")


@pytest.mark.parametrize("content", ["", "\n\n  \n"])
def test_an_empty_case_file(refuse, cli: CommandLine, content: str) -> None:  # type: ignore[no-untyped-def]
    (cli.folder / "cases.jsonl").write_text(content)
    assert "holds no cases" in refuse("--cases", "cases.jsonl")


@pytest.mark.parametrize("value", ["abc", "-1", "1.5", "", "3%", "grave=1", "serious=", "minor=101%", "minor=nan%"])
def test_a_threshold_that_nobody_can_keep(refuse, value: str) -> None:  # type: ignore[no-untyped-def]
    assert "--fail-on" in refuse("--fail-on", value)


@pytest.mark.parametrize(
    "args",
    [
        ["--nonsense"],
        ["nonsense"],
        ["eval", "--nonsense"],
        ["rules", "nonsense"],
        ["rules", "show"],
        ["schema", "nonsense"],
        ["--limit", "0"],
        ["--profile", "nonsense"],
        ["--only-check", "nonsense"],
        ["--id", "NO-1"],
        ["--tag", "no-such-tag"],
        ["--disable", "no.such.rule"],
        ["--rules", "nowhere"],
    ],
)
def test_wrong_options_exit_with_1_everywhere(refuse, args: list[str]) -> None:  # type: ignore[no-untyped-def]
    refuse(*args)


def test_out_must_not_be_an_input(refuse, cli: CommandLine) -> None:  # type: ignore[no-untyped-def]
    cases = write_jsonl(cli.folder / "cases.jsonl", [row()])
    before = cases.read_text()
    assert "--out and --cases are the same file" in refuse("--cases", "cases.jsonl", "--out", "./cases.jsonl")
    os.link(cases, cli.folder / "link.json")
    assert "the same file" in refuse("--cases", "cases.jsonl", "--out", "link.json")
    assert cases.read_text() == before


@pytest.mark.parametrize("out", [".", "file/report.json"])
def test_a_place_that_cannot_be_written(refuse, cli: CommandLine, out: str) -> None:  # type: ignore[no-untyped-def]
    write_jsonl(cli.folder / "cases.jsonl", [row()])
    (cli.folder / "file").write_text("")
    assert "cannot be written" in refuse("--cases", "cases.jsonl", "--out", out)


@pytest.mark.parametrize(
    "content", ["{", "3", '{"type": "nonsense"}', '{"$ref": "http://localhost:9/schema.json"}', "[" * 100_000]
)
def test_a_broken_schema(refuse, cli: CommandLine, content: str) -> None:  # type: ignore[no-untyped-def]
    (cli.folder / "schema.json").write_text(content)
    assert "schema.json" in refuse("--schema", "schema.json")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("fail-on = [", "is not valid TOML"),
        ("fail_on = 3", "there is no setting 'fail_on'"),
        ("fail-on = [3]", "'fail-on' must be a whole number or a text"),
        ("fail-on = 'three'", "'three' is neither a number nor a share"),
        ("fail-on = 'grave=3'", "there is no severity 'grave'"),
        ("disable = [3]", "'disable' must be a list of texts"),
    ],
)
def test_broken_settings(refuse, cli: CommandLine, content: str, expected: str) -> None:  # type: ignore[no-untyped-def]
    (cli.folder / "synthesis.toml").write_text(content)
    message = refuse()
    assert expected in message
    assert "synthesis.toml" in message


def test_a_broken_pack(refuse, cli: CommandLine) -> None:  # type: ignore[no-untyped-def]
    (cli.folder / "pack.yaml").write_text("language: en\nname: [")
    assert "pack.yaml:3:1: is not valid YAML" in refuse("--rules", ".")


@given(st.binary(max_size=300) | st.text(max_size=80).map(lambda text: json.dumps({"id": text}).encode()))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_arbitrary_bytes_never_give_a_traceback(cli: CommandLine, content: bytes) -> None:
    (cli.folder / "cases.jsonl").write_bytes(content)
    outcome = cli("--cases", "cases.jsonl")
    assert outcome.code in (1, 3)  # now and then the bytes are a row
    assert "Traceback" not in outcome.err


def test_control_characters_never_reach_the_terminal(cli: CommandLine) -> None:
    nasty = "You should \x1b[31mrelax\x07 \u202eback\u2066"
    write_jsonl(cli.folder / "c.jsonl", [row(assistant=nasty, tags=["\x1b]0;title\x07"]), row(id="T-2", user=nasty)])
    printed = cli("--cases", "c.jsonl")
    write_jsonl(cli.folder / "bad.jsonl", [row(id="\x1b[2J"), row(checks=["\x1b[31m"])])
    refused = cli("--cases", "bad.jsonl")
    for text in (printed.out, printed.err, refused.out, refused.err):
        assert not {char for char in text if char != "\n" and not char.isprintable()} - set("\x1b"), text
        assert "\x1b[31mrelax" not in text
        assert "\x1b[2J" not in text
        assert "\x1b]0" not in text


def test_a_killed_run_leaves_no_half_written_report(tmp_path: Path) -> None:
    """The process dies by a real signal in the middle of writing."""
    write_jsonl(tmp_path / "cases.jsonl", [row(id=f"T-{n}") for n in range(2000)])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.json").write_text(BEFORE)
    code = (
        "import os, signal, pathlib\n"
        "from synthesis.cli.main import run\n"
        "pathlib.Path.replace = lambda self, target: os.kill(os.getpid(), signal.SIGKILL)\n"
        "run(['--cases', 'cases.jsonl'])\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False)
    assert killed.returncode == -9
    assert (tmp_path / "out" / "report.json").read_text() == BEFORE


def test_a_run_killed_while_it_writes_leaves_the_earlier_report_whole(tmp_path: Path) -> None:
    """The process dies by a real signal when the first half of the report is in a file."""
    write_jsonl(tmp_path / "cases.jsonl", [row(id=f"T-{n}") for n in range(20)])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.json").write_text(BEFORE)
    code = (
        "import os, signal\n"
        "from synthesis.cli.main import run\n"
        "from synthesis.report import stored\n"
        "def dying(name, pieces, file, whole=stored._write_list):\n"
        "    whole(name, pieces, file)\n"
        "    file.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "stored._write_list = dying\n"
        "run(['--cases', 'cases.jsonl'])\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False)
    assert killed.returncode == -9
    assert (tmp_path / "out" / "report.json").read_text() == BEFORE
