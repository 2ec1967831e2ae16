"""Comparing two reports: what fails now, what passes now, what rests on other evidence, and whether it matters."""

import msgspec
import pytest
from report_samples import BROKEN, FAILED, NOT_APPLICABLE, PASSED, Record, agency, report, result

from synthesis.errors import InputError
from synthesis.report.compare import Comparison, compare_reports, headline, word_changes
from synthesis.report.stored import from_dict

GOOD, BAD = {"agency_language": PASSED}, {"agency_language": FAILED}


def compared(before: list[Record], after: list[Record]) -> Comparison:
    return compare_reports(from_dict(report(*before)), from_dict(report(*after)))


def test_a_report_does_not_differ_from_itself() -> None:
    same = [result("A-1"), result("A-2", checks=BAD)]
    found = compared(same, same)
    empty = {"conditions", "newly_failing", "newly_passing", "other_changes", "changed_evidence", "only_after"}
    assert not any(msgspec.to_builtins(found)[name] for name in empty)
    assert found.in_both == 2
    assert found.pass_rate is not None
    assert found.pass_rate.verdict == "no difference shown"
    assert found.pass_rate.p_value == 1


def test_newly_failing_and_newly_passing_by_check() -> None:
    both_bad = {"agency_language": FAILED, "topic_pivot": FAILED}
    found = compared(
        [result("A-1", checks=GOOD), result("A-2", checks=BAD), result("A-3", checks={**BAD, "topic_pivot": PASSED})],
        [result("A-1", checks=BAD), result("A-2", checks=GOOD), result("A-3", checks=both_bad)],
    )
    assert [(change.id, change.checks) for change in found.newly_failing] == [
        ("A-1", ["agency_language"]),
        ("A-3", ["topic_pivot"]),
    ]
    assert [(change.id, change.checks) for change in found.newly_passing] == [("A-2", ["agency_language"])]
    assert found.newly_failing[0].same_texts is True


def test_changed_texts_are_told_from_changed_rules() -> None:
    (change,) = compared([result("A-1")], [result("A-1", assistant="Do it.", checks=BAD)]).newly_failing
    assert change.same_texts is False


def test_without_texts_nothing_is_claimed_about_them() -> None:
    bare = result("A-1", checks=BAD)
    del bare["user"], bare["assistant"]
    (change,) = compared([result("A-1")], [bare]).newly_failing
    assert change.same_texts is None


def test_a_new_case_that_fails_is_a_new_failure() -> None:
    found = compared([], [result("A-1", checks=BAD), result("A-2")])
    assert [change.id for change in found.newly_failing] == ["A-1"]
    assert found.only_after == ["A-1", "A-2"]


def test_a_failure_that_was_expected_and_no_longer_is_counts_as_new() -> None:
    found = compared([result("A-1", checks=BAD, tags=["agency-fail"])], [result("A-1", checks=BAD)])
    assert [change.id for change in found.newly_failing] == ["A-1"]


def test_negative_examples_never_count_as_failing_but_are_missed_when_they_pass() -> None:
    tagged = {"tags": ["agency-fail"]}
    found = compared([result("A-1", checks=BAD, **tagged)], [result("A-1", checks=GOOD, **tagged)])
    assert found.no_longer_caught == ["A-1"]
    assert found.newly_passing == []
    assert found.pass_rate is None


@pytest.mark.parametrize(("checks", "kind"), [({"x": BROKEN}, "error"), ({"x": NOT_APPLICABLE}, "not_applicable")])
def test_a_lost_verdict_is_neither_a_pass_nor_a_failure(checks: dict[str, Record], kind: str) -> None:
    found = compared([result("A-1", checks=BAD)], [result("A-1", checks=checks)])
    assert found.newly_passing == []
    assert [(change.before, change.after) for change in found.other_changes] == [("unexpected", kind)]
    assert found.pass_rate is None


