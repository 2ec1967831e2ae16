"""What a history stores and returns: rows of its tables, runs, cases, samples and figures. Frozen, no I/O."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from synthesis.model import CaseResult
from synthesis.model.report import reader_name
from synthesis.report.judged.run import OFFLINE
from synthesis.settings import FORMER_PROFILES
from synthesis.stats import wilson_interval

CHECKS, JUDGE = "checks", "judge"
NEEDS_JUDGE = "needs_judge"  # how a sample ends that its judge could not tell
STALE = "stale"  # and one whose question, context or answer has changed since
KINDS = (CHECKS, JUDGE)
_REVISION_SHOWN = 7
Item = TypeVar("Item")


class Provenance(msgspec.Struct, frozen=True):
    """What a run's files do not say: when it started, the revision of the code, and whether to keep texts.

    `name` replaces the name that the files give.
    """

    started: str | None = None
    revision: str | None = None
    with_text: bool = False
    tags: tuple[str, ...] = ()
    name: str | None = None


class RunFields(msgspec.Struct, frozen=True):
    """What every form of a saved run has; `started` is UTC, ISO 8601."""

    id: str
    kind: str
    name: str
    started: str
    tool_version: str
    rules_hash: str | None
    input_hash: str | None
    revision: str | None
    with_text: Annotated[bool, msgspec.Meta(description="Whether the texts were saved too.")]


class SavedRun(RunFields, frozen=True):
    """One saved run of the checks or of the judge.

    `conditions` and `summary` are what the run wrote, also of versions to come: the API passes them on unchanged.
    """

    tags: tuple[str, ...]
    conditions: dict[str, Any]
    summary: dict[str, Any]

    @property
    def profile(self) -> str:
        """The profile that the checks judged in; empty for a judged run."""
        name = str(self.conditions.get("profile") or "")
        return FORMER_PROFILES.get(name, name)

    @property
    def reader(self) -> str:
        """The learned reader by name, or `rules`; empty for a judged run."""
        return reader_name(self.conditions) if self.kind == CHECKS else ""

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks that ran; none in a judged run."""
        return tuple(self.summary.get("by_check", ())) if self.kind == CHECKS else ()

    @property
    def alerts(self) -> int:
        """How many cases hold an explicit cue of a crisis."""
        return int(self.summary.get("alerts", 0)) if self.kind == CHECKS else 0

    @property
    def by_severity(self) -> dict[str, int]:
        """Failed cases by severity; empty where the run did not record it."""
        return dict(self.summary.get("by_severity", {})) if self.kind == CHECKS else {}

    @property
    def release(self) -> str:
        """What people call the state that was evaluated; empty where nobody said."""
        return self.tags[0] if self.tags else (self.revision or "")[:_REVISION_SHOWN]

    @property
    def by_check(self) -> "dict[str, CheckRate]":
        """How often each check fails; empty for a judged run."""
        counts = self.summary.get("by_check", {}) if self.kind == CHECKS else {}
        return {name: check_rate(one["failed"], one["passed"] + one["failed"]) for name, one in counts.items()}

    @property
    def figures(self) -> "Figures":
        return checked_figures(self.summary) if self.kind == CHECKS else judged_figures(self.summary, self.conditions)


class Figures(msgspec.Struct, frozen=True):
    """The headline of a run, rates in percent. `failures` are unexpected ones, or samples that did not pass.

    The `pass_rate` of a run of the checks leaves negative examples out: they are supposed to fail. Cases that no check
    applied to are in no rate. `untold` are samples that need another judge: they neither passed nor failed.
    """

    total: int
    failures: int
    errors: int
    untold: int = 0
    pass_rate: float | None = None
    label_accuracy: float | None = None
    faithfulness: float | None = None
    completeness: float | None = None


class CheckRate(msgspec.Struct, frozen=True):
    """How many of the assessed cases fail a check, with the 95 % interval of the rate; none without cases."""

    failed: int
    assessed: int
    rate: float | None = None
    interval: tuple[float, float] | None = None


class TrendPoint(msgspec.Struct, frozen=True):
    """One run of a trend. `release` is its first tag, else the beginning of its revision."""

    run_id: str
    started: str
    name: str
    revision: str | None
    tool_version: str
    rules_hash: str | None
    profile: str
    reader: str
    figures: Figures
    release: str
    by_check: dict[str, CheckRate]

    def is_like(self, other: "TrendPoint") -> bool:
        """Whether both were measured in one profile and by one reader, so that a line may join them."""
        return (self.profile, self.reader) == (other.profile, other.reader)


class SavedCheck(msgspec.Struct, frozen=True):
    """The outcome of one check on a case, and whether it matches what a person expected (None: no label)."""

    check: str
    outcome: str
    expected: bool | None = None
    matched: bool | None = None


class SavedCase(msgspec.Struct, frozen=True):
    """One case of a run. `kind` compares its outcome with what was expected (`unexpected`, `expected`, `missed`, ...).

    `record` is the result as a report has it: without texts unless the run was saved with them.
    """

    position: int
    case_id: str
    outcome: str
    kind: str
    language: str
    checks: tuple[SavedCheck, ...]
    record: dict[str, Any]

    @property
    def result(self) -> CaseResult:
        """The record as the result that a run gives."""
        return CaseResult.from_dict(self.record)


class SavedSample(msgspec.Struct, frozen=True):
    """One judged sample of one iteration; `error` says why there is no verdict.

    Without `passed` and without `error` it needs another judge.
    """

    iteration: int
    position: int
    query_log_id: str
    faithfulness: int | None
    completeness: int | None
    passed: bool | None
    error: str | None
    record: dict[str, Any]


