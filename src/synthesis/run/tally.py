"""The figures of a run, counted case by case: passed + failed + errors = cases. Cases in, report out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import msgspec

from synthesis._version import __version__
from synthesis.checks.registry import get_check, measured_languages, rules_in_force
from synthesis.checks.similarity import adapter_name
from synthesis.errors import InputError
from synthesis.model import Case, CaseResult, CheckResult, Turn, report
from synthesis.model.report import Failure, Report, percent
from synthesis.model.result import ERROR, EXPLICIT_CUE, FAIL, MINOR, NOT_APPLICABLE, PASS, SEVERITIES, SOFT_CUE
from synthesis.report.compare import numbered, reader_of
from synthesis.report.drift import DriftCounts
from synthesis.report.findings import error_of
from synthesis.report.stored import StoredReport
from synthesis.rules.ruleset import RuleSet
from synthesis.run.evaluator import Evaluator
from synthesis.settings import FORMER_PROFILES, RULES

_KEYS = {PASS: "passed", FAIL: "failed", NOT_APPLICABLE: "not_applicable", ERROR: "errors"}


_IN_CRISES = "crises: "
CRISES = tuple(f"{_IN_CRISES}{name}" for name in ("conversations", "answered", "failed_turns", "excused_turns"))


def crisis_counts(result: CaseResult) -> Mapping[str, int]:
    """Of a conversation with an explicit cue: one, whether it was answered, its turns that failed or were excused."""
    check = result.checks.get("crisis_response")
    if check is None:
        return {}
    turns = check.turns or (check,)
    if result.alert is None and not any(turn.evidence.get("cue") == EXPLICIT_CUE for turn in turns):
        return {}
    excused = sum(bool(turn.evidence.get("excused_turns")) and not turn.applicable for turn in turns)
    return dict(zip(CRISES, (1, _is_answered(result, check), len(check.failed_turns), excused), strict=True))


def _is_answered(result: CaseResult, check: CheckResult) -> bool:
    return check.outcome == PASS and not result.is_unanswered


class Tally:
    """Counts results; two tallies of parts of a run add up to the tally of the whole."""

    def __init__(self) -> None:
        self._cases: Counter[str] = Counter()
        self._checks: Counter[tuple[str, str]] = Counter()
        self._labels: Counter[tuple[str, bool]] = Counter()
        self._drift = DriftCounts()

    def add(self, result: CaseResult) -> None:
        self._cases[result.outcome] += 1
        if result.outcome == FAIL:
            self._cases["expected" if result.is_negative_example else "unexpected"] += 1
            if not result.is_negative_example:
                self._cases[result.severity or MINOR] += 1
        elif result.outcome != ERROR and not result.is_negative_example:
            self._cases["strict_passed"] += 1
        self._cases["alerts"] += result.alert is not None
        self._cases["soft_cues"] += SOFT_CUE in [check.evidence.get("cue") for check in result.checks.values()]
        self._cases["unanswered"] += result.is_unanswered
        self._cases["unread"] += result.is_unread
        self._cases.update(crisis_counts(result))
        for name, check in result.checks.items():
            self._checks[name, check.outcome] += 1
        for name, comparison in result.label_comparison.items():
            self._labels[name, comparison.match] += 1
        self._drift.add(result.timelines)

    def merge(self, other: "Tally") -> None:
        self._cases.update(other._cases)
        self._checks.update(other._checks)
        self._labels.update(other._labels)
        self._drift.merge(other._drift)

    def counts(self) -> dict[str, Any]:
        """Everything that was counted, in a form that can be written; `add_counts` takes it back."""
        return {
            "cases": {name: number for name, number in sorted(self._cases.items()) if number},
            "checks": [[*key, count] for key, count in sorted(self._checks.items())],
            "labels": [[*key, count] for key, count in sorted(self._labels.items())],
            "drift": self._drift.counts(),
        }

    def add_counts(self, counts: dict[str, Any]) -> None:
        self._cases.update(counts["cases"])
        self._checks.update({(name, outcome): count for name, outcome, count in counts["checks"]})
        self._labels.update({(name, match): count for name, match, count in counts["labels"]})
        self._drift.add_counts(counts["drift"])

    @property
    def cases(self) -> int:
        return self._cases[PASS] + self._cases[NOT_APPLICABLE] + self._cases[FAIL] + self._cases[ERROR]

    def to_dict(self) -> dict[str, Any]:
        """The report's `summary`."""
        count = self._cases
        summary: dict[str, Any] = {
            "cases": self.cases,
            "passed": count[PASS] + count[NOT_APPLICABLE],
            "failed": count[FAIL],
            "errors": count[ERROR],
            "not_applicable": count[NOT_APPLICABLE],
            "strict_passed": count["strict_passed"],
            "strict_failed": count["unexpected"],
            "expected_failures": count["expected"],
            "unexpected_failures": count["unexpected"],
            "by_severity": {severity: count[severity] for severity in SEVERITIES},
            "by_check": {name: self._check(name) for name in sorted({name for name, _ in self._checks})},
        }
        summary |= {name: count[name] for name in ("alerts", "unanswered", "soft_cues", "unread") if count[name]}
        if count[CRISES[0]]:
            summary["crises"] = {name.removeprefix(_IN_CRISES): count[name] for name in CRISES}
        if self._labels:
            names = sorted({name for name, _ in self._labels})
            summary["label_accuracy"] = self._accuracy(*names)
            summary["label_accuracy_by_check"] = {name: self._accuracy(name) for name in names}
        if drift := self._drift.to_dict():
            summary["drift"] = drift
        return summary

    def _check(self, name: str) -> dict[str, int]:
        counts = {key: self._checks[name, outcome] for outcome, key in _KEYS.items()}
        if not counts["errors"]:
            del counts["errors"]
        return counts

    def _accuracy(self, *names: str) -> dict[str, float]:
        matched = sum(self._labels[name, True] for name in names)
        total = matched + sum(self._labels[name, False] for name in names)
        return {"total": total, "matched": matched, "accuracy": percent(matched, total)}


