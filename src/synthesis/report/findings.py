"""What a result says, in the words that all outputs share: verdicts, reasons, remarks with advice, alerts."""

import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from synthesis.errors import ALIKE, SHOWN_PROBLEMS, listed, shorten
from synthesis.model import CaseResult, CheckResult, Finding
from synthesis.model.report import percent, reader_name
from synthesis.model.result import (
    AGAINST,
    CONTEXT,
    CRITICAL,
    ERROR,
    FAIL,
    FOR,
    MINOR,
    NO_REPLY,
    NOT_APPLICABLE,
    PASS,
    SERIOUS,
    SEVERITIES,
    merged_findings,
)
from synthesis.model.texts import ENGLISH, Advice, TextsOf, no_texts, on_absence

ByLanguage = Mapping[str, Advice]  # the language of the words; English is always there
_NO_ADVICE = Advice()


class Glossary(msgspec.Struct, frozen=True):
    """The words for what a report names. Anything that is not in it is shown by its name alone."""

    rules: Mapping[tuple[str, str], ByLanguage] = {}  # (language, rule id); the language "" stands for any
    signals: Mapping[str, str] = {}  # name -> title
    checks: Mapping[str, str] = {}  # name -> title
    failure_evidence: Mapping[str, Mapping[str, str]] = {}  # check -> key in `failures` -> key of its evidence
    rules_hash: str = ""
    texts: TextsOf = no_texts  # what packs say, by language

    def on_rule(self, language: str, rule: str, told_in: str = ENGLISH) -> Advice:
        """Advice on the rule of a language; `told_in` is the language of the words, English where they lack it."""
        return _told(self.words_on(language, rule), told_in)

    def words_on(self, language: str, rule: str) -> ByLanguage:
        """Advice by the language of the words."""
        return self.rules.get((language, rule)) or self.rules.get(("", rule), {})

    def on_absence(self, check: str, name: str, told_in: str = ENGLISH) -> Advice:
        return on_absence(self.texts, check, name, told_in)


def _told(words: ByLanguage, language: str) -> Advice:
    return words.get(language) or words.get(ENGLISH, _NO_ADVICE)


# Evaluated text made safe to show: nothing in it may act on a terminal, a parser or the direction of writing.


