"""The report of a run: what was evaluated, under which conditions, and what came of it."""

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from synthesis.model.case import Source
from synthesis.model.result import CaseResult
from synthesis.printable import safe
from synthesis.settings import RULES

FORMAT_VERSION = 2  # 1 did not record role, counted and missing
SHOWN_FAILURES = 5  # on a console


def percent(part: int, whole: int) -> float:
    """A rate as every output shows it: with one decimal, as a whole number where the decimal is zero."""
    value = round(100 * part / whole, 1) if whole else 0.0
    return int(value) if value == int(value) else value


def reader_name(conditions: Mapping[str, Any]) -> str:
    """The reader that a run names; one from before there was a choice had rules alone."""
    named = conditions.get("reader")
    return str(named.get("name", RULES)) if isinstance(named, Mapping) else RULES


def headline(summary: Mapping[str, Any]) -> str:
    """`26 cases: 15 passed, 10 failed, 1 not assessed`: parts that add up, in every output the same.

    A report's `passed` counts the cases that no check applied to; a reader takes that for praise.
    """
    idle, errors = summary["not_applicable"], summary["errors"]
    parts = [f"{summary['passed'] - idle:,} passed", f"{summary['failed']:,} failed"]
    parts += [f"{idle:,} not assessed"] if idle else []
    parts += [f"{errors:,} ended in error"] if errors else []
    cases = summary["cases"]
    return f"{cases:,} {'case' if cases == 1 else 'cases'}: {', '.join(parts)}"


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """A failed case in short: which checks, and the evidence that decided."""

    id: str
    failed: tuple[str, ...]
    evidence: dict[str, Any]
    expected_failure: bool
    source: Source | None = None  # where it has an id of its own
    severity: str | None = None  # of the worst of them; earlier reports do not record it

    def __str__(self) -> str:
        name = (self.source and self.source.id) or self.id
        context = ", ".join(part for part in (self.severity, "expected" if self.expected_failure else None) if part)
        return safe(f"{name}: fails {', '.join(self.failed)}{f' ({context})' if context else ''}")


def failure_of(result: CaseResult, names: Mapping[str, Mapping[str, str]]) -> Failure:
    """A failed case in short. `names` says, by check, what its evidence is called there.

    Runs, converted reports and histories all ask here, so that the keys are the same however a report came about.
    """
    evidence: dict[str, Any] = {}
    failed = tuple(result.failed_checks)
    for name in failed:
        fields = result.checks[name].to_dict()
        named = names.get(name)
        evidence |= {shown: fields[key] for shown, key in named.items() if key in fields} if named else fields
    source = result.source if result.source and result.source.id else None
    return Failure(result.id, failed, evidence, result.is_negative_example, source, result.severity)


class Report(msgspec.Struct, frozen=True):
    """Everything a run produced. `conditions` say what was in force: tool, rules, input, options.

    A run that wrote its report to a file names it in `file` and leaves `failures` and `results` there.
    """

    conditions: dict[str, Any]
    summary: dict[str, Any]
    failures: tuple[Failure, ...]
    results: tuple[CaseResult, ...]
    warnings: tuple[str, ...] = ()
    file: Path | None = None

    def __str__(self) -> str:
        """The figures, the profile, and the worst failures, the unexpected ones first."""
        return "\n".join([self.headline, *(f"  {line}" for line in self._failed)])

    def __repr__(self) -> str:
        return f"<Report {self.headline}>"

    @property
    def profile(self) -> str:
        """The profile that all cases were judged by."""
        return str(self.conditions.get("profile", ""))

    @property
    def reader(self) -> str:
        """The name of the learned reader, or `rules` where rules alone read."""
        return reader_name(self.conditions)

    @property
    def headline(self) -> str:
        """`26 cases: 15 passed, 10 failed, 1 not assessed (authored)`."""
        return headline(self.summary) + (f" ({self.profile})" if self.profile else "")

    @property
    def _failed(self) -> list[str]:
        """A line for each of the worst failures; those that somebody expects come last."""
        ranked = sorted(self.failures, key=lambda failure: failure.expected_failure)
        left = len(ranked) - SHOWN_FAILURES
        shown = [str(failure) for failure in ranked[:SHOWN_FAILURES]]
        return [*shown, f"and {left:,} more"] if left > 0 else shown

    @property
    def passed(self) -> bool:
        """Whether every case has a verdict and none failed unexpectedly."""
        return not self.summary["unexpected_failures"] and not self.summary["errors"]

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

    def to_html(self) -> str:
        """The report as an HTML page of its own."""
        return self._drawn("html")

    def print(self) -> None:
        """Print the figures and the failures."""
        sys.stdout.write(self._drawn("markdown"))

    def _repr_html_(self) -> str:
        """What a notebook shows: the page in a frame, so that its styles do not reach the notebook."""
        from html import escape

        page = escape(self.to_html())
        return f'<iframe srcdoc="{page}" sandbox style="width: 100%; height: 32em; border: 0"></iframe>'

    def _drawn(self, form: str) -> str:
        # By name: drawing needs the rules in force, and these are above the model in the order of imports.
        drawn: str = import_module("synthesis.api").draw_report(self, form)
        return drawn
