"""Conversations in case files, and rows that cannot be read, on the command line."""

import pytest
from helpers import CommandLine, row, write_jsonl

from synthesis import run_case

TALK = [{"role": "user", "content": "I lost my job."}, {"role": "assistant", "content": "You should relax."}]


def test_content_in_text_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "You should"}, {"type": "image_url"}, {"type": "text", "text": "relax."}]
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": parts}]
    result = run_case({"id": "A-1", "checks": ["agency_language"], "messages": talk})
    assert result.texts["messages"][1]["content"] == "You should\n\nrelax."
    assert not result.passed


def test_a_turn_without_words_is_no_reply() -> None:
    silent = {"role": "assistant", "content": [{"type": "image_url"}]}
    talk = [{"role": "user", "content": "Hello?"}, silent, *TALK]
    result = run_case({"id": "A-1", "checks": ["agency_language"], "messages": talk})
    assert result.checks["agency_language"].turns == ()
    assert not result.passed


@pytest.mark.parametrize("content", [[], [5], [{"type": "text"}], [{"text": "x"}], 5, ""])
def test_content_that_is_neither_text_nor_parts_is_refused(cli: CommandLine, content: object) -> None:
    path = write_jsonl(cli.folder / "c.jsonl", [{"id": "A-1", "checks": ["topic_pivot"], "messages": TALK}])
    assert cli("--cases", path).code in (0, 2)
    talk = [{"role": "user", "content": content}]
    write_jsonl(path, [{"id": "A-1", "checks": ["topic_pivot"], "messages": talk}])
    outcome = cli("--cases", path)
    assert outcome.code == 1
    assert "line 1 (A-1): messages/0/content" in outcome.err


def test_a_bad_row_of_a_log_is_counted_as_an_error_and_named(cli: CommandLine) -> None:
    path = write_jsonl(cli.folder / "log.jsonl", [{"messages": TALK}, {"messages": "x"}])
    outcome = cli("--cases", path)
    assert outcome.code == 3
    assert "ROW-2: 'messages' is not a list of messages" in outcome.out
    report = cli.report()
    assert (report["summary"]["cases"], report["summary"]["errors"]) == (2, 1)
    assert report["results"][1]["checks"]["topic_pivot"] == {
        "pass": None,
        "error": "'messages' is not a list of messages",
    }
    assert report["results"][1]["source"] == {"file": "log.jsonl", "line": 2}
    assert report["summary"]["by_check"]["agency_language"]["errors"] == 1


def test_a_bad_row_of_a_log_stops_the_run_when_asked(cli: CommandLine) -> None:
    path = write_jsonl(cli.folder / "log.jsonl", [{"messages": TALK}, {"messages": "x"}, "{"])
    outcome = cli("--cases", path, "--on-bad-row", "stop")
    assert outcome.code == 1
    assert "2 problems" in outcome.err
    assert not (cli.folder / "out" / "report.json").exists()


def test_a_bad_line_of_a_case_file_stops_by_default_and_is_an_error_when_asked(cli: CommandLine) -> None:
    lines = [row(), row(id="nope", tags=5), row(id="T-3"), "{"]
    path = write_jsonl(cli.folder / "cases.jsonl", lines)
    assert cli("--cases", path).code == 1
    assert cli("--cases", path, "--on-bad-row", "error").code == 3
    results = cli.report()["results"]
    assert [result["outcome"] for result in results] == ["pass", "error", "pass", "error"]
    assert [result["id"] for result in results] == ["T-1", "nope", "T-3", "ROW-4"]


def test_the_checks_that_are_asked_for_take_the_place_of_those_that_rows_name(cli: CommandLine) -> None:
    path = write_jsonl(cli.folder / "log.jsonl", [{"messages": TALK}, {"messages": TALK, "checks": ["topic_pivot"]}])
    cli("--cases", path, "--checks", "agency_language")
    assert [list(result["checks"]) for result in cli.report()["results"]] == [["agency_language"]] * 2
    cli("--cases", path, "--checks", "all")
    assert {"agency_language", "topic_pivot", "unverifiable_reassurance"} <= {*cli.report()["results"][0]["checks"]}
    assert cli("--cases", path, "--checks", "agency").code == 1
    assert cli("--cases", path, "--checks", ",").code == 1


def test_all_checks_but_some_can_be_asked_for(cli: CommandLine) -> None:
    path = write_jsonl(cli.folder / "log.jsonl", [{"messages": TALK}])
    cli("--cases", path, "--checks", "all")
    everything = set(cli.report()["results"][0]["checks"])
    assert "flattery" in everything
    cli("--cases", path, "--checks", "all,-flattery, -topic_pivot")
    assert set(cli.report()["results"][0]["checks"]) == everything - {"flattery", "topic_pivot"}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("all,-flatery", "no check is called 'flatery'"),
        ("-flattery", "all,-flattery"),
        ("flattery,-flattery", "names no check"),
    ],
)
def test_leaving_out_what_is_not_there_is_told(cli: CommandLine, names: str, said: str) -> None:
    path = write_jsonl(cli.folder / "log.jsonl", [{"messages": TALK}])
    done = cli("--cases", path, f"--checks={names}")
    assert done.code == 1
    assert said in done.err


def test_lines_that_are_called_like_cases_and_name_no_checks_are_a_log(cli: CommandLine) -> None:
    path = write_jsonl(
        cli.folder / "cases.jsonl", [{"id": "A-1", "user": "I miss my dad.", "assistant": "You should go."}]
    )
    assert cli("--cases", path).code == 2
    assert (cli.report()["profile"], cli.report()["results"][0]["id"]) == ("traffic", "A-1")


def test_the_map_and_the_checks_may_stand_in_the_settings(cli: CommandLine) -> None:
    (cli.folder / "synthesis.toml").write_text(
        'cases = "t.csv"\nmap = "user=q,assistant=a"\nchecks = "agency_language"\non-bad-row = "stop"\n'
    )
    (cli.folder / "t.csv").write_text("q,a\nI miss my dad.,You should go.\n")
    assert cli().code == 2
    assert cli.report()["options"]["map"] == {"user": "q", "assistant": "a"}
    (cli.folder / "t.csv").write_text("q,a\nHi,\n")
    assert cli().code == 1
    (cli.folder / "synthesis.toml").write_text('on-bad-row = "ignore"\n')
    assert cli().code == 1


def test_filters_never_hide_a_row_that_could_not_be_read(cli: CommandLine) -> None:
    rows = [{"messages": TALK, "tags": ["work"]}, {"messages": TALK, "tags": ["home"]}, {"messages": []}]
    path = write_jsonl(cli.folder / "log.jsonl", rows)
    assert cli("--cases", path, "--tag", "work").code == 3
    assert [result["id"] for result in cli.report()["results"]] == ["ROW-1", "ROW-3"]


def test_words_of_a_bad_row_reach_the_terminal_without_control_characters(cli: CommandLine) -> None:
    path = write_jsonl(cli.folder / "log.jsonl", [{"messages": [{"role": "\x1b[31mred", "content": "x"}]}])
    outcome = cli("--cases", path)
    assert outcome.code == 3
    assert "\x1b" not in outcome.out
