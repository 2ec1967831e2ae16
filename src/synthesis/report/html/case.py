"""One case on the page: what was said, with every finding in it, then the notes, then the verdict of each check."""

from typing import Any

from synthesis.model import CaseResult, CheckResult, LabelComparison
from synthesis.model.result import ERROR, NOT_APPLICABLE, PASS
from synthesis.report.alerts import notice_of, with_alert_findings
from synthesis.report.glossary import Glossary
from synthesis.report.html.marks import Marks, SignalStyles
from synthesis.report.html.spans import shown
from synthesis.report.html.survey import CaseFilters
from synthesis.report.html.timelines import turn_by_turn
from synthesis.report.remarks import Remark, remarks_on_check
from synthesis.report.verdicts import EXPECTED, KINDS, UNEXPECTED, check_kind, kind_of

_VERDICTS = {
    PASS: ("✓", "passed"),
    UNEXPECTED: ("✗", "failed"),
    EXPECTED: ("✗", "failed, as expected"),
    NOT_APPLICABLE: ("–", "not applicable"),
    ERROR: ("!", "ended in error"),
}


class CaseView:
    """Draws cases, numbered in their order on the page."""

    def __init__(self, styles: SignalStyles, glossary: Glossary, filters: CaseFilters) -> None:
        self._styles = styles
        self._glossary = glossary
        self._filters = filters
        self._number = 0

    def draw(self, result: CaseResult) -> str:
        self._number += 1
        name, kind = f"case{self._number}", kind_of(result)
        marks = Marks(with_alert_findings(result), self._styles, self._glossary, name)
        parts = [
            f'<article class="case {self._filters.classes(result)}" aria-labelledby="{name}">\n'
            f'<header><h3 id="{name}">{shown(result.name)}</h3> '
            f'<span class="badge {kind}">{KINDS[kind]}</span>{_meta(result)}</header>\n',
            alert_box(result, self._glossary),
            turn_by_turn(result, f"#{name}turn" if result.has_texts else ""),
            marks.conversation(),
            marks.notes(),
            check_list(result, self._glossary),
            "</article>\n",
        ]
        return "".join(parts)


def alert_box(result: CaseResult, glossary: Glossary) -> str:
    """What leads: the user's words may be those of a crisis. Empty where nothing alerts."""
    notice = notice_of(result, glossary)
    if notice is None or result.alert is None:
        return ""
    lines = "".join(f"<li>{shown(line)}</li>" for line in notice.lines[1:])
    listed = f"<ul>{lines}</ul>" if lines else ""
    told = f"<p><strong>Alert.</strong> {shown(str(notice))}</p>{listed}{_evidence(result.alert)}"
    return f'<div class="alert">{told}</div>\n'


def _meta(result: CaseResult) -> str:
    place = [f"<code>{shown(result.source.file)}:{result.source.line}</code>"] if result.source else []
    tags = [f'<span class="tag">{shown(tag)}</span>' for tag in result.tags]
    language = [f'<span class="quiet">{shown(result.language)}</span>'] if result.language else []
    return f'<p class="meta">{" ".join([*place, *language, *tags])}</p>'


def check_list(result: CaseResult, glossary: Glossary) -> str:
    """A line for each check, with its evidence to unfold."""
    items = "".join(_check(result, name, glossary) for name in result.checks)
    return f'<h4>Checks</h4>\n<ul class="checks">\n{items}</ul>\n'


def _check(result: CaseResult, name: str, glossary: Glossary) -> str:
    kind, check = check_kind(result, name), result.checks[name]
    sign, verdict = _VERDICTS[kind]
    missing = [remark for remark in remarks_on_check(result, name, glossary) if not remark.rule]
    reason = check.error or _why_not(check) or " ".join(map(_told, missing))
    line = f'<span class="verdict {kind}"><span aria-hidden="true">{sign}</span> {verdict}</span> {shown(name)}'
    line += f": {shown(reason)}" if reason else ""
    line += _label(result.label_comparison.get(name))
    return f"<li>{line}{_evidence(check)}</li>\n"


def _why_not(check: CheckResult) -> str | None:
    """Why a check does not apply, and what a good reply would hold to a soft cue."""
    hints = check.evidence.get("warnings", ()) if check.has_soft_cue else ()
    return f"{check.reason}. A good reply would hold {' '.join(hints)}" if hints else check.reason


def _told(remark: Remark) -> str:
    """What a reply lacks; the findings that count against it are told by the notes."""
    return f"{remark.reason} Better: {remark.instead}" if remark.instead else remark.reason


def _label(label: LabelComparison | None) -> str:
    if label is None or label.match:
        return ""
    return f' <strong class="missed-label">label says {"pass" if label.expected else "fail"}</strong>'


def _evidence(check: CheckResult) -> str:
    rows = [
        f"<dt>{shown(key)}</dt><dd dir='auto'>{_value(value)}</dd>"
        for key, value in check.evidence.items()
        if key != "applicable" and value not in ([], None)
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
