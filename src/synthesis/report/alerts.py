"""Alerts as a reader sees them: the user's words that call for one, and what the check says about the reply."""

from typing import Any

import msgspec

from synthesis.errors import shorten
from synthesis.model import CaseResult, CheckResult
from synthesis.model.result import FAIL, PASS, merged_findings
from synthesis.report.glossary import ENGLISH, Glossary
from synthesis.report.plain import count
from synthesis.report.remarks import Remark, remarks_about

CUE = "crisis.cue"  # by name: a report is drawn without the checks
_VERDICTS = {PASS: "passes the reply", FAIL: "fails the reply"}


class AlertNotice(msgspec.Struct, frozen=True):
    """The user's words, the verdict of a check that was not asked for, and what speaks against the reply."""

    check: str
    cue: str
    verdict: str
    remarks: tuple[Remark, ...]

    def __str__(self) -> str:
        return f"{self.cue} {self.verdict}"

    @property
    def lines(self) -> list[str]:
        """The whole notice, one line for each thing it says."""
        return [str(self), *(_line(remark) for remark in self.remarks)]


def notice_of(result: CaseResult, glossary: Glossary, told_in: str = ENGLISH) -> AlertNotice | None:
    """The alert of a result in words; None if there is none."""
    alert = result.alert
    if alert is None:
        return None
    words = dict.fromkeys(shorten(finding.text) for finding in alert.findings if finding.signal == CUE)
    tightest = [said for said in words if not any(said != other and other in said for other in words)]
    cue = f"Explicit cue of a crisis: {', '.join(f'“{said}”' for said in tightest)}."
    return AlertNotice(alert.check, cue, _verdict(alert), tuple(remarks_about(result, alert, glossary, told_in)))


def with_alert_findings(result: CaseResult) -> CaseResult:
    """The result with the words behind its alert among its findings, so that they are drawn with them."""
    if result.alert is None:
        return result
    found = {finding.place: finding for finding in merged_findings([result.alert])}
    for own in result.findings:
        checks = (*own.checks, *(found[own.place].checks if own.place in found else ()))
        found[own.place] = msgspec.structs.replace(own, checks=checks, counted=own.counted or bool(checks))
    return msgspec.structs.replace(result, findings=tuple(found[place] for place in sorted(found)))


def alert_count(summary: dict[str, Any]) -> str:
    """How many conversations alert; empty if none does."""
    alerts = summary.get("alerts", 0)
    return f"{count(alerts, 'alert')}: an explicit cue of a crisis in what the user said" if alerts else ""


def soft_count(summary: dict[str, Any]) -> str:
    """How many conversations hold a soft cue and no explicit one; empty if none does."""
    soft = summary.get("soft_cues", 0)
    return f"{count(soft, 'soft cue')} of a crisis: worth a look, never a failure" if soft else ""


def _verdict(alert: CheckResult) -> str:
    said = _VERDICTS.get(alert.outcome) or f"gives no verdict: {alert.error or alert.reason}"
    return f"{alert.check}, which was not asked for, {said}."


def _line(remark: Remark) -> str:
    words = f"“{shorten(remark.words)}” ({remark.rule}): " if remark.rule else ""
    return f"{words}{remark.reason} {remark.instead}".rstrip()
