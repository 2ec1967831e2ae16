"""A run: cases in, report out."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from synthesis._version import __version__
from synthesis.checks.registry import get_check, measured_languages
from synthesis.checks.similarity import adapter_name
from synthesis.model import Case, CaseResult, report
from synthesis.model.report import Failure, Report
from synthesis.model.result import FAIL
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.evaluator import Evaluator
from synthesis.runner.tally import Tally

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
            "count": len(rules.rules),
            "measured": measured_languages(),  # elsewhere a verdict rests on own examples alone
        },
        "similarity": adapter_name(),
        "profile": profile,
    }


def failures_of(results: Iterable[CaseResult]) -> tuple[Failure, ...]:
    return tuple(failure_of(result) for result in results if result.outcome == FAIL)


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