def test_the_same_verdict_on_other_evidence() -> None:
    found = compared(
        [result("A-1", checks={"agency_language": agency(True, 1)})],
        [result("A-1", checks={"agency_language": agency(True, 2)})],
    )
    assert found.changed_evidence == ["A-1"]
    assert found.newly_failing == found.newly_passing == []


def test_changed_conditions_are_named() -> None:
    other = report(result("A-1")) | {"rules": {"hash": "f" * 16, "languages": ["en"], "count": 1}, "profile": "traffic"}
    found = compare_reports(from_dict(report(result("A-1"))), from_dict(other))
    assert found.conditions == {"rules": ("0123456789abcdef", "f" * 16), "profile": ("authored", "traffic")}


def test_cases_only_in_one_report() -> None:
    found = compared([result("A-1"), result("A-2")], [result("A-2"), result("A-3")])
    assert (found.only_before, found.only_after, found.in_both) == (["A-1"], ["A-3"], 1)


def test_an_id_that_stands_in_two_files_is_paired_in_order() -> None:
    found = compared([result("A-1"), result("A-1")], [result("A-1"), result("A-1", checks=BAD)])
    assert [change.id for change in found.newly_failing] == ["A-1 #2"]


def runs(lost: int, won: int, kept: int) -> Comparison:
    before = [GOOD] * lost + [BAD] * won + [GOOD] * kept
    after = [BAD] * lost + [GOOD] * won + [GOOD] * kept
    return compared(
        [result(f"A-{number}", checks=checks) for number, checks in enumerate(before, start=1)],
        [result(f"A-{number}", checks=checks) for number, checks in enumerate(after, start=1)],
    )


@pytest.mark.parametrize(
    ("lost", "won", "verdict"),
    [(0, 5, "no difference shown"), (1, 12, "better"), (12, 1, "worse"), (8, 10, "no difference shown")],
)
def test_better_is_said_only_when_it_is(lost: int, won: int, verdict: str) -> None:
    rate = runs(lost, won, 40).pass_rate
    assert rate is not None
    assert rate.verdict == verdict
    assert (rate.newly_failing, rate.newly_passing) == (lost, won)


def test_a_report_with_failed_cases_only_cannot_be_compared() -> None:
    partial = from_dict(report(result("A-1", checks=BAD), options={"failures_only": True}))
    with pytest.raises(InputError, match="needs all results"):
        compare_reports(from_dict(report(result("A-1"))), partial)


# Rows without ids, how bad a change is, and what a person reads first.


CRISIS: Record = {"pass": False, "severity": "critical"}


def said(place: int, user: str, reply: str, checks: dict[str, Record]) -> Record:
    return result(f"ROW-{place}", checks=checks) | {"user": user, "assistant": reply}


def compared_rows(before: list[Record], after: list[Record]) -> Comparison:
    old, new = report(*before), report(*after)
    new["input"] = {**new["input"], "sha256": "f" * 64}
    return compare_reports(from_dict(old), from_dict(new))


def log(*failing: str, first: str = "") -> list[Record]:
    """Twelve rows; those whose user is named fail, and `first` is a row before them."""
    users = [*([first] if first else []), *(f"user {number}" for number in range(12))]
    return [said(n, user, "ok", BAD if user in failing else GOOD) for n, user in enumerate(users, start=1)]


def test_a_row_inserted_into_a_log_without_ids_is_one_new_row() -> None:
    found = compared_rows(log("user 2", "user 7"), log("user 2", "user 7", first="a new one"))
    assert (found.newly_failing, found.newly_passing, found.changed_evidence) == ([], [], [])
    assert (found.in_both, found.only_after, found.only_before) == (12, ["ROW-1"], [])
    assert found.pairing == "paired by what the person wrote, since the rows have no ids"


def test_what_two_people_wrote_alike_is_paired_in_order() -> None:
    twice = [said(1, "hello", "a", GOOD), said(2, "hello", "b", BAD)]
    again = [said(1, "hello", "a", GOOD), said(2, "hello", "b", GOOD)]
    assert [change.id for change in compared_rows(twice, again).newly_passing] == ["ROW-2"]