_UNSEEN = {"Cc", "Cs", "Co", "Zl", "Zp"}
# Format characters are kept (emoji and many scripts need joiners), but not those that turn the direction of writing.
_DIRECTION = {chr(code) for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_NO_CHARACTERS = {"\ufffe", "\uffff"}
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_unseen(char: str) -> bool:
    """Whether a character shows nothing by itself and could deceive or do harm."""
    return unicodedata.category(char) in _UNSEEN or char in _DIRECTION or char in _NO_CHARACTERS


def visible(text: str, keep: str = "") -> str:
    """`text` with control, surrogate and direction characters spelled out, apart from those in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char in keep or not is_unseen(char) else _spelled(char) for char in text)


def _spelled(char: str) -> str:
    return _ESCAPES.get(char) or (f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}")


def count(number: int, noun: str) -> str:
    """`1 case`, `2 cases`, `12,000 cases`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def pass_rate(summary: Mapping[str, Any]) -> str:
    """`60 % of the 25 assessed passed`; empty where nothing was assessed."""
    passed = summary["passed"] - summary["not_applicable"]
    assessed = passed + summary["failed"]
    if not assessed:
        return ""
    base = "" if assessed == summary["cases"] else f"of the {assessed:,} assessed "
    return f"{percent(passed, assessed)} % {base}passed"


# The first sentence of every output: what is wrong, how bad it is, and what to read first.


NAMED = 3  # cases in a sentence
# What a critical failure of a check is, in a few words; one that is not here is called by its name.
_CRITICAL = {
    "clinical_scope": "a dose, a treatment or a fed delusion",
    "crisis_response": "a crisis without help",
    "engagement_pressure": "pressure in a crisis",
}


def first_sentence(summary: Mapping[str, Any], worst: Iterable[CaseResult]) -> str:
    """`2 critical: a crisis without help in row 7 and row 31. 5 serious, 9 minor in 3,000 replies.`

    `worst` are results in reading order, among them the critical ones that are to be named.
    """
    worst = list(worst)
    return _unanswered(summary, worst) + _failures(summary, worst)


def _unanswered(summary: Mapping[str, Any], worst: Iterable[CaseResult]) -> str:
    """Crises that nobody answered lead: no check can fail a reply that is not there."""
    number = summary.get("unanswered", 0)
    if not number:
        return ""
    names = [visible(result.name) for result in worst if result.is_unanswered][:NAMED]
    more = f" and {number - len(names):,} more" if number > len(names) else ""
    what = "1 crisis" if number == 1 else f"{number:,} crises"
    return f"{what} without a reply{f' in {_listed(names)}' if names else ''}{more if names else ''}. "


def _failures(summary: Mapping[str, Any], worst: Iterable[CaseResult]) -> str:
    found = summary.get("by_severity")
    replies = count(summary["cases"], "case")
    if nothing_assessed(summary):
        return f"Nothing was assessed{_why_nothing(summary)}."
    if found is None or not any(found.values()):
        return f"{_no_failure(summary)} in {replies}{_unread(summary)}."
    less = ", ".join(f"{found[name]:,} {name}" for name in (SERIOUS, MINOR) if found[name])
    if not found[CRITICAL]:
        return f"No critical failure. {less} in {replies}{_unread(summary)}."
    named = f"{found[CRITICAL]:,} critical: {_critical(worst, found[CRITICAL])}"
    return f"{named}. {less} in {replies}{_unread(summary)}." if less else f"{named}, of {replies}{_unread(summary)}."


def _no_failure(summary: Mapping[str, Any]) -> str:
    """Old reports have no severities, and cases that should fail are no alarm."""
    failed, expected = summary["unexpected_failures"], summary["expected_failures"]
    if failed:
        return count(failed, "failure")
    if expected:
        return f"No unexpected failure, and {expected:,} that should fail did,"
    return "No failure"


def nothing_assessed(summary: Mapping[str, Any]) -> bool:
    """Whether no case has a verdict, so that nothing that was found or not found is good news."""
    return bool(summary["passed"] == summary["not_applicable"] and not summary["failed"])


def _why_nothing(summary: Mapping[str, Any]) -> str:
    """The one reason where there is one, else all that is known."""
    cases, unread, errors = summary["cases"], summary.get("unread", 0), summary["errors"]
    if not unread:
        return f" in {count(cases, 'case')}{_unread(summary)}"
    told = f": {unread:,} of {count(cases, 'case')} {_are(unread)} in a language without rules"
    return f"{told}; {errors:,} ended in error" if errors else told


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _unread(summary: Mapping[str, Any]) -> str:
    """What has no verdict, and why."""
    errors, unread = summary["errors"], summary.get("unread", 0)
    failed = f"; {errors:,} ended in error, without a verdict" if errors else ""
    their = "its language" if unread == 1 else "their languages"
    return f"{failed}; {unread:,} not read: no rules for {their}" if unread else failed


def _critical(worst: Iterable[CaseResult], total: int) -> str:
    """Each cause with the cases it is found in."""
    cases: dict[str, list[str]] = {}
    shown = 0
    for result in worst:
        if result.severity == CRITICAL and not result.is_negative_example and shown < NAMED:
            check = result.failed_checks[0]
            cases.setdefault(_CRITICAL.get(check, check), []).append(visible(result.name))
            shown += 1
    told = "; ".join(f"{cause} in {_listed(names)}" for cause, names in cases.items())
    return f"{told}; and {total - shown:,} more" if total > shown else told


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


# What a result says, in the words that all renderers share.


# Kinds of results, the ones that need a look first.
UNEXPECTED, EXPECTED, MISSED = "unexpected", "expected", "missed"
KINDS = {
    UNEXPECTED: "unexpected failure",
    ERROR: "error, no verdict",
    MISSED: "passed, but should fail",
    EXPECTED: "expected failure",
    NOT_APPLICABLE: "not assessed",
    PASS: "passed",
}
# In a log nobody expected anything.
KINDS_IN_TRAFFIC = KINDS | {UNEXPECTED: "failed"}
# How much a case needs a look, the first most: failures by severity, then what else a person should see.
NEEDS = (
    *SEVERITIES,
    "crises without a reply",
    "no verdict",
    "passed, but should fail",
    "answered crises",
    "notes",
    "the rest",
)
# How the outcome of a turn is drawn.
TURN_SIGNS = {PASS: "✓", FAIL: "✗", NOT_APPLICABLE: "–", ERROR: "!"}
SHORT_DISCLAIMER = "Markers in language only: passing does not mean safe, empathetic or clinically sound."
DISCLAIMER = (
    "Synthesis finds markers in language. Passing does not mean that a reply is safe, empathetic or clinically sound. "
    "It is not for triage, and it is not clinically validated."
)
# How a finding is shown, the ones that need a look first: its role where it counted.
OUTWEIGHED, UNCOUNTED, UNRECORDED, IN_CRISIS = "outweighed", "uncounted", "unrecorded", "crisis"
MARKS = {
    AGAINST: "speaks against the reply",
    OUTWEIGHED: "would speak against the reply, but was outweighed",
    FOR: "speaks for the reply",
    UNRECORDED: "found; whether it counted is not recorded",
    IN_CRISIS: "said by the user, an explicit cue of a crisis",
    CONTEXT: "said by the user, sets the scene",
    UNCOUNTED: "found, but speaks neither for nor against this reply",
}
SIGNS = {AGAINST: "−", OUTWEIGHED: "−", FOR: "+", IN_CRISIS: "!", CONTEXT: "•", UNCOUNTED: "○", UNRECORDED: "?"}
ON_REQUEST = {CONTEXT, UNCOUNTED}  # marks that are not shown until somebody asks for them
CUE, CRISIS_CHECK = "crisis.cue", "crisis_response"  # by name: a report is drawn without the checks
CUES = (CUE, "learned.cue_self", "learned.cue")  # explicit cues, found by rules or by the learned reader


def mark_of(finding: Finding) -> str:
    """What a finding is by itself. What a report does not record is shown as such, never guessed."""
    if finding.role is None:
        return UNRECORDED
    return finding.role if finding.counted or finding.role == CONTEXT else UNCOUNTED


def marks_of(result: CaseResult) -> list[str]:
    """How each finding of a result is shown, in the light of its verdicts.

    A result without checks is the trial of a rule, where all that it found matters.
    """
    verdicts = {**({result.alert.check: result.alert} if result.alert else {}), **result.checks}
    if not verdicts:
        return list(map(mark_of, result.findings))
    decided = {finding.place for check in verdicts.values() for finding in check.against if check.outcome == FAIL}
    doubts = [one for one in result.findings if one.role == AGAINST and not _is_excused(one, result.findings)]
    return [_mark_in(verdicts, finding, decided, doubts) for finding in result.findings]


def _mark_in(
    verdicts: Mapping[str, CheckResult], finding: Finding, decided: Container[object], doubts: Sequence[Finding]
) -> str:
    """What a check counted and passed all the same decided nothing, and what it counts for a reply may not save it."""
    mark = mark_of(finding)
    if mark == AGAINST and finding.place not in decided:
        return OUTWEIGHED
    if mark == FOR and not _supports(verdicts, finding, doubts):
        return UNCOUNTED
    is_cue = mark == CONTEXT and finding.signal in CUES and CRISIS_CHECK in finding.checks
    return IN_CRISIS if is_cue else mark


def _supports(verdicts: Mapping[str, CheckResult], finding: Finding, doubts: Sequence[Finding]) -> bool:
    """Whether words speak for the reply: no wording around them speaks against it, and nothing graver is wrong.

    Where a turn fails as critical, kind words mean nothing unless the check that failed it, or the one that looks after
    a crisis, counted them.
    """
    if any(_holds(doubt, finding) for doubt in doubts):
        return False
    told = {name: _at(check, finding.turn) for name, check in verdicts.items()}
    grave = {name for name, check in told.items() if check.outcome == FAIL and check.severity == CRITICAL}
    heard = {name for name in finding.checks if name in told and told[name].outcome in {PASS, FAIL}}
    return bool(heard & {*grave, CRISIS_CHECK} if grave else heard)


def _at(check: CheckResult, turn: int) -> CheckResult:
    return check.turns[turn] if turn < len(check.turns) else check


def _holds(around: Finding, inner: Finding) -> bool:
    same = around.turn == inner.turn and around.where == inner.where
    return same and around.start <= inner.start and inner.end <= around.end


def _is_excused(against: Finding, findings: Iterable[Finding]) -> bool:
    """Whether its own check counts its words for the reply: "Call 988" is an order, and a step to safety."""
    # Rules are named after their check (pressure, engagement_pressure), and so are heads of the learned reader.
    family = against.rule.removeprefix(LEARNED_PREFIX).partition(".")[0]
    return not against.counted and any(
        _overlap(against, other) and any(family in name for name in other.checks)
        for other in findings
        if other.counted and other.role == FOR
    )


def _overlap(one: Finding, other: Finding) -> bool:
    same = one.turn == other.turn and one.where == other.where
    return same and one.start < other.end and other.start < one.end


def kind_of(result: CaseResult) -> str:
    """The outcome of a case, weighed against what was expected of it."""
    if result.outcome == FAIL:
        return EXPECTED if result.is_negative_example else UNEXPECTED
    return MISSED if result.outcome == PASS and result.is_negative_example else result.outcome


def kinds_in_words(profile: str) -> dict[str, str]:
    """What the kinds of results are called."""
    return KINDS_IN_TRAFFIC if profile == "traffic" else KINDS


def need_of(result: CaseResult) -> int:
    """How much a case needs a look, as a place in NEEDS."""
    kind = kind_of(result)
    if kind == UNEXPECTED:
        return result.urgency[0]
    noted = any(check.has_soft_cue for check in result.checks.values()) or any(map(is_warning, result.findings))
    differs = any(not label.match for label in result.label_comparison.values())
    needs = (result.is_unanswered, kind == ERROR, kind == MISSED, result.alert is not None, noted or differs, True)
    return len(SEVERITIES) + needs.index(True)


def reading_order(result: CaseResult) -> tuple[int, int]:
    """The key by which lists for people are sorted: what needs a look most, then what is surest; place decides then."""
    return need_of(result), result.urgency[1]


def deciding_turn(result: CaseResult) -> int:
    """Where the worst check failed first; without a failure where a crisis was answered, else the last exchange."""
    failed, last = result.failed_checks, len(result.exchanges) - 1
    verdict = result.checks[failed[0]] if failed else result.alert
    if verdict is None:
        return last
    told = (verdict.outcome, verdict.severity)
    turns = [turn for turn, one in enumerate(verdict.turns) if (one.outcome, one.severity) == told]
    return min(turns[0], last) if turns else last


def check_kind(result: CaseResult, name: str) -> str:
    """The same for one check: only a failure can be expected."""
    outcome = result.checks[name].outcome
    if outcome != FAIL:
        return outcome
    return EXPECTED if result.is_negative_example else UNEXPECTED


def is_warning(finding: Finding) -> bool:
    return finding.severity == "warning"


def error_of(result: CaseResult) -> str:
    """What went wrong, for a case without a verdict; once, if that is the same for all of its checks."""
    problems = {name: check.error for name, check in result.checks.items() if check.error}
    if len(problems) > 1 and len({*problems.values()}) == 1:
        return next(iter(problems.values()))
    return "; ".join(f"{name}: {error}" for name, error in problems.items()) or "no verdict"


class ErrorGroups:
    """Cases without a verdict by what went wrong: how many, and the first of them by name."""

    def __init__(self) -> None:
        self._groups: dict[str, tuple[list[str], int]] = {}

    def add(self, result: CaseResult) -> None:
        reason = next((check.error for check in result.checks.values() if check.error), "")
        self._add(reason, [result.name], 1)

    def merge(self, other: "ErrorGroups") -> None:
        for reason, (names, number) in other._groups.items():
            self._add(reason, names, number)

    def _add(self, reason: str, names: list[str], number: int) -> None:
        if reason in self._groups or len(self._groups) < SHOWN_PROBLEMS:
            known, before = self._groups.get(reason, ([], 0))
            self._groups[reason] = ([*known, *names][:ALIKE], before + number)

    def told(self) -> Iterator[tuple[str, str, int]]:
        """Names, what went wrong, and how many cases that is; up to a handful are told one by one."""
        for reason, (names, number) in self._groups.items():
            if number <= ALIKE:
                yield from ((name, reason, 1) for name in names)
            else:
                yield listed(names, number), reason, number


def evidence_sentence(languages: Mapping[str, Sequence[str]] | None, checks: Iterable[str]) -> str:
    """What the verdicts of these checks rest on; `languages` are those in which each was measured."""
    if languages is None:
        return "Evidence: this report does not record what its checks were measured on."
    names = sorted(checks)
    known = [f"{name} ({', '.join(languages[name])})" for name in names if languages.get(name)]
    rest = [name for name in names if not languages.get(name)]
    if not known:
        return "Evidence: tested on our own examples only; no held-out accuracy yet."
    others = f"{', '.join(rest)}, and all other languages" if rest else "all other languages"
    return f"Evidence: held-out accuracy for {', '.join(known)}; tested on our own examples only: {others}."


# Words that a learned reader marked, told from those of rules.


LEARNED_PREFIX = "learned."  # of the ids that it finds under; by name: a report is drawn without the checks
SHOW_READER = "synthesis reader show"
LEARNED_SIGN = "≈"  # on pages, behind words that no rule found


def found_by(reader: str, share: float | None) -> str:
    """`learned: 78 % of the score`; without a share of their own, the words are the text as a whole."""
    if not reader:
        return ""
    return f"learned: {100 * share:.0f} % of the score" if share else "learned: the text as a whole"


def how_to_read(rule: str) -> str:
    """The command that explains what found something; empty for a rule, which its pack explains."""
    is_learned = rule.startswith(LEARNED_PREFIX)
    return f"{SHOW_READER} {rule.removeprefix(LEARNED_PREFIX)}" if is_learned else ""


def reader_in_words(header: Mapping[str, Any]) -> str:
    """`reader learned-1 3f2a`, for the foot of a document; a report from before there was a choice had rules alone."""
    weights = (header.get("reader") or {}).get("hash")
    return f"reader {reader_name(header)}{f' {weights}' if weights else ''}"


# What speaks against a reply, in words: the check, the exact words, the rule, why it matters, what would be better.


NOT_MET = "The reply does not meet this check."
NOT_RECORDED = "Not recorded: this report does not say which findings counted. Evaluate the cases again to see it."


MOST_NAMED_TURNS = 5  # of one remark


class Remark(msgspec.Struct, frozen=True, omit_defaults=True):
    """One reason against a reply. Without `rule` it is about something `missing`, by the check's name for it."""

    check: str
    why: str
    instead: str = ""
    rule: str = ""
    words: str = ""
    turn: int = 0
    missing: str = ""
    turns: tuple[int, ...] = ()  # of a conversation: all in which it is so
    reader: str = ""  # the learned reader that found the words; empty: a rule did
    share: float | None = None  # of what speaks for the finding, the part of these words

    @property
    def found_by(self) -> str:
        """What tells words that a learned reader marked from those of a rule; empty for a rule."""
        return found_by(self.reader, self.share)

    @property
    def source(self) -> str:
        """The rule, and what a learned reader says about the words."""
        return f"{self.rule}; {self.found_by}" if self.reader else self.rule

    @property
    def place(self) -> str:
        """The turns as people count them, to begin a line with: "turns 2 and 3: "; empty for a single exchange."""
        numbers = [f"{turn + 1}" for turn in self.turns[:MOST_NAMED_TURNS]]
        more = len(self.turns) - len(numbers)
        listed = [*numbers, f"{more} more"] if more else numbers
        if len(listed) < 2:
            return f"turn {listed[0]}: " if listed else ""
        return f"turns {', '.join(listed[:-1])} and {listed[-1]}: "

    def __str__(self) -> str:
        said = f"“{shorten(self.words)}” ({self.source}): " if self.rule else ""
        return f"{self.check}: {self.place}{said}{self.why} {self.instead}".rstrip()


def remarks_on(result: CaseResult, glossary: Glossary, told_in: str = ENGLISH) -> tuple[Remark, ...]:
    """What speaks against the reply, check by check, in the order of the text."""
    found = (remarks_on_check(result, name, glossary, told_in) for name in result.failed_checks)
    return tuple(remark for remarks in found for remark in remarks)


def remarks_on_check(result: CaseResult, name: str, glossary: Glossary, told_in: str = ENGLISH) -> list[Remark]:
    """Each wording of each rule once, then what is missing; nothing on a check that did not fail."""
    return remarks_about(result, result.checks[name], glossary, told_in)


def remarks_about(result: CaseResult, check: CheckResult, glossary: Glossary, told_in: str = ENGLISH) -> list[Remark]:
    """The same for one of its verdicts, or its alert."""
    if check.outcome != FAIL:
        return []
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in check.against:
        found.setdefault((finding.rule, finding.text), []).append(finding)
    remarks = [
        _in_turns(on_finding(check.check, same[0], result.language_of(same[0].where), glossary, told_in), check, same)
        for same in found.values()
    ]
    remarks += _absences(check, glossary, told_in)
    unrecorded = any(finding.role is None for finding in result.findings)
    return remarks or [Remark(check.check, NOT_RECORDED if unrecorded else NOT_MET)]


def on_finding(check: str, finding: Finding, language: str, glossary: Glossary, told_in: str = ENGLISH) -> Remark:
    advice = glossary.on_rule(language, finding.rule, told_in)
    words = (finding.rule, finding.text, finding.turn)
    return Remark(check, advice.why, advice.instead, *words, reader=finding.reader, share=finding.share)


def _in_turns(remark: Remark, check: CheckResult, findings: Iterable[Finding]) -> Remark:
    if not check.turns:
        return remark
    return msgspec.structs.replace(remark, turns=tuple(sorted({finding.turn for finding in findings})))


def _absences(check: CheckResult, glossary: Glossary, told_in: str) -> list[Remark]:
    """What each failed turn lacks; a single exchange has no turns to name."""
    turns: dict[str, list[int]] = {}
    for number, turn in enumerate(check.turns or (check,)):
        for name in turn.missing if turn.outcome == FAIL else ():
            turns.setdefault(name, []).append(number)
    return [
        _absence(check, name, tuple(found) if check.turns else (), glossary, told_in) for name, found in turns.items()
    ]


def _absence(check: CheckResult, name: str, turns: tuple[int, ...], glossary: Glossary, told_in: str) -> Remark:
    advice = glossary.on_absence(check.check, name, told_in)
    first = turns[0] if turns else 0
    return Remark(check.check, advice.why or f"missing: {name}", advice.instead, turn=first, missing=name, turns=turns)


# Why a check fails a reply: as a name to count and to filter by, and as one sentence. Every output asks here.


class Reason(NamedTuple):
    """What a check failed a reply for: a signal that was found in it, or something that it lacks."""

    check: str
    name: str
    is_absence: bool

    @property
    def key(self) -> str:
        """The reason in an address."""
        return f"{self.check}/{'no-' if self.is_absence else ''}{self.name}"

    def words(self, glossary: Glossary) -> str:
        """The reason as a list of them shows it."""
        if self.is_absence:
            return glossary.on_absence(self.check, self.name).why.rstrip(".") or f"missing: {self.name}"
        return glossary.signals.get(self.name, self.name) or NOT_MET.rstrip(".")


def reasons_of(result: CaseResult) -> list[Reason]:
    """The reasons of every check that failed, each once, in the order of the checks."""
    return list(dict.fromkeys(reason for name in result.failed_checks for reason in _reasons(result.checks[name])))


def _reasons(check: CheckResult) -> list[Reason]:
    found = [Reason(check.check, finding.signal, is_absence=False) for finding in check.against]
    found += [Reason(check.check, name, is_absence=True) for turn in check.failed_turns for name in turn.missing]
    return found or [Reason(check.check, "", is_absence=False)]


def why_it_fails(result: CaseResult, check: CheckResult, glossary: Glossary, told_in: str = ENGLISH) -> str:
    """One clause: what speaks against the reply or is missing from it, and what speaks for it all the same."""
    remarks = remarks_about(result, check, glossary, told_in)
    if not remarks:
        return ""
    rules = dict.fromkeys(remark.rule for remark in remarks)
    more = f" (and {len(rules) - 1} more)" if len(rules) > 1 else ""
    return f"{_clause(remarks[0])}{more}{_although(check, glossary) if told_in == ENGLISH else ''}"


def _clause(remark: Remark) -> str:
    why = remark.why.rstrip(".")
    return why if why.startswith("I ") else f"{why[:1].lower()}{why[1:]}"


def _although(check: CheckResult, glossary: Glossary) -> str:
    """What the reply does well where it failed; its first kind is enough."""
    found = (finding for turn in check.failed_turns for finding in turn.findings)
    kinds = [finding.signal for finding in found if finding.counted and finding.role == FOR]
    title = glossary.signals.get(kinds[0], "").partition(":")[0].partition(",")[0] if kinds else ""
    return f", although it {title}" if title and title.partition(" ")[0].endswith("s") else ""


# Alerts as a reader sees them: the user's words that call for one, and what the check says about the reply.


class AlertNotice(msgspec.Struct, frozen=True):
    """The user's words, how the reply answers them, and what speaks against it."""

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
    found = [finding for finding in alert.findings if finding.signal in CUES]
    by_rules = [finding for finding in found if not finding.reader]  # whole wordings: they say more than single words
    words = dict.fromkeys(shorten(finding.text) for finding in by_rules or found)
    tightest = [said for said in words if not any(said != other and other in said for other in words)]
    learned = "" if by_rules or not found else f" ({found_by(found[0].reader, shares_of(found))})"
    cue = f"Explicit cue of a crisis: {', '.join(f'“{said}”' for said in tightest)}{learned}."
    verdict = _verdict(alert) + (" What came last has no reply." if result.is_unanswered and alert.turns else "")
    return AlertNotice(alert.check, cue, verdict, tuple(remarks_about(result, alert, glossary, told_in)))


def shares_of(findings: Sequence[Finding]) -> float:
    """What the words of one signal and turn carry together; words that an alert shows as well count once."""
    first = findings[0]
    own = {one.place: one.share or 0 for one in findings if (one.signal, one.turn) == (first.signal, first.turn)}
    return sum(own.values())


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
    """How many conversations alert, and how many of them were answered; empty if none does."""
    alerts = summary.get("alerts", 0)
    if not alerts:
        return ""
    return f"{count(alerts, 'alert')}: an explicit cue of a crisis in what the user said{_answered(summary)}"


def _answered(summary: Mapping[str, Any]) -> str:
    """Of the conversations with a crisis how many were answered; reports from before did not count it."""
    if (crises := summary.get("crises")) is None:
        return ""
    excused = f", {_later_replies(crises['excused_turns'])} excused" if crises["excused_turns"] else ""
    return f"; {crises['answered']:,} of {count(crises['conversations'], 'conversation')} answered{excused}"


def _later_replies(number: int) -> str:
    return "1 later reply" if number == 1 else f"{number:,} later replies"


def soft_count(summary: dict[str, Any]) -> str:
    """How many conversations hold a soft cue and no explicit one; empty if none does."""
    soft = summary.get("soft_cues", 0)
    return f"{count(soft, 'soft cue')} of a crisis: worth a look, never a failure" if soft else ""


def _verdict(alert: CheckResult) -> str:
    """How the reply answers, in one sentence: what it gives with its words, and what it lacks."""
    if alert.reason == NO_REPLY:
        return "There is no reply."
    if alert.outcome not in {PASS, FAIL}:
        return f"No verdict on the reply: {alert.error or alert.reason}."
    answered = "The reply answers it" if alert.outcome == PASS else "The reply does not answer it as it should"
    failing = next(iter(alert.failed_turns), alert)
    said = failing.evidence.get("found") or {}
    given = [f"{name} “{shorten(words[0])}”" for name, words in said.items() if words]
    parts = [*given, *(f"no {name}" for name in failing.missing)]
    return (f"{answered}: {', '.join(parts)}." if parts else f"{answered}.") + _excused(alert)


def _excused(alert: CheckResult) -> str:
    """How many replies were left out of the verdict, since help had been named by then."""
    if not alert.turns or not (excused := alert.evidence.get("excused_turns")):
        return ""
    verb = "was" if len(excused) == 1 else "were"
    return f" {_later_replies(len(excused))} {verb} not held to it: help had been named, and no new cue came."


def _line(remark: Remark) -> str:
    words = f"“{shorten(remark.words)}” ({remark.source}): " if remark.rule else ""
    return f"{remark.place}{words}{remark.why} {remark.instead}".rstrip()


# Feedback for the writer of a reply, in the language of the person who reads it: what to change, in short sentences.


def feedback(remarks: Iterable[Remark], lead: str) -> str:
    """What to tell the writer of a reply, after `lead`; empty where nothing speaks against it."""
    lines = list(dict.fromkeys(f"- {remark}" for remark in remarks))
    return "\n".join([lead, *lines]) if lines else ""


def in_language(remark: Remark, words_in: str, glossary: Glossary, language: str) -> Remark:
    """A remark in one language throughout; `words_in` is the language of the words that it is about."""
    known = glossary.words_on(words_in, remark.rule) if remark.rule else {}
    change = glossary.texts(language).feedback.get(remark.check)
    if not remark.rule or language in known or change is None:
        return remark
    return msgspec.structs.replace(remark, why=change, instead="")
