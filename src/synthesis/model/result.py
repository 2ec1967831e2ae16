"""What came of a case: findings, the verdict of each check, also over turns, and an outcome. Frozen, no I/O."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Annotated, Any

import msgspec

from synthesis.errors import shorten
from synthesis.garbage import without_collection
from synthesis.model.case import Case, Source, Turn
from synthesis.printable import safe

PASS, FAIL, NOT_APPLICABLE, ERROR = "pass", "fail", "not_applicable", "error"
OUTCOME_WORDS = {PASS: "passed", FAIL: "failed", NOT_APPLICABLE: "not applicable", ERROR: "ended in error"}
NO_RULES = "there are no rules for the language"  # how the reason of a check begins that could read nothing
# The reasons of a check that had nothing to read.
NO_TEXT = "the reply has no text (a tool call, for example)"
NO_REPLY = "what the user said last has no reply"
EXPLICIT_CUE, SOFT_CUE, NO_CUE = "explicit", "soft", "none"  # the evidence `cue`
FOR, AGAINST, CONTEXT = "for", "against", "context"  # what a finding says about a reply
CRITICAL, SERIOUS, MINOR = "critical", "serious", "minor"  # how bad a failed check is
SEVERITIES = (CRITICAL, SERIOUS, MINOR)  # the worst first
MOST_SURE = 3  # signs against a reply, of which more make nobody surer
_RANK = {NOT_APPLICABLE: 0, PASS: 1, FAIL: 2, ERROR: 3}
_LANGUAGES = ("language", "language_by", "user_language")
_SHOWN_WORDS = 3  # that a line on the console quotes
LEAST_IN_HALF = 4  # assessed turns; below that a rate is one lucky or unlucky turn
# Every turn after a cue of a crisis is judged by it, so that late turns fail more often whatever the assistant does.
WITHOUT_DRIFT = frozenset({"crisis_response"})


class Timeline(msgspec.Struct, frozen=True):
    """The outcomes of a check by turn; turns are numbered from 0, as those of findings are."""

    check: str
    outcomes: tuple[str, ...]

    @property
    def first_failure(self) -> int | None:
        """The first turn that failed."""
        return self.outcomes.index(FAIL) if FAIL in self.outcomes else None

    @property
    def longest_run(self) -> int:
        """The most assessed turns in a row that failed; turns in between that were not assessed do not end a run."""
        return max((len(list(run)) for failed, run in groupby(self._failed) if failed), default=0)

    @property
    def can_drift(self) -> bool:
        return self.check not in WITHOUT_DRIFT

    @property
    def half(self) -> int:
        """How many assessed turns each half has; 0 if they are too few, or if this check has no drift."""
        half = len(self._failed) // 2
        return half if half >= LEAST_IN_HALF and self.can_drift else 0

    @property
    def failed_in_halves(self) -> tuple[int, int]:
        """Failures among the first and among the last assessed turns; of an odd number the middle one is in neither."""
        failed, half = self._failed, self.half
        return sum(failed[:half]), sum(failed[len(failed) - half :])

    @property
    def rates(self) -> tuple[float, float] | None:
        """The rate of failures in the first and in the second half; None if the conversation is too short."""
        first, second = self.failed_in_halves
        return (first / self.half, second / self.half) if self.half else None

    @property
    def difference(self) -> float | None:
        """How much more often the second half fails than the first: above 0 the conversation got worse."""
        first, second = self.failed_in_halves
        return (second - first) / self.half if self.half else None

    def to_dict(self) -> dict[str, Any]:
        """The fields of the report."""
        first, second = self.rates or (None, None)
        return {
            "outcomes": list(self.outcomes),
            "first_failure": self.first_failure,
            "longest_run": self.longest_run,
            "first_half": _rounded(first),
            "second_half": _rounded(second),
            "difference": _rounded(self.difference),
        }

    @property
    def _failed(self) -> Sequence[bool]:
        return [outcome == FAIL for outcome in self.outcomes if outcome in {PASS, FAIL}]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


PLAIN = "fail"  # the severity of a rule that names none


class Finding(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A rule that fired: which, for which signal, and the exact words (code points of the original text).

    `role` is what its signal says about a reply; `counted` means that it took part in the verdict of a check. Reports
    before format version 2 recorded neither, and say None. `checks` names the checks that counted it: in the findings
    of a case only.
    """

    rule: str
    signal: str
    where: Annotated[str, msgspec.Meta(extra_json_schema={"enum": ["user", "assistant"]})]
    turn: int
    start: int
    end: int
    text: str
    severity: str = PLAIN
    role: Annotated[str | None, msgspec.Meta(description="`for` or `against` the reply, or `context`.")] = None
    counted: Annotated[bool | None, msgspec.Meta(description="Whether it took part in the verdict of a check.")] = None
    checks: Annotated[tuple[str, ...], msgspec.Meta(description="The checks that counted it.")] = ()
    reader: Annotated[str, msgspec.Meta(description="The learned reader that found it; absent: a rule did.")] = ""
    score: Annotated[float | None, msgspec.Meta(description="How sure the learned reader is, as a logit.")] = None
    threshold: Annotated[float | None, msgspec.Meta(description="The score from which on it decides alone.")] = None
    share: Annotated[float | None, msgspec.Meta(description="Of what speaks for it, the part of these words.")] = None

    @property
    def place(self) -> tuple[object, ...]:
        """What tells a finding from any other of its case, in reading order."""
        return (self.turn, self.where == "assistant", self.start, self.end, self.signal, self.rule)

    def __reduce__(self) -> tuple[object, ...]:
        """Omitted are defaults by identity, so that of `severity` has to be the same object in every process."""
        return _unpickled, (type(self), tuple(getattr(self, name) for name in self.__struct_fields__))


