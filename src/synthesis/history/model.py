"""What a history hands out. Frozen, no I/O."""

from typing import Any, Generic, TypeVar

import msgspec

from synthesis.model import CaseResult

CHECKS, JUDGE = "checks", "judge"
KINDS = (CHECKS, JUDGE)
Item = TypeVar("Item")


class Run(msgspec.Struct, frozen=True):
    """One saved run of either half: what was in force, and the figures; `started` is UTC, ISO 8601."""

    id: str
    kind: str
    name: str
    started: str
    tool_version: str
    rules_hash: str | None
    input_hash: str | None
    revision: str | None
    with_text: bool
    tags: tuple[str, ...]
    conditions: dict[str, Any]
    summary: dict[str, Any]

    @property
    def figures(self) -> "Figures":
        return checked_figures(self.summary) if self.kind == CHECKS else judged_figures(self.summary)


class Figures(msgspec.Struct, frozen=True):
    """The headline of a run, rates in percent. `failures` are unexpected ones, or verdicts that are no pass.

    Of a run of the checks, `pass_rate` leaves negative examples out: for them a failure is what is wanted.
    """

    total: int
    failures: int
    errors: int
    pass_rate: float | None = None
    label_accuracy: float | None = None
    faithfulness: float | None = None
    completeness: float | None = None


class TrendPoint(msgspec.Struct, frozen=True):
    """One run in a line of runs."""

    run_id: str
    started: str
    name: str
    revision: str | None
    tool_version: str
    rules_hash: str | None
    figures: Figures


class CheckOutcome(msgspec.Struct, frozen=True):
    """What one check said of a case, and whether a person had expected it (None: no label)."""

    check: str
    outcome: str
    expected: bool | None = None
    matched: bool | None = None


class CaseOutcome(msgspec.Struct, frozen=True):
    """One case of a run. `kind` weighs its outcome against what was expected (`unexpected`, `expected`, `missed`, ...).

    `record` is the result as a report has it: without words of anybody unless the run was saved with its texts.
    """

    position: int
    case_id: str
    outcome: str
    kind: str
    language: str
    checks: tuple[CheckOutcome, ...]
    record: dict[str, Any]

    @property
    def result(self) -> CaseResult:
        """The record as the result that a run gives."""
        return CaseResult.from_dict(self.record)


class SampleOutcome(msgspec.Struct, frozen=True):
    """One judged sample of one iteration; `error` says why there is no verdict."""

    iteration: int
    position: int
    query_log_id: str
    faithfulness: int | None
    completeness: int | None
    passed: bool | None
    error: str | None
    record: dict[str, Any]


class Page(msgspec.Struct, Generic[Item], frozen=True):
    """Some of what was found; pages count from 1."""

    items: tuple[Item, ...]
    total: int
    page: int
    per_page: int

    @property
    def pages(self) -> int:
        return -(-self.total // self.per_page)


def checked_figures(summary: dict[str, Any]) -> Figures:
    """Of a run of the checks."""
    passed, failed = summary["strict_passed"], summary["strict_failed"]
    return Figures(
        total=summary["cases"],
        failures=summary["unexpected_failures"],
        errors=summary["errors"],
        pass_rate=round(100 * passed / (passed + failed), 1) if passed + failed else None,
        label_accuracy=summary.get("label_accuracy", {}).get("accuracy"),
    )


def judged_figures(summary: dict[str, Any]) -> Figures:
    """Of a judged run, over all iterations: sums, and means of what each iteration says."""
    metrics = [iteration["metrics"] for iteration in summary["iterations"]]
    rates = [figures["overallPassRate"] for figures in metrics]
    return Figures(
        total=sum(rate["denominator"] for rate in rates),
        failures=sum(rate["denominator"] - rate["numerator"] for rate in rates),
        errors=sum(len(iteration["errors"]) for iteration in summary["iterations"]),
        pass_rate=_mean([100 * rate["value"] for rate in rates if rate["value"] is not None], 1),
        faithfulness=_mean(_values(metrics, "averageFaithfulnessScore"), 2),
        completeness=_mean(_values(metrics, "averageCompletenessScore"), 2),
    )


def _values(metrics: list[dict[str, Any]], name: str) -> list[float]:
    """A rubric of one's own may have other axes."""
    found = [figures.get(name, {}).get("value") for figures in metrics]
    return [value for value in found if value is not None]


def _mean(values: list[float], digits: int) -> float | None:
    return round(sum(values) / len(values), digits) if values else None
