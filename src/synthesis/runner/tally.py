"""The figures of a run, counted case by case. Counts always sum up: passed + failed + errors = cases."""

from collections import Counter
from typing import Any

from synthesis.model import CaseResult
from synthesis.model.report import percent
from synthesis.model.result import ERROR, FAIL, NOT_APPLICABLE, PASS
from synthesis.report.drift import DriftCounts

_KEYS = {PASS: "passed", FAIL: "failed", NOT_APPLICABLE: "not_applicable", ERROR: "errors"}


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
        elif result.outcome != ERROR and not result.is_negative_example:
            self._cases["strict_passed"] += 1
        self._cases["alerts"] += result.alert is not None
        self._cases["soft_cues"] += any(check.has_soft_cue for check in result.checks.values())
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
            "by_check": {name: self._check(name) for name in sorted({name for name, _ in self._checks})},
        }
        summary |= {name: count[name] for name in ("alerts", "soft_cues") if count[name]}
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