def test_a_row_that_moved_says_where_it_was() -> None:
    found = compared_rows(log(), log("user 3", first="a new one"))
    assert [(change.id, change.was) for change in found.newly_failing] == [("ROW-5", "ROW-4")]


def test_a_row_that_is_gone_is_not_taken_for_the_one_in_its_place() -> None:
    found = compared_rows([said(1, "gone", "a", BAD)], [said(1, "new", "a", BAD)])
    assert (found.only_before, found.only_after) == (["ROW-1 (before)"], ["ROW-1"])
    assert [change.id for change in found.newly_failing] == ["ROW-1"]


def test_rows_of_the_same_file_are_paired_by_their_place() -> None:
    rows = [result("ROW-1", checks=GOOD), result("ROW-2", checks=BAD)]
    texts = ("user", "assistant", "messages")
    bare = [{key: value for key, value in row.items() if key not in texts} for row in rows]
    found = compare_reports(from_dict(report(*bare)), from_dict(report(*bare)))
    assert found.pairing == "paired by row, since both read the same file"
    with pytest.raises(InputError, match="nothing says which row is which"):
        compared_rows(bare, bare)


def test_the_worst_new_failure_is_told_first() -> None:
    before = log("user 8", "user 9")
    after = [*log("user 1")[:5], said(6, "user 5", "a joke", {"crisis_response": CRISIS}), *log()[6:]]
    before[5] = said(6, "user 5", "call 988", {"crisis_response": PASSED})
    found = compared_rows(before, after)
    assert [(change.id, change.severity) for change in found.newly_failing] == [
        ("ROW-6", "critical"),
        ("ROW-2", "minor"),
    ]
    assert headline(found) == "1 new critical failure: row 6; 2 fixed; 1 new minor failure: row 2"
    assert [(one.check, one.fixed) for one in found.by_check] == [("crisis_response", 0), ("agency_language", 2)]


def test_a_failure_that_got_worse_is_new() -> None:
    minor = said(1, "hello", "a", {"crisis_response": {"pass": False, "severity": "minor"}})
    critical = said(1, "hello", "a", {"crisis_response": CRISIS})
    assert headline(compared_rows([minor], [critical])) == "1 new critical failure: row 1"
    assert compared_rows([critical], [minor]).newly_failing == []


def test_nothing_new_is_said_as_such() -> None:
    assert headline(compared_rows(log(), log())) == "No new failure and nothing fixed in 12 cases"


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        (
            "You must go now.",
            "You may go now.",
            [("kept", "You "), ("gone", "must "), ("added", "may "), ("kept", "go now.")],
        ),
        ("大丈夫です", "大変です", [("kept", "大"), ("gone", "丈夫"), ("added", "変"), ("kept", "です")]),
        ("same", "same", [("kept", "same")]),
        ("I'd go.", "Let's go.", [("gone", "I'd "), ("added", "Let's "), ("kept", "go.")]),
        ("", "new", [("added", "new")]),
    ],
)
def test_a_reply_word_by_word(before: str, after: str, pieces: list[tuple[str, str]]) -> None:
    assert word_changes(before, after) == pieces


def test_replies_of_thousands_of_words_are_not_searched_for_what_moved() -> None:
    before, after = "a b " * 5_000, "b a " * 5_000
    assert [piece.kind for piece in word_changes(before, after)] == ["gone", "added"]


def test_a_better_rate_does_not_outweigh_a_new_critical_failure() -> None:
    users = [f"user {number}" for number in range(12)]
    before = [*log(*users), said(13, "in danger", "call 988", {"crisis_response": PASSED})]
    after = [*log(), said(13, "in danger", "a joke", {"crisis_response": CRISIS})]
    found = compared_rows(before, after)
    assert found.pass_rate is not None
    assert (found.pass_rate.verdict, found.rate_verdict) == ("better", "better, but with a new critical failure")
