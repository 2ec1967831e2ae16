"""Strips of turns and the drift of a run on the page: readable without colour, by ear, and by nobody as markup."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from report_samples import BROKEN, FAILED, GLOSSARY, NOT_APPLICABLE, PASSED, Record, report, result

from synthesis.model import CaseResult
from synthesis.report import markdown
from synthesis.report.drift import DriftCounts
from synthesis.report.html import render
from synthesis.report.html.charts import MOST_TURNS, drift_per_check, strips, turn_by_turn
from synthesis.report.stored import from_dict, redacted

TURNS = {"p": PASSED, "f": FAILED, "-": NOT_APPLICABLE, "!": BROKEN}


def talk(pattern: str, name: str = "agency_language", **checks: str) -> Record:
    """A conversation with one check, or several, by turn."""
    one = result("TALK-1", checks={name: _check(pattern), **{other: _check(said) for other, said in checks.items()}})
    del one["user"], one["assistant"]
    said = [("user", "I lost my job."), ("assistant", "Well.")] * len(pattern)
    return one | {"messages": [{"role": role, "content": content} for role, content in said]}


def _check(pattern: str) -> Record:
    worst = next(letter for letter in "!fp-" if letter in pattern)
    return {**TURNS[worst], "turns": [TURNS[letter] for letter in pattern]}


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def of(self, kind: str) -> list[dict[str, str | None]]:
        return [fields for tag, fields in self.found if tag == kind]


def with_drift(*patterns: str) -> dict[str, Any]:
    counts = DriftCounts()
    for pattern in patterns:
        counts.add(CaseResult.from_dict(talk(pattern)).timelines)
    return {"drift": counts.to_dict()}


def test_every_turn_has_a_sign_a_number_a_name_and_leads_to_its_reply() -> None:
    text = "".join(render(from_dict(report(talk("pf-!"))), GLOSSARY))
    cells = [fields for fields in Elements(text).of("a") if fields.get("class") == "cell"]
    assert [cell["aria-label"] for cell in cells] == [
        *("turn 1: passed", "turn 2: failed"),
        *("turn 3: not applicable", "turn 4: ended in error"),
    ]
    assert re.findall(r'turn-sign" aria-hidden="true">(.)<', text) == ["✓", "✗", "–", "!"]
    assert re.findall(r'turn-number" aria-hidden="true">(\d)<', text) == ["1", "2", "3", "4"]
    places = {fields["id"] for fields in Elements(text).of("div") if "id" in fields}
    assert [str(cell["href"]).removeprefix("#") in places for cell in cells] == [True] * 4
    assert "fails first in turn 2 of 4" in text


def test_without_texts_there_is_nothing_to_lead_to() -> None:
    bare = talk("pf")
    del bare["messages"]
    drawn = turn_by_turn(CaseResult.from_dict(bare), "")
    assert Elements(drawn).of("a") == []
    assert [cell["aria-label"] for cell in Elements(drawn).of("span") if cell.get("role") == "img"] == [
        *("turn 1: passed", "turn 2: failed"),
    ]


def test_checks_without_a_failure_are_named_and_those_that_never_applied_are_not_shown_as_good() -> None:
    drawn = turn_by_turn(CaseResult.from_dict(talk("pf", b="p-", c="--")), "#t")
    assert drawn.count('class="strip"') == 1
    assert "Passed wherever it applied: <code>b</code>" in drawn
    assert "Applied to no turn: <code>c</code>" in drawn
    assert strips(CaseResult.from_dict(talk("pp")), "#t") == ""
    assert turn_by_turn(CaseResult.from_dict(result("A-1")), "#t") == ""


def test_a_very_long_conversation_is_cut_and_says_so() -> None:
    drawn = strips(CaseResult.from_dict(talk("f" * (MOST_TURNS + 2))), "#t")
    assert drawn.count("<li") == MOST_TURNS
    assert "… and 2 more turns" in drawn


@pytest.mark.parametrize("name", ['"><script>x</script>', "a\u202eb", "' onfocus='x"])
def test_the_name_of_a_check_can_never_become_markup(name: str) -> None:
    drawn = turn_by_turn(CaseResult.from_dict(talk("pf", name)), "#t") + drift_per_check(
        {"drift": {"conversations": 1, "by_check": {name: {"usable": 0}}}}
    )
    assert "<script" not in drawn
    (strip,) = Elements(drawn).of("ol")
    assert set(strip) == {"class", "aria-label"}
    assert "\u202e" not in drawn


def test_the_drift_of_a_run_is_written_out_beside_its_bar() -> None:
    drawn = drift_per_check(with_drift(*["ppppffff"] * 20, "ffffpppp", "pppppppp", "pf"))
    assert '<span class="badge unexpected">worse</span>' in drawn
    for words in ("23 conversations", "20 got worse", "1 stayed", "1 got better", "1 too short", "+86.4 points"):
        assert words in drawn
    assert drift_per_check({}) == ""


def test_conversations_that_are_too_short_are_told_once() -> None:
    drift = with_drift("pf")
    drift["drift"]["by_check"] |= {f"check_{number}": {"usable": 0} for number in range(8)}
    drawn = drift_per_check(drift)
    assert "1 conversation of several turns, none with 4 assessed turns in each half" in drawn
    assert drawn.count("<p") == 1
    assert "check_3" not in drawn
    mixed = with_drift(*["ppppffff"] * 20)
    mixed["drift"]["by_check"] |= {"b": {"usable": 0}, "c": {"usable": 0}}
    assert "Every conversation is too short for: <code>b</code>, <code>c</code>" in drift_per_check(mixed)


def test_a_redacted_report_keeps_its_timelines() -> None:
    hidden = redacted(from_dict(report(talk("pffp!"))))
    (found,) = hidden.results()
    assert found.timelines["agency_language"].outcomes == ("pass", "fail", "fail", "pass", "error")


def test_a_pull_request_comment_has_a_line_for_each_check_that_can_tell() -> None:
    stored = report(talk("pppp"))
    stored["summary"] |= with_drift(*["ppppffff"] * 20)
    text = "".join(markdown.render(from_dict(stored), GLOSSARY))
    assert "| `agency_language` | 0.0 % | 100.0 % | +100.0 (+66.3 to +100.0) | 20, 0, 0 | worse |" in text
    stored["summary"] |= with_drift("pf")
    assert "over the conversation" not in "".join(markdown.render(from_dict(stored), GLOSSARY))
