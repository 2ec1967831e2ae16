"""The verdict on one reply or one conversation: what the checks decided, explained by the rules in force.

Library, guard, server, MCP, pytest and adapters all return or serialise this type. `ReplyEvaluator` makes it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from synthesis.checks.explained import Explanation
from synthesis.checks.registry import asked_checks, rules_in_force, signals_read
from synthesis.errors import OptionError
from synthesis.garbage import without_collection
from synthesis.glossary import glossary_of
from synthesis.model import Case, CaseResult, CheckResult, Finding, Turn, case_outcome
from synthesis.model.result import FAIL, NO_REPLY, NO_RULES, NO_TEXT, PASS, card, merged_findings
from synthesis.model.texts import ENGLISH, Advice
from synthesis.printable import safe
from synthesis.read.cases import ROLES, side_of, text_of
from synthesis.report.findings import CUES, AlertNotice, Glossary, Remark, feedback, in_language, notice_of, remarks_on
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.text import UNDETERMINED
from synthesis.run.evaluator import Evaluator
from synthesis.run.spec import known_profile, known_reader
from synthesis.settings import DEFAULT_CHECKS, LEARNED, RULES, TRAFFIC

CRISIS = "crisis_response"
Messages = Sequence[Mapping[str, Any] | Turn]
Asked = str | Messages  # the user's message, or all messages up to it


class ExplainedFinding(Finding, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """A rule that fired: the matched words (offsets in code points), why it matters, what would be better."""

    why: str
    instead: str


class Verdict(CaseResult, frozen=True, kw_only=True):
    """The result of one reply or conversation with everything in words: findings, remarks and the alert.

    `outcome` is pass, fail, not_applicable or error, judged by `profile`. `remarks` say what speaks against the reply
    or is missing from it: the words, the rule, why it matters, what would be better. `notice` is the alert in words:
    the user shows signs of a crisis, and how the reply answers them. `in_crisis` is true where such signs were
    found, or where the user's message could not be read. `feedback` tells the writer of the reply what to change, in
    the user's language; it is empty where nothing speaks against the reply. `explained` has the steps by which each
    check decided on each exchange, if they were asked for.
    """

    remarks: tuple[Remark, ...] = ()
    notice: AlertNotice | None = None
    in_crisis: bool = False
    feedback: str = ""
    explained: dict[str, tuple[Explanation, ...]] = msgspec.field(default_factory=dict)

    @classmethod
    @without_collection()
    def of(cls, result: CaseResult, glossary: Glossary, *, in_crisis: bool | None = None) -> "Verdict":
        """The verdict that a result gives, in the words of these rules."""
        fields = {name: getattr(result, name) for name in CaseResult.__struct_fields__}
        fields["findings"] = _explained(result.findings, result, glossary)
        if result.alert is not None:
            findings = _explained(result.alert.findings, result, glossary)
            fields["alert"] = msgspec.structs.replace(result.alert, findings=findings)
        remarks = remarks_on(result, glossary, result.language)
        return cls(
            **fields,
            remarks=remarks,
            notice=notice_of(result, glossary, result.language),
            in_crisis=may_be_a_crisis(result) if in_crisis is None else in_crisis,
            feedback=_feedback(result, remarks, glossary),
        )

    def __bool__(self) -> bool:
        """Whether nothing failed, so that `assert verdict` reads well."""
        return self.passed is True

    def __str__(self) -> str:
        """The alert, the outcome, what speaks against the reply and why, then the other checks."""
        return "\n".join([*self._alerts, self.headline, *self._story])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return card(self.outcome, self.headline, [*self._alerts, *self._story])

    @property
    def failed(self) -> bool:
        return self.outcome == FAIL

    @property
    def reply(self) -> str:
        """The reply that was judged; of a conversation the last one."""
        return self.exchanges[-1][1] if self.exchanges else ""

    @property
    def assessed(self) -> bool:
        """Whether both sides could be read; else a verdict says nothing about what they hold."""
        reasons = [check.reason or "" for check in self.checks.values()]
        unread = bool(reasons) and all(reason.startswith((NO_RULES, NO_TEXT, NO_REPLY)) for reason in reasons)
        return not unread and UNDETERMINED not in {self.language, self.language_of("user")}

    @property
    def score(self) -> float | None:
        """The share of the checks that passed, of those that applied; None where none gave a verdict."""
        verdicts = [check.outcome for check in self.checks.values() if check.outcome in {PASS, FAIL}]
        return verdicts.count(PASS) / len(verdicts) if verdicts else None

    @property
    def reasons(self) -> dict[str, str]:
        """By check, why it passed, failed or did not apply."""
        return {name: self._reason(check) for name, check in self.checks.items()}

    @property
    def weight(self) -> dict[str, Any]:
        """How bad it is, for tools that keep data beside a verdict: severities, and the alert in words."""
        severities = {name: self.checks[name].severity for name in self.failed_checks}
        alert = str(self.notice) if self.notice else None
        return {"severity": self.severity, "severities": severities, "alert": alert}

    @property
    def reason(self) -> str:
        """The reasons of all checks, in lines, the worst first."""
        ranked = sorted(self.checks, key=lambda name: self.checks[name].urgency)
        return "\n".join(self._reason(self.checks[name]) for name in ranked)

    def to_record(self) -> dict[str, Any]:
        """The fields of a result in a report, and the profile, the explanations, the remarks and the notice."""
        fields = super().to_record()
        lead = {name: fields[name] for name in ("id", "pass", "outcome")}
        fields = {**lead, "profile": self.profile, **fields, "remarks": self.remarks}
        if self.explained:
            fields["explained"] = self.explained
        if self.notice is None:
            return fields
        notice = {"notice": str(self.notice), "remarks": self.notice.remarks}
        return {"alert": {**fields.pop("alert"), **notice}, **fields}

    def assert_passes(self) -> None:
        """Raise AssertionError, with the words, the rule and what would be better, unless every check passes.

        A reply that could not be read has passed nothing.
        """
        __tracebackhide__ = True
        if not self or not self.assessed:
            raise AssertionError(str(self))

    def assert_fails(self, check: str) -> None:
        """Raise AssertionError unless `check` fails the reply."""
        __tracebackhide__ = True
        if check not in self.failed_checks:
            raise AssertionError(f"{check} finds nothing against this reply: {self.headline}")

    def _reason(self, check: CheckResult) -> str:
        if check.error is not None:
            return f"{check.check}: no verdict ({check.error})"
        if not check.applicable:
            return f"{check.check}: not applicable ({check.reason})"
        against = [str(remark) for remark in self.remarks if remark.check == check.check]
        return "\n".join(against) or f"{check.check}: passed"

    @property
    def _alerts(self) -> list[str]:
        """The alert in a line; what speaks against the reply comes after the outcome, as with any other check."""
        return [safe(f"alert: {self.notice}")] if self.notice else []

    @property
    def _story(self) -> list[str]:
        """What speaks against the reply, then the checks that do not."""
        against = [safe(line) for remark in self.remarks for line in _told(remark)]
        others = [check for check in self.checks.values() if check.outcome != FAIL]
        return [*against, *(safe(self._reason(check)) for check in others)]


def _explained(findings: Iterable[Finding], result: CaseResult, glossary: Glossary) -> tuple[ExplainedFinding, ...]:
    spoken = {where: result.language_of(where) for where in ("user", "assistant")}
    return tuple(_explain(finding, glossary.on_rule(spoken[finding.where], finding.rule)) for finding in findings)


def _explain(finding: Finding, advice: Advice) -> ExplainedFinding:
    return ExplainedFinding(*_fields(finding), why=advice.why, instead=advice.instead)


_fields = attrgetter(*Finding.__struct_fields__)


def _feedback(result: CaseResult, remarks: Sequence[Remark], glossary: Glossary) -> str:
    """What to tell the writer of the reply, the worst first, in the user's language: the next reply should be in it."""
    if result.outcome != FAIL:
        return ""
    asked = (result.language_of("user"), result.language)
    language = next((code for code in asked if glossary.texts(code).lead), ENGLISH)
    told = remarks if language == result.language else remarks_on(result, glossary, language)
    against = [in_language(remark, result.language, glossary, language) for remark in told]
    return feedback(against, glossary.texts(language).lead)