class Page(msgspec.Struct, Generic[Item], frozen=True):
    """One page of what was found; pages count from 1."""

    items: tuple[Item, ...]
    total: int
    page: int
    per_page: int

    @property
    def pages(self) -> int:
        return -(-self.total // self.per_page)


class _LabelAccuracy(msgspec.Struct, frozen=True):
    accuracy: float | None = None


class _CheckedSummary(msgspec.Struct, frozen=True):
    """The part of a report's summary that the figures need."""

    cases: int
    strict_passed: int
    strict_failed: int
    unexpected_failures: int
    errors: int
    not_applicable: int = 0
    label_accuracy: _LabelAccuracy = _LabelAccuracy()


class _Ratio(msgspec.Struct, frozen=True):
    numerator: int = 0
    denominator: int = 0
    value: float | None = None


class _JudgedMetrics(msgspec.Struct, frozen=True, rename="camel"):
    """A custom rubric may lack either axis."""

    overall_pass_rate: _Ratio
    faithfulness_pass_rate: _Ratio | None = None
    untold: int = 0
    average_faithfulness_score: _Ratio = _Ratio()
    average_completeness_score: _Ratio = _Ratio()


class _JudgedIteration(msgspec.Struct, frozen=True):
    metrics: _JudgedMetrics
    errors: list[str]


class _JudgedSummary(msgspec.Struct, frozen=True):
    iterations: list[_JudgedIteration]


def check_rate(failed: int, assessed: int) -> CheckRate:
    interval = wilson_interval(failed, assessed)
    if interval is None:
        return CheckRate(failed, assessed)
    low, high = interval
    return CheckRate(failed, assessed, round(failed / assessed, 6), (round(low, 6), round(high, 6)))


def checked_figures(summary: dict[str, Any]) -> Figures:
    """The figures of a run of the checks."""
    read = msgspec.convert(summary, _CheckedSummary)
    # A summary does not say which of the unassessed are negative examples. Hardly one is, so none is taken to be.
    passed = max(read.strict_passed - read.not_applicable, 0)
    assessed = passed + read.strict_failed
    return Figures(
        total=read.cases,
        failures=read.unexpected_failures,
        errors=read.errors,
        pass_rate=round(100 * passed / assessed, 1) if assessed else None,
        label_accuracy=read.label_accuracy.accuracy,
    )


def judged_figures(summary: dict[str, Any], conditions: dict[str, Any]) -> Figures:
    """The figures of a judged run over all iterations: sums, and means of the iterations' means."""
    iterations = msgspec.convert(summary, _JudgedSummary).iterations
    metrics = [iteration.metrics for iteration in iterations]
    judge = conditions.get("judge")
    offline = isinstance(judge, dict) and judge.get("provider") == OFFLINE  # there faithfulness alone decides
    rates = [(one.faithfulness_pass_rate if offline else None) or one.overall_pass_rate for one in metrics]
    untold = sum(one.untold for one in metrics)
    return Figures(
        total=sum(rate.denominator for rate in rates),
        failures=sum(rate.denominator - rate.numerator for rate in rates) - untold,
        untold=untold,
        errors=sum(len(iteration.errors) for iteration in iterations),
        pass_rate=_mean((None if rate.value is None else 100 * rate.value for rate in rates), 1),
        faithfulness=_mean((one.average_faithfulness_score.value for one in metrics), 2),
        completeness=_mean((one.average_completeness_score.value for one in metrics), 2),
    )


def _mean(values: Iterable[float | None], digits: int) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), digits) if known else None


# Rows of the tables: of a run, and of its cases or samples in batches.


BATCH = 500  # cases or samples in memory at once, whatever the length of a run
T = TypeVar("T")
_encode = msgspec.json.Encoder().encode


class RunRow(RunFields, frozen=True):
    """A row of the table of runs; `conditions` and `summary` are JSON.

    `origin` identifies a judged run that can be resumed, so that saving it again replaces it.
    """

    conditions: str
    summary: str
    origin: str | None = None


class CaseRow(msgspec.Struct, frozen=True):
    """A case; `words` is what a search looks through, `record` is the whole result as JSON."""

    position: int
    case_id: str
    outcome: str
    kind: str
    language: str
    words: str
    record: str


class CheckRow(msgspec.Struct, frozen=True):
    """The outcome of one check on a case."""

    position: int
    check_name: str
    outcome: str
    expected: bool | None
    matched: bool | None


class FindingRow(msgspec.Struct, frozen=True):
    """A finding, without its words."""

    position: int
    number: int
    rule: str
    signal: str
    side: str
    turn: int
    start_at: int
    end_at: int


class SampleRow(msgspec.Struct, frozen=True):
    """A judged sample; `record` is the whole record as JSON."""

    iteration: int
    position: int
    query_log_id: str
    faithfulness: int | None
    completeness: int | None
    overall: float | None
    passed: bool | None
    error: str | None
    words: str
    record: str


Rows = Sequence[CaseRow] | Sequence[CheckRow] | Sequence[FindingRow] | Sequence[SampleRow]


class NewRun(msgspec.Struct, frozen=True):
    """A run to save: its row, its tags, and batches of other rows, which are read only once."""

    row: RunRow
    batches: Iterable[Sequence[Rows]]
    tags: tuple[str, ...] = ()


def encoded(value: Any) -> str:
    return _encode(value).decode()


def storable(text: str) -> str:
    """Text that every database accepts: PostgreSQL refuses NUL, and none stores a lone surrogate."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def searchable(*texts: str) -> str:
    return storable("\n".join(texts).casefold())


def batched(rows: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, size)):
        yield batch
