"""Rows that name their conversation become one case for each, in every format; nothing is lost on the way."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from conversation_samples import BAD, GOOD, SAID, exchanges
from helpers import CommandLine, write_jsonl
from log_files import WRITERS

from synthesis.checks import checks
from synthesis.errors import InputError, OptionError, Problem
from synthesis.model import Case
from synthesis.read import conversations
from synthesis.read.cases import CaseValidator
from synthesis.read.inputs import Input, log_cases
from synthesis.read.mapping import parse_case_map
from synthesis.read.rows import LogOptions

MAP = "conversation=chat"
ROWS = [*exchanges("a", "pf"), *exchanges("b", "p"), *exchanges(None, "ff"), *exchanges("c", "ppf")]


def read(path: Path, given: str = MAP) -> Iterator[Case | Problem]:
    return log_cases(Input.of(path), LogOptions(CaseValidator(checks()), columns=parse_case_map(given)))


@pytest.mark.parametrize("suffix", WRITERS)
def test_neighbours_of_one_conversation_are_one_case(tmp_path: Path, suffix: str) -> None:
    found = list(read(WRITERS[suffix](tmp_path / f"log{suffix}", ROWS)))
    cases = [case for case in found if isinstance(case, Case)]
    assert found == cases
    assert [case.id for case in cases] == ["a", "b", "ROW-4", "ROW-5", "c"]
    assert [len(case.exchanges) for case in cases] == [2, 1, 1, 1, 3]
    assert cases[0].exchanges == [(SAID, GOOD), (SAID, BAD)]
    lines = [case.source.line for case in cases if case.source]
    assert lines == ([2, 4, 5, 6, 7] if suffix == ".csv" else [1, 3, 4, 5, 6])


def test_a_conversation_has_the_tags_of_its_rows_and_the_labels_that_hold_for_all(tmp_path: Path) -> None:
    rows = exchanges("a", "pfp")
    rows[0] |= {"tags": ["x"], "expected": {"agency_language": True, "topic_pivot": True}}
    rows[1] |= {"tags": ["y", "x"], "expected": {"agency_language": False}}
    (case,) = read(write_jsonl(tmp_path / "log.jsonl", rows))
    assert isinstance(case, Case)
    assert case.tags == ("x", "y")
    assert case.expected == {"agency_language": False, "topic_pivot": True}


def test_rows_may_hold_messages(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    (case,) = read(write_jsonl(tmp_path / "log.jsonl", [{"chat": 7, "messages": said}] * 2))
    assert isinstance(case, Case)
    assert (case.id, case.exchanges) == ("7", [("Hi", "Hello")] * 2)


def test_a_turn_that_cannot_be_used_makes_its_conversation_a_problem(tmp_path: Path) -> None:
    rows = [*exchanges("a", "ppp"), *exchanges("b", "p")]
    rows[1]["assistant"] = ""
    problem, other = read(write_jsonl(tmp_path / "log.jsonl", rows))
    assert isinstance(problem, Problem)
    assert (problem.line, problem.case_id) == (1, "a")
    assert problem.message == "the row at line 2 'assistant' is empty"
    assert isinstance(other, Case)


def test_a_line_that_nobody_can_read_belongs_to_the_conversation_around_it(tmp_path: Path) -> None:
    first, second = exchanges("a", "pp")
    (other,) = exchanges("b", "p")
    problem, case = read(write_jsonl(tmp_path / "inside.jsonl", [first, "{", second, other]))
    assert isinstance(problem, Problem)
    assert (problem.case_id, "line 2 is not valid JSON" in problem.message) == ("a", True)
    assert isinstance(case, Case)
    whole, problem, case = read(write_jsonl(tmp_path / "between.jsonl", [first, second, "{", other]))
    assert isinstance(whole, Case)
    assert isinstance(problem, Problem)
    assert (len(whole.exchanges), problem.line, problem.case_id) == (2, 3, "ROW-3")
    assert isinstance(case, Case)


def test_a_row_without_the_field_is_a_problem_of_its_own(tmp_path: Path) -> None:
    (row,) = exchanges("a", "p")
    del row["chat"]
    (problem,) = read(write_jsonl(tmp_path / "log.jsonl", [row]))
    assert isinstance(problem, Problem)
    assert problem.message == "has no 'chat' (--map conversation=chat names it)"


def test_a_conversation_that_comes_back_later_stops_the_run(cli: CommandLine) -> None:
    rows = [*exchanges("a", "p"), *exchanges("b", "p"), *exchanges("a", "p")]
    outcome = cli("eval", write_jsonl(cli.folder / "log.jsonl", rows), "--map", MAP)
    assert outcome.code == 1
    assert "line 3 (a): the conversation returns after rows of others: its first row is on line 1" in outcome.err
    assert "--sort" in outcome.err


def test_a_column_that_names_no_conversations_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "MOST_ROWS", 3)
    assert len(list(read(write_jsonl(tmp_path / "log.jsonl", exchanges("a", "ppp"))))) == 1
    with pytest.raises(InputError, match="'a' has more than 3 rows") as caught:
        list(read(write_jsonl(tmp_path / "log.jsonl", exchanges("a", "pppp"))))
    assert "Does --map conversation=NAME name the right column?" in str(caught.value)


def test_the_name_of_a_conversation_is_its_id() -> None:
    with pytest.raises(OptionError, match="'conversation' together with 'id'"):
        parse_case_map("conversation=chat,id=number")


def test_rows_may_all_have_the_name_of_their_conversation_as_id(tmp_path: Path) -> None:
    rows = [{"id": "CHAT-7", "user": SAID, "assistant": GOOD}] * 3
    (case,) = read(write_jsonl(tmp_path / "log.jsonl", rows), "conversation=id")
    assert isinstance(case, Case)
    assert (case.id, len(case.exchanges)) == ("CHAT-7", 3)


def test_a_column_called_conversation_means_nothing_unless_the_map_names_it(tmp_path: Path) -> None:
    rows = [{"conversation": "a", "user": SAID, "assistant": GOOD}] * 2
    log = write_jsonl(tmp_path / "log.jsonl", rows)
    assert len(list(read(log, "user=user"))) == 2
    assert len(list(read(log, "conversation=conversation"))) == 1
