"""GitHub workflow commands: one line each, escaped so that the runner reads back exactly what was meant."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import BROKEN, FAILED, GLOSSARY, Record, realistic, report, result
from snapshots import assert_unchanged

from synthesis.report.github import render
from synthesis.report.stored import from_dict


class Command(NamedTuple):
    name: str
    properties: dict[str, str]
    message: str


def drawn(content: Record) -> str:
    return "".join(render(from_dict(content), GLOSSARY))


def parse(line: str) -> Command:
    """As the runner does: name and properties up to the second `::`, then the data; both unescaped."""
    assert line.startswith("::")
    head, _, data = line[2:].partition("::")
    name, _, settings = head.partition(" ")
    pairs = dict(pair.split("=", 1) for pair in settings.split(","))
    return Command(name, {key: unescaped(value, True) for key, value in pairs.items()}, unescaped(data, False))


def unescaped(text: str, is_property: bool) -> str:
    for code, char in [("%0D", "\r"), ("%0A", "\n"), *([("%3A", ":"), ("%2C", ",")] if is_property else [])]:
        text = text.replace(code, char)
    return text.replace("%25", "%")


def test_it_looks_as_it_was_read() -> None:
    assert_unchanged("report.github.txt", drawn(realistic()))


def test_failures_come_first_by_severity_and_negative_examples_that_slip_are_warnings() -> None:
    commands = [parse(line) for line in drawn(realistic()).splitlines()]
    titles = [command.properties["title"].split(":")[1].strip() for command in commands[:-1]]
    assert titles == ["serious"] * 2 + ["minor"] * 3 + ["no verdict", "not caught"]
    assert [command.name for command in commands] == ["error"] * 2 + ["warning"] * 3 + ["error"] + ["warning"] * 2
    assert commands[0].properties == {
        "file": "cases/replies.jsonl",
        "line": "3",  # surer than line 1: two signs
        "title": "APP-3: serious: topic_pivot",
    }
    assert commands[1].properties["title"] == "APP-1: serious: topic_pivot, agency_language"
    assert "“You should just try” (agency.negative.you-should) Tells the user" in commands[1].message


def test_the_worst_is_among_the_ten_that_are_shown() -> None:
    few = [result(f"A-{number}", checks={"agency_language": FAILED}) for number in range(1, 30)]
    worst = result("A-30", checks={"agency_language": FAILED | {"severity": "critical"}})
    first, second, *others = map(parse, drawn(report(*few, worst)).splitlines())
    assert len(others) == 9
    assert (others[-1].name, others[-1].message) == ("notice", "20 more are in the report.")
    assert (first.name, first.properties["title"]) == ("error", "A-30: critical: agency_language")
    assert (second.name, second.properties["title"]) == ("warning", "A-1: minor: agency_language")


def test_expected_failures_are_not_annotated() -> None:
    assert drawn(report(result("A-1", checks={"agency_language": FAILED}, tags=["agency-fail"]))) == ""


@pytest.mark.parametrize("words", ["a\n::error::b", "100%0A", "a\r\nb", "\x1b]0;x\x07", "::set-output name=a::b"])
def test_words_cannot_start_a_command_of_their_own(words: str) -> None:
    assert len(drawn(report(saying(words))).splitlines()) == 1


def test_an_error_of_several_lines_is_one_command() -> None:
    broken = result("A-1", checks={"topic_pivot": BROKEN | {"error": "no verdict\n::error::x"}})
    assert len(drawn(report(broken)).splitlines()) == 1


def saying(words: str) -> Record:
    findings = [(words, "agency.negative.you-should")]
    return result("A-1", "Hi", words, findings=findings, checks={"agency_language": FAILED})


@given(st.text(min_size=1), st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1))
def test_any_words_and_any_file_name_are_read_back(words: str, file: str) -> None:
    one = saying(words) | {"source": {"file": file, "line": 7}}
    (line,) = drawn(report(one)).split("\n")[:-1]
    command = parse(line)
    assert command.properties["file"] == file
    assert command.message.endswith("Better: Offer it as one possibility and ask what fits.")
    if words.isascii() and words.isprintable():
        assert command.message.startswith(f"“{words}” (agency.negative.you-should)")
