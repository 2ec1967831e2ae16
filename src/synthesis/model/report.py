"""The report of a run: what was evaluated, under which conditions, and what came of it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from synthesis.model.result import FAIL, CaseResult

FORMAT_VERSION = 2  # 1 did not record role, counted and missing


class Failure(msgspec.Struct, frozen=True):
    """A failed case in short: which checks, and the evidence that decided."""

    id: str
    failed: tuple[str, ...]
    evidence: dict[str, Any]
    expected_failure: bool


def failure_of(result: CaseResult, names: Mapping[str, Mapping[str, str]]) -> Failure | None:
    """A failed case in short, None for any other. `names` says, by check, what its evidence is called there.

    Runs, converted reports and histories all ask here, so that the keys are the same however a report came about.
    """
    if result.outcome != FAIL:
        return None
    evidence: dict[str, Any] = {}
    for name in result.failed_checks:
        fields = result.checks[name].to_dict()
        named = names.get(name)
        evidence |= {shown: fields[key] for shown, key in named.items() if key in fields} if named else fields
    return Failure(result.id, tuple(result.failed_checks), evidence, result.is_negative_example)


class Report(msgspec.Struct, frozen=True):
    """Everything a run produced. `conditions` say what was in force: tool, rules, input, options."""

    conditions: dict[str, Any]
    summary: dict[str, Any]
    failures: tuple[Failure, ...]
    results: tuple[CaseResult, ...]
    warnings: tuple[str, ...] = ()

    def header(self) -> dict[str, Any]:
        """The report without its long lists."""
        fields = {"format_version": FORMAT_VERSION, **self.conditions, "summary": self.summary}
        return {**fields, "warnings": list(self.warnings)} if self.warnings else fields

    def to_dict(self) -> dict[str, Any]:
        """The whole report as it is written."""
        return {
            **self.header(),
            "failures": msgspec.to_builtins(self.failures),
            "results": [result.to_dict() for result in self.results],
        }
