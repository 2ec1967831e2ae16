"""The figures of the summary: defined as the contract says, and they add up."""

from hypothesis import given
from hypothesis import strategies as st

from synthesis.model import CaseResult, CheckResult, LabelComparison, case_outcome
from synthesis.model.report import percent
from synthesis.run.tally import Tally


def result(outcomes: dict[str, str], *, negative: bool = False, labels: dict[str, bool] | None = None) -> CaseResult:
    checks = {
        name: CheckResult(
            name,
            passed=outcome in {"pass", "not_applicable"},
            applicable=outcome != "not_applicable",
            error="broken" if outcome == "error" else None,
        )
        for name, outcome in outcomes.items()
    }
    compared = {n: LabelComparison(e, checks[n].passed, e == checks[n].passed) for n, e in (labels or {}).items()}
    return CaseResult("T-1", case_outcome(checks), negative, checks, label_comparison=compared)


def summary(*results: CaseResult) -> dict[str, object]:
    tally = Tally()
    for one in results:
        tally.add(one)
    return tally.to_dict()


def test_each_figure_counts_what_it_says() -> None:
    figures = summary(
        result({"a": "pass", "b": "not_applicable"}),
        result({"a": "fail"}),
        result({"a": "fail"}, negative=True),
        result({"a": "pass"}, negative=True),
        result({"a": "not_applicable"}),
        result({"a": "error", "b": "fail"}),
    )
    assert figures == {
        "cases": 6,
        "passed": 3,
        "failed": 2,
        "errors": 1,
        "not_applicable": 1,
        "strict_passed": 2,
        "strict_failed": 1,
        "expected_failures": 1,
        "unexpected_failures": 1,
        "by_severity": {"critical": 0, "serious": 0, "minor": 1},
        "by_check": {
            "a": {"passed": 2, "failed": 2, "not_applicable": 1, "errors": 1},
            "b": {"passed": 0, "failed": 1, "not_applicable": 1},
        },
    }


def test_label_accuracy_in_total_and_by_check() -> None:
    figures = summary(
        result({"a": "pass", "b": "fail"}, labels={"a": True, "b": True}),
        result({"a": "pass"}, labels={"a": True}),
    )
    assert figures["label_accuracy"] == {"total": 3, "matched": 2, "accuracy": 66.7}
    assert figures["label_accuracy_by_check"] == {
        "a": {"total": 2, "matched": 2, "accuracy": 100},
        "b": {"total": 1, "matched": 0, "accuracy": 0},
    }


def test_without_labels_there_is_no_accuracy() -> None:
    assert "label_accuracy" not in summary(result({"a": "pass"}))


def test_percentages_have_one_decimal_and_none_where_they_are_whole() -> None:
    assert [percent(16, 26), percent(51, 51), percent(1, 3), percent(0, 0)] == [61.5, 100, 33.3, 0]


outcomes = st.sampled_from(["pass", "fail", "not_applicable", "error"])
results = st.builds(
    lambda outcomes, negative: result(outcomes, negative=negative),
    st.dictionaries(st.sampled_from("abc"), outcomes, min_size=1),
    st.booleans(),
)


@given(st.lists(results), st.integers(0, 10))
def test_counts_always_sum_up_and_tallies_of_parts_add_up(some: list[CaseResult], cut: int) -> None:
    figures = summary(*some)
    assert figures["passed"] + figures["failed"] + figures["errors"] == figures["cases"] == len(some)  # type: ignore[operator]
    assert figures["expected_failures"] + figures["unexpected_failures"] == figures["failed"]  # type: ignore[operator]
    assert sum(figures["by_severity"].values()) == figures["unexpected_failures"]  # type: ignore[attr-defined]
    left, right = Tally(), Tally()
    for one in some[:cut]:
        left.add(one)
    for one in some[cut:]:
        right.add(one)
    left.merge(right)
    assert left.to_dict() == figures
