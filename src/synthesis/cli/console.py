"""The summary of a run on the console: figures first, a line per check, then up to five failures in detail."""

import math
from collections.abc import Sequence
from typing import Any

import click

from synthesis.checks.registry import measured_languages
from synthesis.cli.drift import drift_lines, strip_lines
from synthesis.cli.terminal import columns, safe
from synthesis.glossary import glossary_of
from synthesis.model import CaseResult
from synthesis.model.result import ERROR, FAIL
from synthesis.report.findings import (
    SHORT_DISCLAIMER,
    Glossary,
    Remark,
    alert_count,
    count,
    evidence_sentence,
    headline,
    notice_of,
    pass_rate,
    remarks_on,
    soft_count,
)
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.text import language_of

SHOWN_FAILURES = 5
SHOWN_REMARKS = 4
_COUNTS_WIDTH = 50  # columns beside the name of a check; without room for them they get a line of their own


def summary_lines(summary: dict[str, Any], examples: Sequence[CaseResult], rules: RuleSet) -> list[str]:
    """The whole summary, coloured; the caller strips the colours where they are not wanted."""
    lines = [
        *_alerts(summary, examples, rules),
        _headline(summary),
        *_expectations(summary),
        "",
        *_by_check(summary),
        *_labels(summary),
        *drift_lines(summary),
    ]
    lines += _details([example for example in examples if example.outcome == FAIL], summary["failed"], rules)
    lines += _errors([example for example in examples if example.outcome == ERROR], summary["errors"])
    return [*lines, "", _dim(evidence_sentence(measured_languages(), summary["by_check"])), _dim(SHORT_DISCLAIMER)]


def warning_lines(warnings: Sequence[str], total: int) -> list[str]:
    lines = [f"{_yellow('warning')}  {safe(warning)}" for warning in warnings]
    return lines if total == len(warnings) else [*lines, _yellow(f"... and {total - len(warnings)} more warnings")]


def _alerts(summary: dict[str, Any], examples: Sequence[CaseResult], rules: RuleSet) -> list[str]:
    """What leads: conversations in which somebody may be in danger, whichever checks were asked for."""
    alerting = [example for example in examples if example.alert is not None][:SHOWN_FAILURES]
    if not alerting:
        return []
    glossary = glossary_of(rules)
    lines = [_red(alert_count(summary))]
    for result in alerting:
        notice = notice_of(result, glossary)
        assert notice is not None
        first, *rest = map(safe, notice.lines)
        lines += [f"{_red('alert     ')} {safe(result.name)}: {first}", *(_dim(f"    {line}") for line in rest)]
    left = summary["alerts"] - len(alerting)
    return [*lines, *([_dim(f"... and {count(left, 'more alert')} in the report")] if left else []), ""]


def _headline(summary: dict[str, Any]) -> str:
    rate = pass_rate(summary)
    return click.style(f"{headline(summary)} ({rate})" if rate else headline(summary), bold=True)


def _expectations(summary: dict[str, Any]) -> list[str]:
    lines = []
    if summary["unexpected_failures"]:
        lines.append(_red(f"  {count(summary['unexpected_failures'], 'unexpected failure')}"))
    else:
        lines.append(_green("  no unexpected failures"))
    if summary["expected_failures"]:
        lines.append(_yellow(f"  {count(summary['expected_failures'], 'expected failure')} (negative examples)"))
    if summary["not_applicable"]:
        lines.append(f"  {summary['not_applicable']} not assessed (no check applied)")
    if summary["errors"]:
        lines.append(_red(f"  {count(summary['errors'], 'error')}: no verdict"))
    if soft := soft_count(summary):
        lines.append(f"  {soft}")
    return lines


def _by_check(summary: dict[str, Any]) -> list[str]:
    width = max((len(name) for name in summary["by_check"]), default=0)
    narrow = width + _COUNTS_WIDTH > (columns() or math.inf)
    lines = []
    for name, counts in summary["by_check"].items():
        cells = [
            (_green if counts["passed"] else _dim)(f"{counts['passed']:>5} passed"),
            (_bold if counts["failed"] else _dim)(f"{counts['failed']:>5} failed"),
            _dim(f"{counts['not_applicable']:>5} not applicable"),
        ]
        if counts.get("errors"):
            cells.append(_red(f"{counts['errors']:>5} errors"))
        if narrow:
            lines += [f"  {safe(name)}", f"  {' '.join(cells)}"]
        else:
            lines.append(f"  {safe(name):<{width}} {' '.join(cells)}")
    return lines


def _labels(summary: dict[str, Any]) -> list[str]:
    accuracy = summary.get("label_accuracy")
    if accuracy is None:
        return ["", "  label accuracy: n/a (no labels)"]
    text = f"label accuracy: {accuracy['accuracy']} % ({accuracy['matched']} of {accuracy['total']})"
    colour = _green if accuracy["matched"] == accuracy["total"] else _red
    return ["", f"  {colour(text)}"]


def _details(failures: Sequence[CaseResult], total: int, rules: RuleSet) -> list[str]:
    if not failures:
        return []
    glossary = glossary_of(rules)
    lines = [""]
    for result in failures[:SHOWN_FAILURES]:
        kind = _yellow("expected  ") if result.is_negative_example else _red("unexpected")
        lines.append(
            f"{kind} {safe(result.name)}: {', '.join(map(safe, result.failed_checks))}{_dim(_language(result))}"
        )
        lines += [f"    {line}" for line in (*strip_lines(result), *_remarks(result, glossary))]
    if total > SHOWN_FAILURES:
        lines.append(_dim(f"... and {total - SHOWN_FAILURES} more in the report"))
    return lines


def _errors(examples: Sequence[CaseResult], total: int) -> list[str]:
    lines = []
    for result in examples:
        reason = next((check.error for check in result.checks.values() if check.error), "")
        lines.append(f"{_red('error     ')} {safe(result.name)}: {safe(reason)}")
    if total > len(examples):
        lines.append(_dim(f"... and {total - len(examples)} more errors in the report"))
    return lines


def _language(result: CaseResult) -> str:
    return "" if result.language == "en" else f"  ({language_of(result.language).name})"


def _remarks(result: CaseResult, glossary: Glossary) -> list[str]:
    """The words that count against a reply, the advice on the first of them, and what is missing."""
    remarks = remarks_on(result, glossary)
    said = [remark for remark in remarks if remark.rule]
    lines = [f"“{_in_one_line(remark.words)}”  {_dim(safe(remark.rule))}" for remark in said[:SHOWN_REMARKS]]
    missing = [remark for remark in remarks if not remark.rule]
    return lines + [_dim(_advice(remark)) for remark in (*said[:1], *missing) if _advice(remark)]


def _advice(remark: Remark) -> str:
    return _in_one_line(f"{remark.reason} {remark.instead}".strip())


def _in_one_line(text: str) -> str:
    """Words of a list or of two paragraphs side by side: how lines were broken is not what a reader looks for."""
    return safe(" ".join(text.split()))


def _green(text: str) -> str:
    return click.style(text, fg="green")


def _red(text: str) -> str:
    return click.style(text, fg="red")


def _yellow(text: str) -> str:
    return click.style(text, fg="yellow")


def _dim(text: str) -> str:
    return click.style(text, dim=True)


def _bold(text: str) -> str:
    return click.style(text, bold=True)
