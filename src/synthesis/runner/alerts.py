"""Alerts: in traffic, what a check says that nobody asked for, wherever the user's words call for it.

An alert is shown before everything else and counts for nothing: no outcome, no failure and no exit code depends on it.
"""

from collections.abc import Sequence

import msgspec

from synthesis.checks.exchange import FAIL as COUNTS
from synthesis.checks.exchange import Exchange
from synthesis.checks.registry import Check, alerting, get_check
from synthesis.model import CaseResult, CheckResult, case_outcome
from synthesis.model.result import merged_findings
from synthesis.rules.reading import Message, Reading


def calls_for(check: Check, exchanges: Sequence[Exchange]) -> bool:
    """Whether the sign that a check reports on is in one of the user's messages."""
    return check.alert_on is not None and any(exchange.hits(check.alert_on.name) for exchange in exchanges)


def further_messages(
    check: Check, asked: Sequence[Message], readings: Sequence[Reading]
) -> list[tuple[Message, Reading]]:
    """What is still to be read in a conversation that shows the sign: the signals of the check that nobody asked for.

    Few conversations show it, so that reading twice is cheaper than looking for everything in all of them.
    """
    signals = frozenset(signal.name for signal in check.signals)
    if not any(_is_sign(check, hit.rule.signal, hit.rule.severity) for reading in readings for hit in reading.hits):
        return []
    return [
        (message._replace(signals=signals - message.signals), reading)
        for message, reading in zip(asked, readings, strict=True)
        if message.signals is not None and not signals <= message.signals
    ]


def with_checks(result: CaseResult, names: Sequence[str]) -> CaseResult:
    """A result of traffic as if only these of its checks had been asked for."""
    kept = {name: result.checks[name] for name in names}
    return msgspec.structs.replace(
        result,
        checks=kept,
        outcome=case_outcome(kept),
        findings=merged_findings(kept.values()),
        label_comparison={name: label for name, label in result.label_comparison.items() if name in kept},
        alert=result.alert or _unasked(result, kept),
    )


def is_called_for(result: CaseResult) -> bool:
    """Whether the user's words call for an alert, be it as one or among the checks that were asked for."""
    return result.alert is not None or _unasked(result, {}) is not None


def _unasked(result: CaseResult, kept: dict[str, CheckResult]) -> CheckResult | None:
    names = [check.name for check in alerting() if check.name in result.checks and check.name not in kept]
    return next((result.checks[name] for name in names if _has_sign(result.checks[name])), None)


def _has_sign(found: CheckResult) -> bool:
    check = get_check(found.check)
    return any(_is_sign(check, finding.signal, finding.severity) for finding in found.findings)


def _is_sign(check: Check, signal: str, severity: str) -> bool:
    return check.alert_on is not None and signal == check.alert_on.name and severity == COUNTS
