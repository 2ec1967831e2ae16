"""What is kept of a run: figures and verdicts always, evidence where something failed, words only when asked for."""

from pathlib import Path

import pytest
from report_samples import result
from run_samples import (
    ANSWERED,
    QUESTION,
    SAID,
    everything_in,
    failing,
    judge_offline,
    many_results,
    stored,
    with_a_bad_line,
)

from synthesis import run_all_cases
from synthesis.errors import HistoryError, InputError
from synthesis.history import Provenance, SavedCheck
from synthesis.history.store import History
from synthesis.report.stored import StoredReport, open_report

TEXT = Provenance(with_text=True)


def test_a_run_of_the_checks_keeps_what_was_in_force_and_its_figures(history: History) -> None:
    known = Provenance("2026-03-01T10:00:00.000Z", "f00dcafe", tags=("release", "blue"))
    run = history.run(history.add_report(stored(), known))
    assert (run.kind, run.name) == ("checks", "cases/replies.jsonl")
    assert (run.started, run.revision, run.tags) == (known.started, "f00dcafe", ("blue", "release"))
    assert (run.tool_version, run.rules_hash, run.input_hash) == ("0.1.0", "0123456789abcdef", "0" * 64)
    assert run.summary == stored().summary
    assert run.conditions["profile"] == "authored"
    figures = run.figures
    assert (figures.total, figures.failures, figures.errors, figures.label_accuracy) == (5, 1, 1, 50.0)


def test_every_case_keeps_its_outcomes_and_labels(history: History) -> None:
    run_id = history.add_report(stored())
    page = history.outcomes(run_id)
    assert [(case.case_id, case.kind, case.language) for case in page.items] == [
        ("T-1", "pass", "en"),
        ("T-2", "unexpected", "en"),
        ("T-3", "expected", "en"),
        ("T-4", "not_applicable", "en"),
        ("T-5", "error", "en"),
    ]
    assert page.items[1].checks == (
        SavedCheck("agency_language", "fail", expected=True, matched=False),
        SavedCheck("topic_pivot", "fail"),
    )


def test_evidence_is_kept_where_something_failed(history: History) -> None:
    run_id = history.add_report(stored(result("T-6", findings=[("Would you", "agency.positive.would-you-like")])))
    found = history.findings(run_id, "T-2")
    assert [(f.rule, f.signal, f.where, f.start, f.end) for f in found] == [
        ("pivot.vulnerability.loss", "pivot.vulnerability", "user", 8, 15),
        ("agency.negative.you-should", "agency.negative", "assistant", 0, 10),
    ]
    assert history.findings(run_id, "T-6") == ()


def test_no_word_of_anybody_is_stored_unless_asked_for(history: History, place: str) -> None:
    run_id = history.add_report(stored())
    assert not history.run(run_id).with_text
    assert "Ravenna" not in everything_in(place)
    assert "Ludmila" not in everything_in(place).title()
    assert history.findings(run_id, "T-2")[0].text == "[7 characters]"


def test_with_texts_the_very_words_are_there(history: History) -> None:
    run_id = history.add_report(stored(), TEXT)
    case = history.case(run_id, "T-2")
    assert (case.record["user"], case.record["assistant"]) == (SAID, ANSWERED)
    assert [finding.text for finding in history.findings(run_id, "T-2")] == ["left me", "You should"]


def test_a_report_without_texts_is_not_said_to_have_them(history: History) -> None:
    shared = StoredReport(stored().header | {"redacted": True}, stored().summary, stored().results)
    assert not history.run(history.add_report(shared, TEXT)).with_text


@pytest.mark.parametrize("strange", ["nul \0 in it", "📎 emoji", "quote ' and \" and \\ and %", "\x1b[31mred", "עברית"])
def test_any_text_comes_back_as_it_was(history: History, strange: str) -> None:
    run_id = history.add_report(stored(result("T-9", strange, strange)), TEXT)
    assert history.case(run_id, "T-9").record["user"] == strange


def test_a_report_in_memory_can_be_saved(history: History) -> None:
    row = {"id": "A-1", "user": "I feel lost.", "assistant": "You should rest.", "checks": ["agency_language"]}
    run = history.run(history.add_report(run_all_cases([row])))
    assert (run.name, run.figures.failures, run.input_hash) == ("cases from a program", 1, None)


def test_a_run_of_many_batches_is_whole(history: History) -> None:
    run_id = history.add_report(many_results(1203))
    assert history.outcomes(run_id).total == 1203
    assert history.outcomes(run_id, kind="unexpected").total == 120
    assert [result.id for result in history.report(run_id).results()] == [f"T-{n}" for n in range(1, 1204)]


def test_a_report_that_breaks_midway_leaves_nothing(history: History, place: str, tmp_path: Path) -> None:
    path = with_a_bad_line(many_results(1203), tmp_path / "report.json", number=1100)
    with pytest.raises(InputError, match="is not a report of ours"):
        history.add_report(open_report(path))
    assert history.runs() == []
    assert everything_in(place).strip() == ""


def test_a_judged_run_keeps_scores_and_no_words(history: History, place: str, tmp_path: Path) -> None:
    run = history.run(history.add_judged(judge_offline(tmp_path, iterations=2)))
    assert (run.kind, run.name, run.figures.total) == ("judge", "ferries", 6)
    assert run.conditions["judge"]["provider"] == "offline"
    samples = history.samples(run.id).items
    assert [(s.iteration, s.query_log_id) for s in samples] == [(i, f"log-{n}") for i in (1, 2) for n in range(3)]
    assert all(1 <= (sample.faithfulness or 0) <= 5 for sample in samples)
    assert "Split" not in everything_in(place)
    assert "split" not in everything_in(place)


def test_a_judged_run_with_texts_keeps_question_answer_and_reasons(history: History, tmp_path: Path) -> None:
    run_id = history.add_judged(judge_offline(tmp_path), TEXT)
    record = history.samples(run_id).items[0].record
    assert record["question"] == QUESTION
    assert record["judgeVerdict"]["faithfulness"]["reasoning"]


def test_a_judged_run_that_went_on_takes_its_own_place_and_keeps_its_tags(history: History, tmp_path: Path) -> None:
    folder = judge_offline(tmp_path, answers=2)
    first = history.add_judged(folder, Provenance(revision="aaaa", tags=("kept",)))
    judge_offline(tmp_path, answers=5)
    again = history.add_judged(folder, Provenance(revision="bbbb"))
    run = history.run(first)
    assert again == first
    assert len(history.runs()) == 1
    assert (history.samples(first).total, run.tags, run.revision) == (5, ("kept",), "aaaa")


def test_a_folder_without_verdicts_is_refused(history: History, tmp_path: Path) -> None:
    folder = judge_offline(tmp_path)
    lines = (folder / "journal.jsonl").read_text().splitlines(keepends=True)
    (folder / "journal.jsonl").write_text("".join(lines[:2]))
    with pytest.raises(HistoryError, match="no verdict yet"):
        history.add_judged(folder)


def test_a_case_that_is_not_there_is_said_so(history: History) -> None:
    run_id = history.add_report(stored(failing("T-7")))
    with pytest.raises(HistoryError, match="has no case 'T-99'"):
        history.case(run_id, "T-99")
