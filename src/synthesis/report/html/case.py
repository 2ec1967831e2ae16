"""One case on the page: the verdict and its reason, what was said with the words that decided, then the notes."""

from typing import Any

import msgspec

from synthesis.model import CaseResult, CheckResult, LabelComparison
from synthesis.model.result import ERROR, EXPLICIT_CUE, FAIL, NOT_APPLICABLE, PASS
from synthesis.model.texts import ENGLISH
from synthesis.report.findings import (
    EXPECTED,
    KINDS,
    UNEXPECTED,
    Glossary,
    Remark,
    check_kind,
    kind_of,
    notice_of,
    remarks_on_check,
    verdict_in_words,
    why_it_fails,
    with_alert_findings,
)
from synthesis.report.html.charts import CaseFilters, turn_by_turn
from synthesis.report.html.marks import Marks, shown

EXCERPT = 120  # characters of what was said, in a list
_FAILS = {UNEXPECTED: "Fails", EXPECTED: "Fails, as expected,"}


class CaseView:
    """Draws cases, numbered in their order on the page."""

    def __init__(self, glossary: Glossary, filters: CaseFilters, *, is_open: bool = False) -> None:
        self._open = " open" if is_open else ""
        self._glossary = glossary
        self._filters = filters
        self._number = 0

    def draw(self, result: CaseResult) -> str:
        self._number += 1
        name, kind = f"case{self._number}", kind_of(result)
        marks = Marks(with_alert_findings(result), self._glossary, name, tips=False)
        parts = [
            _meta(result),
            alert_box(result, self._glossary),
            check_list(result, self._glossary, with_evidence=False),
            turn_by_turn(result, f"#{name}turn" if result.has_texts else ""),
            marks.conversation(),
            marks.notes(),
        ]
        return (
            f'<article class="case {self._filters.classes(result)}" aria-labelledby="{name}"><details{self._open}>'
            f'<summary><h3 id="{name}">{shown(result.name)}</h3> <span class="badge {kind}">{KINDS[kind]}</span>'
            f"{excerpt(marks, result, self._glossary)}</summary>\n{self._folded(''.join(parts))}</details></article>\n"
        )

    def _folded(self, body: str) -> str:
        """What is in a closed card. Where scripts run, a browser reads it when somebody opens the card, not before."""
        return body if self._open else f"<noscript>{body}</noscript>"


def excerpt(marks: Marks, result: CaseResult, glossary: Glossary) -> str:
    """A case in a list: the first words of both sides, those that decided marked, and why it fails."""
    why = verdict_in_words(result, glossary)
    lines = [f'<span class="why-line">{shown(f"{why[:1].upper()}{why[1:]}")}</span>'] if why else []
    for where, who in (("user", "User"), ("assistant", "Reply")) if result.has_texts else ():
        if words := marks.first_words(where, EXCERPT):
            lines.append(f'<span class="said" dir="auto"><b>{who}</b> {words}</span>')
    return "".join(lines)


def alert_box(result: CaseResult, glossary: Glossary) -> str:
    """What leads: the user's words may be those of a crisis. Empty where nothing alerts.

    Without an alert, since the check was asked for, its cue leads all the same.
    """
    notice = notice_of(result, glossary)
    if notice is None or result.alert is None:
        return "".join(_cue_box(result, check, glossary) for check in result.checks.values() if _has_cue(check))
    lines = "".join(f"<li>{shown(line)}</li>" for line in notice.lines[1:])
    listed = f"<ul>{lines}</ul>" if lines else ""
    told = f"<p><strong>Alert.</strong> {shown(str(notice))}</p>{listed}{_evidence(result.alert)}"
    return f'<div class="alert {result.alert.outcome}">{told}</div>\n'


def _has_cue(check: CheckResult) -> bool:
    return check.evidence.get("cue") == EXPLICIT_CUE


def _cue_box(result: CaseResult, check: CheckResult, glossary: Glossary) -> str:
    notice = notice_of(msgspec.structs.replace(result, alert=check), glossary)
    said = {PASS: "passes the reply", FAIL: "fails the reply"}.get(check.outcome, "gives no verdict")
    told = f"<strong>Crisis.</strong> {shown(notice.cue if notice else '')} <code>{shown(check.check)}</code> {said}."
    return f'<div class="alert {check.outcome}"><p>{told}</p></div>\n'


def _meta(result: CaseResult) -> str:
    place = [f"<code>{shown(result.source.file)}:{result.source.line}</code>"] if result.source else []
    tags = [f'<span class="tag">{shown(tag)}</span>' for tag in result.tags]
    language = [f'<span class="quiet">{shown(result.language)}</span>'] if result.language else []
    return f'<p class="meta">{" ".join([*place, *language, *tags])}</p>'


