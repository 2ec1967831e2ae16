"""Runs are listed, found by a short id, filtered, paged, tagged, deleted, and seen over time."""

from datetime import timedelta
from pathlib import Path

import pytest
from report_samples import result
from run_samples import failing, judge_offline, sample_report, stored
from sqlalchemy import text

from synthesis.errors import HistoryError, InputError, OptionError
from synthesis.history import Provenance
from synthesis.history.store import History
from synthesis.report.compare import compare_reports
from synthesis.report.stored import from_dict


def save(history: History, day: int, *more: dict[str, object], tags: tuple[str, ...] = ()) -> str:
    return history.add_report(stored(*more), Provenance(f"2026-03-{day:02}T10:00:00.000Z", tags=tags))


def test_the_newest_run_is_listed_first_whenever_it_was_saved(history: History) -> None:
    second, third, first = save(history, 2), save(history, 3), save(history, 1)
    assert [run.id for run in history.runs()] == [third, second, first]
    assert history.run("latest").id == third


def test_pages_of_runs_follow_each_other_also_within_the_same_moment(history: History) -> None:
    saved = {save(history, 1) for _ in range(5)}
    seen: list[str] = []
    while page := history.runs(limit=2, before=seen[-1] if seen else None):
        seen += [run.id for run in page]
    assert len(seen) == 5
    assert set(seen) == saved


def test_runs_are_found_by_kind_tag_and_name(history: History, tmp_path: Path) -> None:
    tagged = save(history, 1, tags=("release",))
    save(history, 2)
    judged = history.add_judged(judge_offline(tmp_path))
    assert [run.id for run in history.runs(kind="judge")] == [judged]
    assert [run.id for run in history.runs(tag="release")] == [tagged]
    assert [run.id for run in history.runs(name="ferries")] == [judged]


def test_the_beginning_of_an_id_is_enough_if_it_is_the_only_one(history: History) -> None:
    ids = [save(history, 1) for _ in range(17)]  # two of which begin alike
    for run_id in ids:
        assert history.run(run_id).id == run_id
    with pytest.raises(HistoryError, match="several runs begin with"):
        next(history.run(run_id[:1]) for run_id in ids if sum(other[0] == run_id[0] for other in ids) > 1)


@pytest.mark.parametrize("name", ["", "zzz", "%", "_", "' OR 1=1", "\0", "0" * 13])
def test_an_id_that_fits_no_run_is_refused(history: History, name: str) -> None:
    save(history, 1)
    with pytest.raises(HistoryError, match="there is no run"):
        history.run(name)


def test_cases_are_found_by_check_outcome_kind_rule_and_words(history: History) -> None:
    run_id = history.add_report(stored(result("T-6", "Ça va, ÉLODIE?", "100% sure_thing")), Provenance(with_text=True))

    def found(**wanted: object) -> list[str]:
        return [case.case_id for case in history.outcomes(run_id, **wanted).items]  # type: ignore[arg-type]

    assert found(outcome="fail") == ["T-2", "T-3"]
    assert found(check="topic_pivot", outcome="not_applicable") == ["T-4"]
    assert found(check="topic_pivot") == ["T-2", "T-3", "T-4", "T-5"]
    assert found(kind="unexpected") == ["T-2"]
    assert found(kind=("expected", "error")) == ["T-3", "T-5"]
    assert found(rule="agency.negative.you-should") == ["T-2", "T-3"]
    assert found(search="élodie") == ["T-6"]
    assert found(search="RAVENNA", kind="expected") == ["T-3"]
    assert found(search="100%") == ["T-6"]
    assert found(search="100_") == []
    assert found(search="t-4") == ["T-4"]


def test_pages_of_cases_know_how_many_there_are(history: History) -> None:
    run_id = save(history, 1)
    page = history.outcomes(run_id, page=2, per_page=2)
    assert [case.case_id for case in page.items] == ["T-3", "T-4"]
    assert (page.total, page.pages) == (5, 3)
    assert history.outcomes(run_id, page=9).items == ()
    for wrong in ({"page": 0}, {"per_page": 0}, {"per_page": 1001}):
        with pytest.raises(OptionError, match="there is no page"):
            history.outcomes(run_id, **wrong)


def test_samples_are_found_by_iteration_outcome_and_words(history: History, tmp_path: Path) -> None:
    run_id = history.add_judged(judge_offline(tmp_path, iterations=2), Provenance(with_text=True))
    assert history.samples(run_id, iteration=2).total == 3
    passed, failed = history.samples(run_id, outcome="pass").total, history.samples(run_id, outcome="fail").total
    assert passed + failed == 6
    assert history.samples(run_id, outcome=("pass", "fail", "error")).total == 6
    assert history.samples(run_id, outcome="error").total == 0
    assert history.samples(run_id, search="leaves AT 2").total == 2


def test_the_trend_runs_from_the_oldest_to_the_newest(history: History) -> None:
    save(history, 2, failing("T-8"))
    save(history, 1)
    save(history, 3, failing("T-8"), failing("T-9"))
    points = history.trend()
    assert [point.figures.failures for point in points] == [1, 2, 3]
    assert [point.figures.label_accuracy for point in points] == [50.0] * 3
    assert [point.started[8:10] for point in history.trend(limit=2)] == ["02", "03"]
    assert history.trend("judge") == []


def test_tags_are_added_once_and_removed(history: History) -> None:
    run_id = save(history, 1, tags=("a",))
    assert history.tag(run_id[:11], add=["b", "a", "b"]).tags == ("a", "b")
    assert history.tag(run_id, add=["c"], remove=["a", "never there"]).tags == ("b", "c")


@pytest.mark.parametrize("tag", ["", " ", "a\nb", "\0", "x" * 101, "\x1b[31m"])
def test_what_is_no_tag_is_refused(history: History, tag: str) -> None:
    with pytest.raises(OptionError, match="is not a valid tag"):
        history.tag(save(history, 1), add=[tag])


def test_a_deleted_run_leaves_nothing_behind(history: History, tmp_path: Path) -> None:
    kept = save(history, 1)
    gone = save(history, 2, tags=("a",)), history.add_judged(judge_offline(tmp_path))
    assert history.delete(*gone) == 2
    assert [run.id for run in history.runs()] == [kept]
    with history._database.reading() as connection:
        for table in ("cases", "outcomes", "findings", "samples", "tags"):
            owners = connection.execute(text(f"SELECT DISTINCT run_id FROM synthesis_{table}")).scalars()
            assert set(owners) <= {kept}


def test_old_runs_are_told_from_new_ones(history: History) -> None:
    old = save(history, 1)
    new = history.add_report(stored())
    assert [run.id for run in history.older_than(timedelta(days=1))] == [old]
    assert {run.id for run in history.older_than(timedelta(hours=-1))} == {old, new}


def test_saved_runs_are_compared_like_reports(history: History) -> None:
    before = history.add_report(from_dict(sample_report(result("T-6"))))
    after = history.add_report(from_dict(sample_report(failing("T-6"))))
    comparison = compare_reports(history.report(before), history.report(after))
    assert [change.id for change in comparison.newly_failing] == ["T-6"]


def test_a_judged_run_has_no_report(history: History, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a judged run"):
        history.report(history.add_judged(judge_offline(tmp_path)))