def may_be_a_crisis(result: CaseResult) -> bool:
    """A cue was found, or the user's message could not be read, so that none can be ruled out."""
    return result.alert is not None or result.language_of("user") == UNDETERMINED


def _told(remark: Remark) -> Iterator[str]:
    """The words that count against a reply and why, else what it lacks; then what would be better."""
    if remark.rule:
        yield f"{remark.check}: {remark.place}“{remark.words}”  [{remark.source}]"
        yield f"    why      {remark.why}"
    else:
        yield f"{remark.check}: {remark.place}{remark.why}"
    if remark.instead:
        yield f"    instead  {remark.instead}"


# From texts to verdicts.


class ReplyEvaluator:
    """Evaluates replies and conversations with one set of checks. One serves many conversations."""

    def __init__(
        self,
        checks: str | Iterable[str] = DEFAULT_CHECKS,
        *,
        profile: str = TRAFFIC,
        reader: str = LEARNED,
        rules: RuleSet | None = None,
        lang: str | None = None,
    ) -> None:
        self.checks = asked_checks(checks)
        self.lang = lang
        self.profile = known_profile(profile)
        in_force = rules_in_force(reader=known_reader(reader)) if rules is None else rules
        # The signals of crisis_response are read in any case: what a guard may do depends on them.
        needed = in_force.with_signals(signals_read((*self.checks, CRISIS), self.profile))
        if reader == RULES:
            needed.learned = None  # also where `rules` bring a reader
        self._evaluator = Evaluator(needed, profile=self.profile)
        self._glossary = glossary_of(in_force)

    @without_collection()
    def reply(self, user: Asked, assistant: str | None, lang: str | None = None, *, explain: bool = False) -> Verdict:
        """The verdict on one reply to a message, or to a conversation that ends with one.

        Only this reply is judged; earlier messages decide what it is a reply to, and a sign of a crisis counts
        wherever the user gave it. None is a reply without text, such as a tool call.
        """
        case = self._case(user, assistant or "", lang or self.lang)
        found = self._evaluator.evaluate([case])[0]
        verdict = Verdict.of(_of_last_reply(found), self._glossary, in_crisis=may_be_a_crisis(found))
        return self._explained(verdict, case) if explain else verdict

    def conversation(self, messages: Messages, lang: str | None = None) -> Verdict:
        """The verdict on all replies of a conversation; the worst turn decides."""
        return self.case(Case("", self.checks, messages=turns_of(messages), lang=lang or self.lang))

    @without_collection()
    def case(self, case: Case, *, explain: bool = False) -> Verdict:
        """The verdict on a case, by the checks that it names; `explain` adds the steps by which they decided."""
        verdict = Verdict.of(self._evaluator.evaluate([case])[0], self._glossary)
        return self._explained(verdict, case) if explain else verdict

    def _explained(self, verdict: Verdict, case: Case) -> Verdict:
        asked = msgspec.structs.replace(case, checks=tuple(verdict.checks))
        return msgspec.structs.replace(verdict, explained=self._evaluator.explain(asked))

    def _case(self, user: Asked, reply: str, lang: str | None) -> Case:
        if isinstance(user, str):
            return Case("", self.checks, user, reply, lang=lang)
        turns = turns_of(user)
        spoken = [turn for turn in turns if turn.role in {"user", "assistant"} and turn.content.strip()]
        if not spoken or spoken[-1].role != "user":
            raise OptionError("the messages do not end with the user's", hint="Hand the reply over on its own.")
        return Case("", self.checks, messages=(*turns, Turn("assistant", reply)), lang=lang)


def turns_of(messages: Iterable[Mapping[str, Any] | Turn]) -> tuple[Turn, ...]:
    """Messages as other tools write them: `role`, and `content` as a text, in parts, or None for a tool call."""
    turns = [message if isinstance(message, Turn) else _turn(message, place) for place, message in enumerate(messages)]
    if not turns:
        raise OptionError("there are no messages", hint="Give at least one, with `role` and `content`.")
    return tuple(turns)


def _turn(message: Mapping[str, Any], place: int) -> Turn:
    role, content = side_of(message.get("role")), text_of(message.get("content"))
    if role is None:
        raise OptionError(
            f"message {place + 1} has the unknown role {message.get('role')!r}",
            hint=f"Known roles: {', '.join(sorted(ROLES))}.",
        )
    if content is None or "content" not in message:
        raise OptionError(f"message {place + 1} has no text", hint="Give `content`: a text, parts, or None.")
    return Turn(role, content)


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
    cues = tuple(finding for finding in alert.findings if finding.signal in CUES and finding not in last.findings)
    return msgspec.structs.replace(last, findings=(*cues, *last.findings))
