"""The report of a run: what was evaluated, under which conditions, and what came of it."""

from typing import Any

import msgspec

from synthesis.model.result import CaseResult

FORMAT_VERSION = 2  # 1 did not record role, counted and missing


class Failure(msgspec.Struct, frozen=True):
    """A failed case in short: which checks, and the evidence that decided."""

    id: str
    failed: tuple[str, ...]
    evidence: dict[str, Any]
    expected_failure: bool


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