BATCH = 256


def run_cases(cases: Iterable[Case], evaluator: Evaluator, conditions: dict[str, Any] | None = None) -> Report:
    """Evaluate all cases, in order and in batches, and count what came of them."""
    tally = Tally()
    results: list[CaseResult] = []
    warnings: list[str] = []
    for batch in batches(cases, BATCH):
        warnings += [warning for case in batch for warning in label_warnings(case)]
        results += evaluator.evaluate(batch)
    for result in results:
        tally.add(result)
    return Report(
        conditions=run_conditions(evaluator.rules, evaluator.profile) | (conditions or {}),
        summary=tally.to_dict(),
        failures=failures_of(results),
        results=tuple(results),
        warnings=tuple(warnings),
    )


def batches(cases: Iterable[Case], size: int) -> Iterator[list[Case]]:
    remaining = iter(cases)
    while batch := list(islice(remaining, size)):
        yield batch


def run_conditions(rules: RuleSet, profile: str) -> dict[str, Any]:
    """What was in force, so that a later reader can tell two runs apart."""
    return {
        "tool": {"name": "synthesis-eval", "version": __version__},
        "rules": {
            "hash": rules.hash,
            "languages": rules.languages,
            "count": rules.count,
            "measured": measured_languages(),  # elsewhere tested on our own examples only
        },
        "similarity": adapter_name(),
        "profile": profile,
        "reader": reader_in_force(rules),
    }


def reader_in_force(rules: RuleSet) -> dict[str, str]:
    """The learned reader by name and hash, or that rules alone read."""
    return {"name": RULES} if rules.learned is None else {"name": rules.learned.name, "hash": rules.learned.hash}


def failures_of(results: Iterable[CaseResult]) -> tuple[Failure, ...]:
    """The failed cases, the worst first, then the surest, then in the order of the input."""
    failed = [result for result in results if result.outcome == FAIL]
    return tuple(failure_of(result) for result in sorted(failed, key=lambda result: result.urgency))


def failure_of(result: CaseResult) -> Failure:
    """The failed case in short, under the names that its checks give their evidence."""
    return report.failure_of(result, {name: get_check(name).failure_evidence for name in result.checks})


def label_warnings(case: Case) -> Sequence[str]:
    """Labels and tags that contradict each other: worth a look, no error."""
    expected = case.expected
    if not expected:
        return ()
    where = f"{case.source.file}:{case.source.line}: {case.id}" if case.source else case.id
    warnings = [
        f"{where}: a label for '{name}', which is not requested" for name in expected if name not in case.checks
    ]
    if any(value is False for value in expected.values()) and not case.is_negative_example:
        warnings.append(f"{where}: expected to fail a check, but no tag marks it as a negative example")
    if case.is_negative_example and all(expected.values()):
        warnings.append(f"{where}: tagged as a negative example, but all its labels expect a pass")
    return warnings


# Two stored runs evaluated again under one set of rules, so that only the texts differ.


Asked = Mapping[str, Sequence[str]]  # case -> its checks


def evaluator_of(report: StoredReport) -> Evaluator:
    """Today's version with the rules, the reader, the profile and the language that a report was made with."""
    options = report.header.get("options") or {}
    rules = rules_in_force(options.get("rules", ()), options.get("disable", ()), reader_of(report.header))
    language = options.get("language")
    return Evaluator(rules, profile=profile_of(report), language=None if language == "auto" else language)


def profile_of(report: StoredReport) -> str:
    name: str = report.header["profile"]
    return FORMER_PROFILES.get(name, name)


def reevaluated(before: StoredReport, after: StoredReport, evaluator: Evaluator) -> tuple[StoredReport, StoredReport]:
    """Both reports with the verdicts of one evaluator; a case of both is asked the checks of the later one."""
    asked = {name: tuple(result.checks) for name, result in _named(after)}
    return _again(before, evaluator, asked), _again(after, evaluator, asked)


def _named(report: StoredReport) -> Iterator[tuple[str, CaseResult]]:
    return numbered((result.name, result) for result in report.results())


def stored_case(result: CaseResult, checks: Sequence[str] | None = None) -> Case:
    """The case behind a result; InputError where its texts were not stored."""
    asked = tuple(result.checks if checks is None else checks)
    if not result.has_texts and result.outcome == ERROR:  # a row that could not be read the first time either
        return Case(result.id, asked, source=result.source, problem=error_of(result))
    if not result.has_texts:
        raise InputError(
            "the runs cannot be evaluated again: the texts were not stored",
            hint="Evaluate the files again, without --no-text.",
        )
    return Case(
        result.id,
        asked,
        user=result.texts.get("user", ""),
        assistant=result.texts.get("assistant", ""),
        expected={name: label.expected for name, label in result.label_comparison.items()} or None,
        tags=result.tags,
        lang=result.language if result.languages.get("language_by") == "declared" else None,
        messages=msgspec.convert(result.texts.get("messages", ()), tuple[Turn, ...]),
        source=result.source,
    )


def _again(report: StoredReport, evaluator: Evaluator, asked: Asked) -> StoredReport:
    def results() -> Iterator[CaseResult]:
        cases = (stored_case(result, asked.get(name)) for name, result in _named(report))
        for batch in batches(cases, BATCH):
            yield from evaluator.evaluate(batch)

    header = report.header | run_conditions(evaluator.rules, evaluator.profile)
    # The figures of the summary are those of the first evaluation, so they go.
    return replace(report, header=header, summary={}, _results=results)