def _unpickled(kind: type[Finding], fields: tuple[Any, ...]) -> Finding:
    known = dict(zip(kind.__struct_fields__, fields, strict=True))
    if known["severity"] == PLAIN:
        known["severity"] = PLAIN
    return kind(**known)


class CheckResult(msgspec.Struct, frozen=True):
    """The verdict of one check on one case, with the evidence it rests on."""

    check: str
    passed: bool
    evidence: dict[str, Any] = {}
    findings: tuple[Finding, ...] = ()
    applicable: bool = True
    reason: str | None = None
    error: str | None = None
    turns: tuple["CheckResult", ...] = ()
    missing: tuple[str, ...] = ()  # what the reply lacks, where that decided: names that the check registered
    profile: str = ""  # that it was judged by; a report says it once for all its results
    severity: str | None = None  # of a failure: critical, serious or minor

    @classmethod
    def from_dict(cls, check: str, fields: dict[str, Any], findings: Sequence[Finding] = ()) -> "CheckResult":
        """The verdict that `to_dict` wrote, with the findings of its case that it counted."""
        turns = tuple(
            cls.from_dict(check, turn, [finding for finding in findings if finding.turn == number])
            for number, turn in enumerate(fields.get("turns", ()))
        )
        if fields["pass"] is None:
            return cls(check, passed=False, error=fields.get("error") or "no verdict", turns=turns)
        applies = fields.get("applicable") is not False
        own = {"pass", "severity", "missing", "turns", *(() if applies else ("applicable", "reason"))}
        return cls(
            check,
            fields["pass"],
            {key: value for key, value in fields.items() if key not in own},
            tuple(findings),
            applies,
            None if applies else fields.get("reason"),
            turns=turns,
            missing=tuple(fields.get("missing", ())),
            severity=fields.get("severity"),
        )

    @property
    def outcome(self) -> str:
        if self.error is not None:
            return ERROR
        if not self.applicable:
            return NOT_APPLICABLE
        return PASS if self.passed else FAIL

    @property
    def failed_turns(self) -> list["CheckResult"]:
        """The verdicts that failed, turn by turn; the verdict itself where there is one exchange only."""
        return [turn for turn in self.turns or (self,) if turn.outcome == FAIL]

    @property
    def has_soft_cue(self) -> bool:
        """Whether words were found that may be about a crisis, none of them explicit."""
        return self.evidence.get("cue") == SOFT_CUE

    @property
    def against(self) -> list[Finding]:
        """The findings that counted against the reply where it failed, in the order of the text."""
        found = (finding for turn in self.failed_turns for finding in turn.findings)
        return [finding for finding in found if finding.counted and finding.role == AGAINST]

    @property
    def urgency(self) -> tuple[int, int]:
        """What is read first, as a key to sort by: how bad, then how sure; what did not fail comes last."""
        if self.outcome != FAIL:
            return len(SEVERITIES), 0
        bad = SEVERITIES.index(self.severity) if self.severity else SEVERITIES.index(MINOR)
        signs = {finding.rule for finding in self.against}
        signs.update(name for turn in self.failed_turns for name in turn.missing)
        return bad, -min(len(signs), MOST_SURE)

    def __str__(self) -> str:
        return f"{self.check}: {self._in_words(self.profile)}"

    def __repr__(self) -> str:
        return f"<CheckResult {self}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return card(self.outcome, str(self), [])

    def _in_words(self, profile: str = "") -> str:
        """The outcome, the profile, and what decided: an error, a reason, the words found or what is missing."""
        context = ", ".join(part for part in (self.severity, profile) if part)
        judged = OUTCOME_WORDS[self.outcome] + (f" ({context})" if context else "")
        return f"{judged}: {safe(self._because)}" if self._because else judged

    @property
    def _because(self) -> str:
        if self.outcome != FAIL:
            return self.error or self.reason or ""
        words = list(dict.fromkeys(f"“{shorten(finding.text)}”" for finding in self.against))
        more = [f"{len(words) - _SHOWN_WORDS} more"] if len(words) > _SHOWN_WORDS else []
        absent = [f"missing: {name}" for turn in self.failed_turns for name in turn.missing]
        return ", ".join([*words[:_SHOWN_WORDS], *more, *dict.fromkeys(absent)])

    def to_dict(self) -> dict[str, Any]:
        """The fields of the report: `pass`, then the evidence."""
        if self.error is not None:
            turns = {"turns": [turn.to_dict() for turn in self.turns]} if self.turns else {}
            return {"pass": None, "error": self.error, **turns}
        fields: dict[str, Any] = {"pass": self.passed}
        if self.severity:
            fields["severity"] = self.severity
        if not self.applicable:
            fields |= {"applicable": False, "reason": self.reason}
        fields |= self.evidence
        if self.missing:
            fields["missing"] = list(self.missing)
        if self.turns:
            fields["turns"] = [turn.to_dict() for turn in self.turns]
        return fields


