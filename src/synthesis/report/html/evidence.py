"""The verdict of each check of a case, and the evidence behind it."""

from typing import Any

from synthesis.model.result import ERROR, NOT_APPLICABLE, PASS
from synthesis.report.glossary import Glossary
from synthesis.report.html.spans import shown
from synthesis.report.reading import Record
from synthesis.report.verdicts import EXPECTED, UNEXPECTED, check_kind, reasons

_VERDICTS = {
    PASS: ("✓", "passed"),
    UNEXPECTED: ("✗", "failed"),
    EXPECTED: ("✗", "failed, as expected"),
    NOT_APPLICABLE: ("–", "not applicable"),
    ERROR: ("!", "ended in error"),
}
_TOLD_ELSEWHERE = {"pass", "applicable", "reason", "error", "turns"}


def check_list(result: Record, glossary: Glossary) -> str:
    """A line for each check, with its evidence to unfold."""
    items = "".join(_check(result, name, glossary) for name in result["checks"])
    return f'<h4>Checks</h4>\n<ul class="checks">\n{items}</ul>\n'


def _check(result: Record, name: str, glossary: Glossary) -> str:
    kind, check = check_kind(result, name), result["checks"][name]
    sign, verdict = _VERDICTS[kind]
    reason = check.get("error") or check.get("reason") or _missing(result, name, kind, glossary)
    line = f'<span class="verdict {kind}"><span aria-hidden="true">{sign}</span> {verdict}</span> {shown(name)}'
    line += f": {shown(str(reason))}" if reason else ""
    line += _label(result.get("label_comparison", {}).get(name))
    return f"<li>{line}{_evidence(check)}</li>\n"


def _missing(result: Record, name: str, kind: str, glossary: Glossary) -> str:
    """Why a check failed that found nothing to hold against the reply."""
    if kind not in {EXPECTED, UNEXPECTED}:
        return ""
    first = reasons(result, name, glossary)[0]
    return "" if first.words else first.why


def _label(label: Record | None) -> str:
    if label is None or label["match"]:
        return ""
    return f' <strong class="missed-label">label says {"pass" if label["expected"] else "fail"}</strong>'


def _evidence(check: Record) -> str:
    rows = [
        f"<dt>{shown(key)}</dt><dd dir='auto'>{_value(value)}</dd>"
        for key, value in check.items()
        if key not in _TOLD_ELSEWHERE and value not in ([], None)
    ]
    return f"<details><summary>evidence</summary><dl>{''.join(rows)}</dl></details>" if rows else ""


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "<br>".join(_value(item) for item in value)
    if isinstance(value, dict):
        return "<br>".join(f"{shown(str(key))}: {_value(item)}" for key, item in value.items() if item != [])
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shown(str(value))