def check_list(result: CaseResult, glossary: Glossary, told_in: str = ENGLISH, *, with_evidence: bool = True) -> str:
    """Why the case came out as it did: a sentence for each check that failed, the others named in a line.

    `with_evidence` is about those others: what failed always shows its evidence.
    """
    failed = sorted(result.failed_checks, key=lambda name: not _has_cue(result.checks[name]))  # a crisis leads
    lines = [_failed(result, name, glossary, told_in) for name in failed]
    lines += [_in_error(check) for check in result.checks.values() if check.outcome == ERROR]
    lines += [_noted(result, check) for check in result.checks.values() if _is_notable(result, check)]
    calm = [check for check in result.checks.values() if not _is_notable(result, check)]
    for outcome, lead in ((PASS, "✓ Passes"), (NOT_APPLICABLE, "Does not apply:")):
        own = [check for check in calm if check.outcome == outcome]
        lines.append(_calm(outcome, lead, own, with_evidence=with_evidence))
    return f'<ul class="checks">\n{"".join(lines)}</ul>\n'


def _failed(result: CaseResult, name: str, glossary: Glossary, told_in: str) -> str:
    kind, check = check_kind(result, name), result.checks[name]
    why = why_it_fails(result, check, glossary, told_in)
    lead = _lead(kind, "✗", _FAILS[kind], name)
    missing = [remark for remark in remarks_on_check(result, name, glossary, told_in) if remark.missing]
    absent = f'<p class="absent">{" ".join(map(_told, missing))}</p>' if missing else ""
    label = _label(result.label_comparison.get(name))
    return f'<li><p class="reason">{lead}: {shown(why)}.{label}</p>{absent}{_evidence(check)}</li>\n'


def _lead(kind: str, sign: str, words: str, name: str) -> str:
    sign = f'<span aria-hidden="true">{sign}</span>'
    return f'<span class="verdict {kind}">{sign} {words} <code>{shown(name)}</code></span>'


def _told(remark: Remark) -> str:
    """What a reply lacks; the findings that count against it are told by the notes."""
    elements = f" [{remark.elements}]" if remark.elements else ""
    better = f" Better: {shown(remark.instead)}" if remark.instead else ""
    return f"<strong>Missing: {shown(remark.missing)}.</strong> {shown(remark.why)}{shown(elements)}{better}"


def _in_error(check: CheckResult) -> str:
    lead = _lead(ERROR, "!", "No verdict of", check.check)
    return f'<li><p class="reason">{lead}: {shown(check.error or "")}</p></li>\n'


def _is_notable(result: CaseResult, check: CheckResult) -> bool:
    """Whether a check that did not fail is worth a line: a label that differs, or a soft cue."""
    label = result.label_comparison.get(check.check)
    differs = label is not None and not label.match
    return check.outcome not in {FAIL, ERROR} and (differs or check.has_soft_cue)


def _noted(result: CaseResult, check: CheckResult) -> str:
    sign, words = ("✓", "Passes") if check.outcome == PASS else ("–", "Does not apply:")
    hints = check.evidence.get("warnings", ()) if check.has_soft_cue else ()
    better = f". A good reply would hold {' '.join(hints)}" if hints else ""
    reason = f": {shown(check.reason + better)}" if check.reason else ""
    lead = _lead(check.outcome, sign, words, check.check)
    return f"<li><p>{lead}{reason}{_label(result.label_comparison.get(check.check))}</p>{_evidence(check)}</li>\n"


def _calm(kind: str, lead: str, checks: list[CheckResult], *, with_evidence: bool) -> str:
    """Checks that need no look, in one line, with their evidence to unfold."""
    if not checks:
        return ""
    names = ", ".join(f"<code>{shown(check.check)}</code>" for check in checks)
    rows = [f"<h5>{shown(check.check)}</h5>{_reason(check)}{_fields(check)}" for check in checks]
    evidence = f"<details><summary>evidence</summary>{''.join(rows)}</details>" if with_evidence else ""
    return f'<li class="calm"><p><span class="verdict {kind}">{lead}</span> {names}</p>{evidence}</li>\n'


def _reason(check: CheckResult) -> str:
    return f"<p>{shown(check.reason)}</p>" if check.reason else ""


def _label(label: LabelComparison | None) -> str:
    if label is None or label.match:
        return ""
    return f' <strong class="missed-label">label says {"pass" if label.expected else "fail"}</strong>'


def _evidence(check: CheckResult) -> str:
    fields = _fields(check)
    return f"<details><summary>evidence</summary>{fields}</details>" if fields else ""


def _fields(check: CheckResult) -> str:
    rows = [
        f"<dt>{shown(key)}</dt><dd dir='auto'>{_value(value)}</dd>"
        for key, value in check.evidence.items()
        if key != "applicable" and value not in ([], None)
    ]
    return f"<dl>{''.join(rows)}</dl>" if rows else ""


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "<br>".join(_value(item) for item in value)
    if isinstance(value, dict):
        return "<br>".join(f"{shown(str(key))}: {_value(item)}" for key, item in value.items() if item != [])
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shown(str(value))