def worst_of(turns: Sequence[CheckResult], first: Callable[[CheckResult], bool] = lambda _: False) -> CheckResult:
    """The fields of the worst turn on top, of equals one that comes `first`; all turns below, and all findings."""
    worst = max(turns, key=lambda turn: (_RANK[turn.outcome], -turn.urgency[0], first(turn)))
    findings = tuple(finding for turn in turns for finding in turn.findings)
    return msgspec.structs.replace(worst, findings=findings, turns=tuple(turns))


class LabelComparison(msgspec.Struct, frozen=True):
    """What a person expected of a check, and what it said."""

    expected: bool
    actual: bool | None
    match: bool


class CaseResult(msgspec.Struct, frozen=True):
    """Everything that is known about one evaluated case."""

    id: str
    outcome: str
    is_negative_example: bool
    checks: dict[str, CheckResult]
    findings: tuple[Finding, ...] = ()
    label_comparison: dict[str, LabelComparison] = {}
    languages: dict[str, str] = {}  # `language` of the reply, `language_by`, `user_language` where it differs
    tags: tuple[str, ...] = ()
    source: Source | None = None
    texts: dict[str, Any] = {}  # `user` and `assistant`, or `messages`; and whatever keys somebody added to a report
    alert: CheckResult | None = None  # in traffic, of the check that a cue of a crisis calls for; among the checks too
    profile: str = ""  # that it was judged by; a report says it once for all its results

    def __str__(self) -> str:
        """The outcome, then a line for each check, the worst first."""
        return "\n".join([self.headline, *(f"  {line}" for line in self._lines)])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.headline}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return card(self.outcome, self.headline, self._lines)

    @property
    def headline(self) -> str:
        """The outcome in one line, with how bad it is, the profile and the language of the reply."""
        judged = "not assessed" if self.outcome == NOT_APPLICABLE else OUTCOME_WORDS[self.outcome]
        context = ", ".join(part for part in (self.severity, self.profile, self.language) if part)
        parts = [f"{safe(self.name)}:" if self.name else "", judged, f"({context})" if context else ""]
        failed = f": {', '.join(self.failed_checks)}" if self.failed_checks else ""
        return " ".join(part for part in parts if part) + failed

    @property
    def is_unanswered(self) -> bool:
        """Whether the cue of a crisis is in what the user said last, and no words of a reply follow."""
        if self.alert is None:
            return False
        turns = self.alert.turns or (self.alert,)
        cued = {finding.turn for finding in self.alert.findings if finding.severity != "warning"}
        return turns[-1].reason in {NO_REPLY, NO_TEXT} and len(turns) - 1 in cued

    @property
    def is_unread(self) -> bool:
        """Whether no check had rules for its language: that nothing was found says nothing."""
        reasons = [check.reason or "" for check in self.checks.values()]
        return self.outcome == NOT_APPLICABLE and all(reason.startswith(NO_RULES) for reason in reasons)

    @property
    def _lines(self) -> list[str]:
        alert = [f"alert, {self.alert.check}: {self.alert._in_words()}"] if self.alert else []
        others = [check for name, check in self.checks.items() if not self.alert or name != self.alert.check]
        ranked = sorted(others, key=lambda check: (-_RANK[check.outcome], check.urgency))
        return [*alert, *(f"{check.check}: {check._in_words()}" for check in ranked)]

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "CaseResult":
        """The result that `to_dict` wrote; its checks know those findings only that they counted."""
        rest = dict(fields)
        findings = msgspec.convert(rest.pop("findings"), tuple[Finding, ...])
        checks = {
            name: CheckResult.from_dict(name, check, [finding for finding in findings if name in finding.checks])
            for name, check in rest.pop("checks").items()
        }
        del rest["pass"]
        rest.pop("severity", None)  # that of the worst check
        rest.pop("timelines", None)  # the checks' turns say the same
        return cls(
            rest.pop("id"),
            rest.pop("outcome"),
            rest.pop("is_negative_example"),
            checks,
            findings,
            msgspec.convert(rest.pop("label_comparison", {}), dict[str, LabelComparison]),
            {key: rest.pop(key) for key in _LANGUAGES if key in rest},
            tuple(rest.pop("tags", ())),
            Source(**rest.pop("source")) if "source" in rest else None,
            alert=_alert(rest.pop("alert")) if "alert" in rest else None,
            texts=rest,
        )

    @property
    def name(self) -> str:
        """What people call the case: the id that its row had, else the one that it was given."""
        return (self.source and self.source.id) or self.id

    @property
    def has_texts(self) -> bool:
        return "assistant" in self.texts or "messages" in self.texts

    @property
    def exchanges(self) -> list[tuple[str, str]]:
        """What the user said and what the assistant replied, turn by turn, as findings count them."""
        if "messages" in self.texts:
            case = Case("", (), messages=msgspec.convert(self.texts["messages"], tuple[Turn, ...]))
            told = case.exchanges
            found = self.alert.findings if self.alert and case.unanswered else ()
            return [*told, (case.unanswered, "")] if any(one.turn == len(told) for one in found) else told
        return [(self.texts.get("user", ""), self.texts["assistant"])] if self.has_texts else []

    def language_of(self, where: str) -> str:
        """The language of the reply, or of the user's message where that is another one."""
        return self.languages.get("user_language", self.language) if where == "user" else self.language

    @property
    def passed(self) -> bool | None:
        """Whether all checks passed; None when one ended in error."""
        return None if self.outcome == ERROR else self.outcome != FAIL

    @property
    def language(self) -> str:
        return self.languages.get("language", "")

    @property
    def failed_checks(self) -> list[str]:
        """The worst first; of equals in the order of the checks."""
        failed = [name for name, result in self.checks.items() if result.outcome == FAIL]
        return sorted(failed, key=lambda name: self.checks[name].urgency) if len(failed) > 1 else failed

    @property
    def urgency(self) -> tuple[int, int]:
        """That of its worst check."""
        return min((check.urgency for check in self.checks.values()), default=(len(SEVERITIES), 0))

    @property
    def severity(self) -> str | None:
        """How bad its worst failure is; None for a case that did not fail."""
        failed = self.failed_checks
        return self.checks[failed[0]].severity if failed else None

    @property
    def timelines(self) -> dict[str, Timeline]:
        """By check, the outcomes of a conversation of several turns; empty for a single exchange."""
        return {
            name: Timeline(name, tuple(turn.outcome for turn in check.turns))
            for name, check in self.checks.items()
            if len(check.turns) > 1
        }

    @without_collection()
    def to_dict(self) -> dict[str, Any]:
        """The fields of the report's `results`."""
        fields: dict[str, Any] = msgspec.to_builtins(self.to_record())
        return fields

    def to_record(self) -> dict[str, Any]:
        """The same for an encoder, which takes findings and the source as they are."""
        fields: dict[str, Any] = {
            "id": self.id,
            "pass": self.passed,
            "outcome": self.outcome,
            **({"severity": self.severity} if self.severity else {}),
            "is_negative_example": self.is_negative_example,
            **self.languages,
            **({} if self.alert is None else {"alert": _alert_fields(self.alert)}),
            "checks": {name: result.to_dict() for name, result in self.checks.items()},
        }
        if timelines := self.timelines:
            fields["timelines"] = {name: timeline.to_dict() for name, timeline in timelines.items()}
        if self.label_comparison:
            fields["label_comparison"] = self.label_comparison
        fields["findings"] = self.findings
        if self.tags:
            fields["tags"] = list(self.tags)
        if self.source:
            fields["source"] = self.source
        return fields | self.texts


