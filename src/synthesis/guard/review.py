"""A reply that was looked at: what speaks against it, and what the user's words call for before anything else."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synthesis.cases.messages import ROLES, text_of
from synthesis.checks.registry import get_check, rules_in_force, signals_read
from synthesis.defaults import TRAFFIC
from synthesis.errors import OptionError
from synthesis.glossary import glossary_of
from synthesis.model import Case, CaseResult, CheckResult, Turn, case_outcome
from synthesis.model.result import FAIL, NO_RULES, merged_findings
from synthesis.report.alerts import CUE, AlertNotice, notice_of
from synthesis.report.feedback import LEAD, feedback, in_language
from synthesis.report.glossary import ENGLISH
from synthesis.report.remarks import Remark, remarks_on
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.text import UNDETERMINED
from synthesis.runner.alerts import is_called_for
from synthesis.runner.evaluator import Evaluator

CRISIS = "crisis_response"
Said = str | Sequence[Mapping[str, Any] | Turn]  # the user's message, or all messages up to it


class Review(msgspec.Struct, frozen=True):
    """A reply that was looked at: its result, what speaks against it, and what the user's words call for first."""

    reply: str
    result: CaseResult
    remarks: tuple[Remark, ...]
    in_crisis: bool
    alert: AlertNotice | None = None  # an explicit cue, where crisis_response is not among the guard's checks

    @property
    def failed(self) -> bool:
        return self.result.outcome == FAIL

    @property
    def assessed(self) -> bool:
        """Whether both sides are in languages with rules; else a verdict says nothing about what could not be read."""
        reasons = [check.reason or "" for check in self.result.checks.values()]
        unread = bool(reasons) and all(reason.startswith(NO_RULES) for reason in reasons)
        return not unread and UNDETERMINED not in {self.result.language, self.result.language_of("user")}

    @property
    def holds(self) -> bool:
        return not self.failed and self.assessed

    @property
    def told_in(self) -> str:
        """The language of the feedback."""
        return _told_in(self.result)

    @property
    def feedback(self) -> str:
        """What to tell the writer of the reply, the alert first; empty where nothing speaks against it."""
        return feedback((*(self.alert.remarks if self.alert else ()), *self.remarks), self.told_in)


class Reviewer:
    """Looks at replies by the traffic profile; the guard decides what is done about them."""

    def __init__(self, checks: Sequence[str], rules: RuleSet | None, lang: str | None) -> None:
        self.checks = tuple(get_check(name).name for name in checks)
        self.lang = lang
        in_force = rules_in_force() if rules is None else rules
        # The signals of crisis_response are read in any case: what a guard may do depends on them.
        self._evaluator = Evaluator(
            in_force.with_signals(signals_read((*self.checks, CRISIS), TRAFFIC)), profile=TRAFFIC, keep_text=False
        )
        self._glossary = glossary_of(self._evaluator.rules)

    def look_at(self, user: Said, reply: str, lang: str | None = None) -> Review:
        """The findings on one reply; nothing is done about them. Earlier messages decide what it is a reply to."""
        found = self._evaluator.evaluate([self._case(user, reply, lang or self.lang)])[0]
        result = _of_last_reply(found)
        told_in = _told_in(result)
        remarks = tuple(
            in_language(remark, result.language, self._glossary, told_in)
            for remark in remarks_on(result, self._glossary, told_in)
        )
        return Review(reply, result, remarks, _may_be_a_crisis(found), notice_of(result, self._glossary, told_in))

    def _case(self, user: Said, reply: str, lang: str | None) -> Case:
        if isinstance(user, str):
            return Case("", self.checks, user, reply, lang=lang)
        return Case("", self.checks, messages=(*_turns(user), Turn("assistant", reply)), lang=lang)


def _turns(messages: Sequence[Mapping[str, Any] | Turn]) -> list[Turn]:
    """Messages as other tools write them; the last that was spoken must be the user's."""
    turns = [message if isinstance(message, Turn) else _turn(message, place) for place, message in enumerate(messages)]
    spoken = [turn for turn in turns if turn.role in {"user", "assistant"} and turn.content.strip()]
    if not spoken or spoken[-1].role != "user":
        raise OptionError("the messages do not end with the user's", hint="Hand the reply over on its own.")
    return turns


def _turn(message: Mapping[str, Any], place: int) -> Turn:
    role = ROLES.get(str(message.get("role", "")).lower())
    content = text_of(message.get("content"))
    if role is None or content is None:
        raise OptionError(f"message {place + 1} has no known role, or no text", hint="Give `role` and `content`.")
    return Turn(role, content)


def _told_in(result: CaseResult) -> str:
    """The user's language, else the reply's, else English."""
    asked = (result.language_of("user"), result.language)
    return next((code for code in asked if code in LEAD), ENGLISH)


def _of_last_reply(found: CaseResult) -> CaseResult:
    """The result of the last reply of a conversation: those before it were sent long ago."""
    checks = {name: check.turns[-1] if check.turns else check for name, check in found.checks.items()}
    if checks == found.checks:
        return found
    findings = merged_findings(checks.values())
    return msgspec.structs.replace(
        found, checks=checks, outcome=case_outcome(checks), findings=findings, alert=_last_alert(found.alert)
    )


def _last_alert(alert: CheckResult | None) -> CheckResult | None:
    """What the last reply makes of a cue, wherever in the conversation it was given."""
    if alert is None or not alert.turns:
        return alert
    last = alert.turns[-1]
    cues = tuple(finding for finding in alert.findings if finding.signal == CUE and finding not in last.findings)
    return msgspec.structs.replace(last, findings=(*cues, *last.findings))


def _may_be_a_crisis(result: CaseResult) -> bool:
    """A cue was found, or the user's message could not be read, so that none can be ruled out."""
    return is_called_for(result) or result.language_of("user") == UNDETERMINED