def _alert_fields(alert: CheckResult) -> dict[str, Any]:
    """An alert brings its findings with it, so that nothing else in a result differs for it."""
    findings = msgspec.to_builtins(merged_findings([alert]))
    return {"check": alert.check, **alert.to_dict(), "findings": findings}


def _alert(fields: dict[str, Any]) -> CheckResult:
    rest = dict(fields)
    findings = msgspec.convert(rest.pop("findings"), tuple[Finding, ...])
    return CheckResult.from_dict(rest.pop("check"), rest, findings)


def merged_findings(results: Iterable[CheckResult]) -> tuple[Finding, ...]:
    """The findings of all checks in reading order; what two read appears once, with the checks that counted it."""
    unique: dict[tuple[object, ...], Finding] = {}
    for result in results:
        own = (result.check,)
        for finding in result.findings:
            # As `place` has it: called for every finding, it would take a third of the time.
            where, start, end = finding.where == "assistant", finding.start, finding.end
            key = (finding.turn, where, start, end, finding.signal, finding.rule)
            known = unique.get(key)
            if finding.counted:
                unique[key] = msgspec.structs.replace(finding, checks=known.checks + own if known else own)
            elif known is None:
                unique[key] = finding
    return tuple([unique[key] for key in sorted(unique)])


def case_outcome(checks: dict[str, CheckResult]) -> str:
    """An error outranks a failure, a failure a pass; where nothing applied, nothing was assessed."""
    outcomes = {result.outcome for result in checks.values()}
    for outcome in (ERROR, FAIL, PASS):
        if outcome in outcomes:
            return outcome
    return NOT_APPLICABLE


# What a notebook shows. Its styles are inline, so that nothing of them reaches the notebook.
_TONES = {PASS: "#2e7d32", FAIL: "#b3261e", NOT_APPLICABLE: "#757575", ERROR: "#b26a00"}


def card(outcome: str, headline: str, lines: Iterable[str]) -> str:
    """A verdict as HTML of its own; every text is escaped."""
    from html import escape

    listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
    style = f"border-left: 4px solid {_TONES[outcome]}; padding: .3em .8em; white-space: pre-wrap"
    details = f'<ul style="margin: .3em 0; padding-left: 1.2em">{listed}</ul>' if listed else ""
    return f'<div style="{style}"><strong>{escape(headline)}</strong>{details}</div>'
