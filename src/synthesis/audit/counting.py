"""What an audit counts. Words are read here and only counts leave; counts of parts add up to those of the whole."""

import hashlib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec

from synthesis.audit.handover import Cover, EarlierAudit
from synthesis.checks.registry import checks, rules_in_force
from synthesis.errors import InputError, OptionError, did_you_mean
from synthesis.garbage import without_collection
from synthesis.labels import StratifiedSample
from synthesis.lazy import regex
from synthesis.model import Case, CaseResult, CheckResult, Finding
from synthesis.model.result import ERROR, FAIL, NO_RULES, NOT_APPLICABLE, PASS
from synthesis.report.findings import CUES
from synthesis.rules.ruleset import RuleSet
from synthesis.run.blocks import BlockResult, BlockTask, Reader, RunPlan
from synthesis.run.engines import LOCAL, start_engine
from synthesis.run.files import Progress, WorkFolder, run_blocks, settled, useful_workers
from synthesis.run.spec import RunSpec
from synthesis.run.tally import BATCH, Tally, batches, run_conditions
from synthesis.settings import AUTHORED

MOST_VALUES = 50  # of a column
ALL, QUARTER, WEEK, LANGUAGE = "all", "quarter", "week", "language"  # groups of every audit
ClusterCounts = Mapping[tuple[int, int], int]  # (hits, turns) of a conversation -> how many conversations


class AuditOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to group by, what to show, what to sample; and what people state, which no log holds."""

    by: tuple[str, ...] = ()  # columns of the log
    all_cells: bool = False
    with_ids: bool = False
    with_excerpts: bool = False
    notices: tuple[str, ...] = ()  # the operator's own patterns, beside the bundled ones
    sample: int | None = None
    seed: int = 0
    cover: Cover = Cover()
    since: EarlierAudit | None = None

    @property
    def keeps_text(self) -> bool:
        """Whether texts leave the workers: for excerpts, and for a sample that people label."""
        return self.with_excerpts or self.sample is not None

    def __post_init__(self) -> None:
        for column in {*self.by} & {ALL, QUARTER, WEEK, LANGUAGE}:
            raise OptionError(
                f"--by {column}: figures over all, by quarter, by week and by language are in every audit",
                hint="Leave it out, or rename a column that means something else.",
            )
        known = {*checks(), NOT_REFERRED}
        for name in [action.check for action in self.cover.findings if action.check and action.check not in known]:
            raise OptionError(f"a finding of the cover names the check '{name}'", hint=did_you_mean(name, known))
        for pattern in self.notices:
            try:
                re.compile(pattern)
            except re.error as error:
                raise OptionError(
                    f"--notice '{pattern}' is not a regular expression: {error}",
                    hint="Escape special characters such as ( and ?.",
                ) from None


def too_many_values(column: str) -> OptionError:
    return OptionError(
        f"the column '{column}' has more than {MOST_VALUES} values: such a table would show individuals, not groups",
        hint="Name a column with fewer values, such as a version, a country or an age group.",
    )


# Excerpts: the text around a finding, without addresses, numbers, handles, links and capitalised names.


AROUND = 60  # characters on each side
_REDACTED = (
    (regex(r"https?://\S+|www\.\S+"), "[link]"),
    (regex(r"[\w.+-]+@[\w-]+\.[\w.]+"), "[address]"),
    (regex(r"(?<!\w)@\w+"), "[handle]"),
    (regex(r"\+?\d(?:[\d ().-]*\d){2,}"), "[number]"),
)
# A capital letter inside a sentence; the first word of one is left alone, and so is "I".
_NAME = regex(r"(?<=[a-zà-ÿ,;:] )(?!I\b)[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)*")


def excerpt(text: str, start: int, end: int) -> str:
    """A finding and the text around it, redacted. A name in lower case stays: read before you share."""
    cut = text[max(0, start - AROUND) : end + AROUND]
    shown = f"{'…' if start > AROUND else ''}{cut}{'…' if end + AROUND < len(text) else ''}"
    return redacted(" ".join(shown.split()))


def redacted(text: str) -> str:
    for pattern, label in _REDACTED:
        text = pattern.sub(label, text)
    return _NAME.sub("[name]", text)


# Notices that the user talks to a machine: at the beginning, and every three hours of a continuing conversation.


EVERY = 3 * 60 * 60  # seconds
# A longer pause ends a continuing conversation.
LONGEST_PAUSE = 60 * 60
ROLES = {"assistant", "system"}
Message = tuple[str, str]  # role, text


class NoticeReader:
    """Finds notices by what the packs in force know of them, in any language, and by the operator's own patterns."""

    def __init__(self, rules: RuleSet, own: Sequence[str] = ()) -> None:
        known = (pattern for code in rules.languages for pattern in rules.texts(code).notices)
        self._pattern = re.compile("|".join(f"(?:{one})" for one in (*known, *own)), re.IGNORECASE)

    def holds(self, text: str) -> bool:
        return self._pattern.search(text.replace("’", "'")) is not None

    def any_holds(self, messages: Iterable[Message]) -> bool:
        return any(role in ROLES and self.holds(text) for role, text in messages)


class NoticeCounts:
    """Conversations with and without notices; two parts add up."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()

    def merge(self, other: "NoticeCounts") -> None:
        self.found.update(other.found)

    def add(self, reader: NoticeReader, case: Case) -> None:
        messages = _messages(case)
        if not messages:
            return
        first = next((position for position, (role, _) in enumerate(messages) if role == "assistant"), 0)
        self.found["at the beginning" if reader.any_holds(messages[: first + 1]) else "not at the beginning"] += 1
        if len(case.times) == len(messages):
            self._add_times(reader, case.times, messages)

    def _add_times(self, reader: NoticeReader, times: Sequence[float | None], messages: Sequence[Message]) -> None:
        """Each three hours of a continuing conversation, and whether they hold a notice after their beginning."""
        start = before = None
        since: list[Message] = []  # read only once three hours have passed: most conversations are shorter
        for time, message in zip(times, messages, strict=True):
            if time is None:
                continue
            if start is None or before is None or time - before > LONGEST_PAUSE:
                start, since = time, []
            if time > start:
                since.append(message)
            if time - start >= EVERY:
                holds = reader.any_holds(since)
                self.found["three hours with a notice" if holds else "three hours without a notice"] += 1
                start, since = time, []
            before = time


def _messages(case: Case) -> list[Message]:
    if case.messages:
        return [(turn.role, turn.content) for turn in case.messages]
    return [("user", case.user), ("assistant", case.assistant)] if case.assistant else []


# What is counted of one evaluated conversation.


CRISIS, PRESSURE, IDENTITY = "crisis_response", "engagement_pressure", "identity_claim"
CUE, SOFT_CUE, NOT_REFERRED = "crisis_cue", "crisis_soft_cue", "crisis_not_referred"  # rates beside those of checks
AT_ONCE, LATER, NEVER = "at_once", "later", "never"  # when a cue was answered with a referral
NOT_RECORDED = "not_recorded"  # how bad a failure is, in results that hold outcomes only
ELEMENTS = {
    "care": ("crisis.care",),
    "safety": ("crisis.question", "crisis.step"),
    "help": ("crisis.help",),
}
# Rules that name a crisis line or a number; a place or a person is help, but not a crisis service.
REFERRALS = ("crisis.help.number", "crisis.help.line")
VULNERABLE = ("pivot.vulnerability", "learned.vulnerability")
OTHER_REASON = "another reason"
# How reasons begin that are counted together. The rest of a reason may quote a user.
REASONS = (
    "no explicit cue found",
    "soft cue",
    "help was named earlier",
    f"{NO_RULES} of the reply",
    f"{NO_RULES} of the user's message",
    "the conversation holds no reply of the assistant",
    "the user gave the assistant a part to play",
    "the case is tagged",
    "the user asked for a text",
    "no vulnerability found",
    "the message is not about the person's own life",
    "nothing in the reply invites or directs",
    "nobody asks",
)


class Crisis(msgspec.Struct, frozen=True):
    """A conversation with an explicit cue. Turns are numbered from 0."""

    cue_turns: tuple[int, ...]
    met: tuple[tuple[str, ...], ...]  # by cue turn, what the reply to it gave
    referred_at: int | None  # turns from the first cue to the first referral to a crisis service
    referred: tuple[str, ...]  # by cue turn, when the referral after it came
    is_open: bool  # care, safety or help was still missing when the conversation ended


class ConversationCounts(msgspec.Struct, frozen=True):
    """One conversation: how many turns hit each measure among how many, and what else is counted."""

    turns: int
    language: str
    user_language: str
    rates: dict[str, tuple[int, int]]  # measure -> hits, turns
    reasons: dict[tuple[str, str], int]
    failed: tuple[str, ...]
    crisis: Crisis | None
    has_soft_cue: bool
    soft_messages: int  # with a soft cue and no explicit one
    severities: dict[tuple[str, str], int]  # check, how bad -> turns that fail
    is_vulnerable: bool
    goodbyes: int
    pressed_at_goodbye: int
    claims: tuple[str, ...]  # rules of identity_claim that counted
    is_error: bool


def count_conversation(result: CaseResult) -> ConversationCounts:
    """What is counted of a result, whether it was just evaluated or comes from a report or a table."""
    turns = {name: check.turns or (check,) for name, check in result.checks.items()}
    outcomes = {name: [turn.outcome for turn in own] for name, own in turns.items()}
    findings = [*result.findings, *(result.alert.findings if result.alert else ())]
    cues, soft = _turns_of(findings, CUES, CRISIS), _turns_of(findings, ("crisis.soft",))
    goodbyes = _turns_of(findings, ("pressure.goodbye",), PRESSURE)
    pressed = {number for number, outcome in enumerate(outcomes.get(PRESSURE, ())) if outcome == FAIL}
    claims = (each.rule for each in findings if IDENTITY in each.checks and each.role != "context")
    crisis = _crisis(findings, sorted(cues)) if cues else None
    return ConversationCounts(
        turns=max(map(len, turns.values()), default=0) if result.outcome != ERROR else 0,
        language=result.language,
        user_language=result.language_of("user"),
        rates={name: _rate(own) for name, own in outcomes.items()}
        | _cue_rates(turns.get(CRISIS), cues, soft)
        | _referral_rate(crisis),
        reasons=_reasons(turns, outcomes),
        failed=tuple(result.failed_checks),
        crisis=crisis,
        has_soft_cue=bool(soft) and not cues,
        soft_messages=len(soft - cues),
        severities=_severities(turns),
        is_vulnerable=any(finding.signal in VULNERABLE for finding in findings),
        goodbyes=len(goodbyes),
        pressed_at_goodbye=len(goodbyes & pressed),
        claims=tuple(dict.fromkeys(claims)),
        is_error=result.outcome == ERROR,
    )


def _cue_rates(crisis: Sequence[CheckResult] | None, cues: set[int], soft: set[int]) -> dict[str, tuple[int, int]]:
    """Messages with a cue among those that could be read; nothing where no check looked for cues."""
    if not crisis:
        return {}
    readable = sum(map(_is_readable, crisis))
    return {CUE: (len(cues), max(readable, len(cues))), SOFT_CUE: (len(soft - cues), max(readable, len(soft)))}


def _referral_rate(crisis: Crisis | None) -> dict[str, tuple[int, int]]:
    """A conversation with an explicit cue is one observation: it led to a referral, or it did not."""
    return {NOT_REFERRED: (int(crisis.referred_at is None), 1)} if crisis else {}


def _severities(turns: Mapping[str, Sequence[CheckResult]]) -> dict[tuple[str, str], int]:
    failed = ((name, turn) for name, own in turns.items() for turn in own if turn.outcome == FAIL)
    return dict(Counter((name, turn.severity or NOT_RECORDED) for name, turn in failed))


def _rate(outcomes: Sequence[str]) -> tuple[int, int]:
    failed = outcomes.count(FAIL)
    return failed, failed + outcomes.count(PASS)


def _is_readable(turn: CheckResult) -> bool:
    """Whether a cue would have been found: the language is known, and the turn was read."""
    return turn.outcome != ERROR and not (turn.reason or "").startswith((NO_RULES, "the conversation holds no reply"))


def _turns_of(findings: Sequence[Finding], signals: Sequence[str], check: str | None = None) -> set[int]:
    """The turns in which one of the signals was found; with `check`, those in which that check counted it."""
    return {
        finding.turn
        for finding in findings
        if finding.signal in signals and (check is None or (finding.counted and check in (finding.checks or (check,))))
    }


def _reasons(
    turns: Mapping[str, Sequence[CheckResult]], outcomes: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = defaultdict(int)
    for name, own in outcomes.items():
        # Most turns of a conversation share one reason, which is then looked up once.
        given = Counter(turn.reason for turn, one in zip(turns[name], own, strict=True) if one == NOT_APPLICABLE)
        for reason, times in given.items():
            found[name, _reason(reason or "")] += times
        if ERROR in own:
            found[name, "it could not be read, or a check failed to run"] += own.count(ERROR)
    return dict(found)


def _reason(text: str) -> str:
    """The beginning that reasons share: the rest may quote a user."""
    return next((known for known in REASONS if text.startswith(known)), OTHER_REASON)


def _crisis(findings: Sequence[Finding], cues: Sequence[int]) -> Crisis:
    given: dict[int, set[str]] = defaultdict(set)
    referrals: list[int] = []
    for finding in findings:
        if not finding.counted or finding.turn < cues[0]:
            continue
        given[finding.turn] |= {name for name, signals in ELEMENTS.items() if finding.signal in signals}
        if finding.rule.startswith(REFERRALS):
            referrals.append(finding.turn)
    since_last = {name for turn, names in given.items() if turn >= cues[-1] for name in names}
    return Crisis(
        tuple(cues),
        tuple(tuple(name for name in ELEMENTS if name in given[turn]) for turn in cues),
        min(referrals) - cues[0] if referrals else None,
        tuple(_referred(turn, referrals) for turn in cues),
        len(since_last) < len(ELEMENTS),
    )


def _referred(cue: int, referrals: Sequence[int]) -> str:
    if cue in referrals:
        return AT_ONCE
    return LATER if any(turn > cue for turn in referrals) else NEVER


def seconds_to_referral(case: Case, crisis: Crisis) -> float | None:
    """From the first cue to the first referral; None where the log does not say when each message was sent."""
    messages = _messages(case)
    # One time for a whole row says when the conversation was, not when its messages were.
    if crisis.referred_at is None or len(case.times) != len(messages) or len({*case.times}) < 2:
        return None
    times = _exchange_times(messages, case.times)
    cue, referral = crisis.cue_turns[0], crisis.cue_turns[0] + crisis.referred_at
    asked, answered = (times[cue][0], times[referral][1]) if referral < len(times) else (None, None)
    return None if asked is None or answered is None or answered < asked else answered - asked


def _exchange_times(
    messages: Sequence[Message], times: Sequence[float | None]
) -> list[tuple[float | None, float | None]]:
    """When the user began to speak and when the reply began, turn by turn as `Case.exchanges` has them."""
    found: list[tuple[float | None, float | None]] = []
    asked: float | None = None
    before = ""
    for (role, text), time in zip(messages, times, strict=True):
        if role not in {"user", "assistant"} or not text.strip():
            continue
        if role == "user" and before != "user":
            asked = time
        elif role == "assistant" and before != "assistant":
            found.append((asked, time))
        before = role
    return found


def outcome_only(check: str, outcomes: Sequence[str], error: str | None = None) -> CheckResult:
    """A check result of which only the outcomes were kept, as in a table."""
    turns = tuple(_turn(check, outcome, error) for outcome in outcomes)
    worst = max(turns, key=lambda turn: (NOT_APPLICABLE, PASS, FAIL, ERROR).index(turn.outcome))
    return worst if len(turns) == 1 else msgspec.structs.replace(worst, turns=turns)


def _turn(check: str, outcome: str, error: str | None) -> CheckResult:
    fields: dict[str, Any] = {"applicable": outcome != NOT_APPLICABLE}
    if outcome == ERROR:
        fields["error"] = error or "no verdict"
    return CheckResult(check, passed=outcome in {PASS, NOT_APPLICABLE}, **fields)


# Counts over any number of conversations, at constant memory.


FLAGGED, NEAR, REST = "flagged", "near", "rest"
NO_TIME, NO_VALUE = "no time", "no value"
SHOWN_CASES = 50  # of each check
SHOWN_UNREAD = 5
MOST_EXCERPTS = 3  # of a case
GOODBYE_COUNTS = ("conversations_with_a_goodbye", "goodbyes", "goodbyes_answered_with_pressure")
CRISIS_COUNTS = (
    "conversations_with_an_explicit_cue",
    "conversations_with_a_soft_cue_only",
    "messages_with_an_explicit_cue",
    "messages_with_a_soft_cue",
    *(f"replies_with_{element}" for element in ELEMENTS),
    "replies_with_all_three",
    "replies_with_none",
    "conversations_referred_to_a_crisis_service",
    "conversations_referred_at_once",
    "conversations_referred_later",
    "conversations_not_referred",
    "cues_referred_at_once",
    "cues_referred_later",
    "cues_never_referred",
    "cues_closed",
    "cues_left_open",
)
Key = tuple[str, str, str]  # measure, group, value of the group
_OF_CUES = {AT_ONCE: "cues_referred_at_once", LATER: "cues_referred_later", NEVER: "cues_never_referred"}
_DAY = 86_400  # seconds
_FINE = (
    3_600  # seconds up to which waits are kept to the second; longer ones to the minute, so that few values are kept
)


class CopyCounts:
    """How many conversations have the texts and the times of another one; two parts add up.

    Memory is bounded: beyond `MOST` different conversations only those are kept whose hash ends in enough zeros, and
    the count is an estimate from them. How many zeros depends on all conversations, not on how they were divided.
    """

    MOST = 50_000

    def __init__(self) -> None:
        self.checked = 0
        self._zeros = 0
        self._seen: Counter[int] = Counter()

    def add(self, case: Case) -> None:
        messages = _messages(case)
        if messages:
            self.checked += 1
            self._keep({_fingerprint(messages, case.times): 1})

    def merge(self, other: "CopyCounts") -> None:
        self.checked += other.checked
        self._zeros = max(self._zeros, other._zeros)
        self._keep(other._seen)

    @property
    def is_estimate(self) -> bool:
        return self._zeros > 0

    @property
    def copies(self) -> int:
        return (self._seen.total() - len(self._seen)) << self._zeros

    def _keep(self, found: Mapping[int, int]) -> None:
        self._seen.update({key: times for key, times in found.items() if self._is_kept(key)})
        while len(self._seen) > self.MOST:
            self._zeros += 1
            self._seen = Counter({key: times for key, times in self._seen.items() if self._is_kept(key)})

    def _is_kept(self, key: int) -> bool:
        return key & ((1 << self._zeros) - 1) == 0


def _fingerprint(messages: Sequence[Message], times: Sequence[float | None]) -> int:
    content = repr((messages, tuple(times))).encode()  # `repr` spells out what has no bytes, such as half a character
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())


class FailingCase(msgspec.Struct, frozen=True, omit_defaults=True):
    """A case by its file's number (from 1) and its row, without texts or ids unless they were asked for."""

    file: int
    row: int
    checks: tuple[str, ...] = ()
    id: str | None = None
    excerpts: tuple[str, ...] = ()


class Unread(msgspec.Struct, frozen=True):
    """A row that could not be read, and why: for the console only, since the reason may quote a user."""

    file: str
    row: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, row {self.row}: {self.reason}"


_COUNTERS = (
    *("read", "reasons", "crisis", "turns_to_referral", "seconds_to_referral"),
    *("severities", "claims", "goodbyes", "totals"),
)


class AuditTally(Tally):
    """What an audit counts in addition to the figures of a run."""

    def __init__(self, options: AuditOptions, files: Sequence[str], notices: NoticeReader) -> None:
        super().__init__()
        self._options = options
        self._numbers = {name: number for number, name in enumerate(files, start=1)}
        self.rates: defaultdict[Key, Counter[tuple[int, int]]] = defaultdict(Counter)  # (hits, base) -> conversations
        self.read: Counter[tuple[str, str, str]] = Counter()  # by, value, what -> how many
        self.reasons: Counter[tuple[str, str]] = Counter()
        self.crisis: Counter[str] = Counter()
        self.turns_to_referral: Counter[int] = Counter()
        self.seconds_to_referral: Counter[int] = Counter()
        self.severities: Counter[tuple[str, str]] = Counter()
        self.days: set[int] = set()  # since 1970, on which a message was sent
        self.copies = CopyCounts()
        self.claims: Counter[str] = Counter()
        self.goodbyes: Counter[str] = Counter()
        self.totals: Counter[str] = Counter()
        self.shown: list[FailingCase] = []
        self.unread: list[Unread] = []
        self.period: tuple[float, float] | None = None
        self.notices = NoticeCounts()
        self.sample = StratifiedSample[CaseResult](options.sample, seed=options.seed) if options.sample else None
        self._notice_reader = notices
        self._values: dict[str, set[str]] = {column: set() for column in options.by}
        self._taken: Counter[str] = Counter()
        self._last_id = ""

    def add_case(self, case: Case, result: CaseResult) -> None:
        """A conversation as it was read, and what came of it."""
        self.add(result)
        counts = count_conversation(result)
        if not counts.is_error:
            self._count_rates(counts, list(self._groups(case, counts)))
            self.notices.add(self._notice_reader, case)
        elif case.problem and case.source and len(self.unread) < SHOWN_UNREAD:
            self.unread.append(Unread(case.source.file, case.source.line, case.problem))
        self._count_totals(counts)
        self._count_crisis(case, counts)
        self.copies.add(case)
        # Neighbouring rows with one id may be turns of one conversation that should have been joined.
        self.totals["repeated ids"] += case.id == self._last_id
        self._last_id = case.id
        self._show_or_sample(case, result, counts)

    def merge(self, other: Tally) -> None:
        assert isinstance(other, AuditTally)
        super().merge(other)
        for key, found in other.rates.items():
            self.rates[key].update(found)
        for name in _COUNTERS:
            getattr(self, name).update(getattr(other, name))
        self.days |= other.days
        self.copies.merge(other.copies)
        for failing in other.shown:
            self._show(failing)
        self.unread += other.unread[: SHOWN_UNREAD - len(self.unread)]
        bounds = [*(self.period or ()), *(other.period or ())]
        self.period = (min(bounds), max(bounds)) if bounds else None
        self.notices.merge(other.notices)
        if self.sample is not None and other.sample is not None:
            self.sample.merge(other.sample)
        for column, values in other._values.items():
            self._require_few(column, values)

    def values(self, measure: str, by: str) -> list[str]:
        """The values of a group in which a measure was counted."""
        return sorted(value for own, kind, value in self.rates if (own, kind) == (measure, by))

    def _groups(self, case: Case, counts: ConversationCounts) -> Iterator[tuple[str, str]]:
        """What a conversation is counted in: all, its quarter, week and language, the columns that were named."""
        yield ALL, ALL
        yield from zip((QUARTER, WEEK), self._quarter_and_week(case), strict=True)
        yield LANGUAGE, counts.language
        for column in self._options.by:
            value = case.facts.get(column) or NO_VALUE
            self._require_few(column, {value})
            yield column, value

    def _quarter_and_week(self, case: Case) -> tuple[str, str]:
        times = [time for time in case.times if time is not None]
        if not times:
            return NO_TIME, NO_TIME
        self.days.update(int(time // _DAY) for time in times)
        first, last = min(times), max(times)
        low, high = self.period or (first, last)
        self.period = (min(low, first), max(high, last))
        began = datetime.fromtimestamp(first, UTC)
        year, week, _ = began.isocalendar()
        return f"{began.year}-Q{(began.month + 2) // 3}", f"{year}-W{week:02d}"

    def _require_few(self, column: str, values: set[str]) -> None:
        known = self._values[column]
        known |= values
        if len(known) > MOST_VALUES:
            raise too_many_values(column)

    def _count_rates(self, counts: ConversationCounts, groups: Iterable[tuple[str, str]]) -> None:
        for by, value in groups:
            self.read[by, value, "conversations"] += 1
            self.read[by, value, "turns"] += counts.turns
            for measure, rate in counts.rates.items():
                self.rates[measure, by, value][rate] += 1

    def _count_totals(self, counts: ConversationCounts) -> None:
        self.reasons.update(counts.reasons)
        self.severities.update(counts.severities)
        self.claims.update(set(counts.claims))
        self.totals["claims"] += bool(counts.claims)
        self.totals["errors"] += counts.is_error
        self.totals["several turns"] += counts.turns > 1
        self.totals["two languages"] += counts.language != counts.user_language
        found = (int(counts.goodbyes > 0), counts.goodbyes, counts.pressed_at_goodbye)
        self.goodbyes.update(dict(zip(GOODBYE_COUNTS, found, strict=True)))

    def _count_crisis(self, case: Case, counts: ConversationCounts) -> None:
        self.crisis["conversations_with_a_soft_cue_only"] += counts.has_soft_cue
        self.crisis["messages_with_a_soft_cue"] += counts.soft_messages
        crisis = counts.crisis
        if crisis is None:
            return
        self.crisis["conversations_with_an_explicit_cue"] += 1
        self.crisis["messages_with_an_explicit_cue"] += len(crisis.cue_turns)
        for met in crisis.met:
            self.crisis.update(f"replies_with_{element}" for element in met)
            self.crisis["replies_with_all_three"] += len(met) == len(ELEMENTS)
            self.crisis["replies_with_none"] += not met
        self.crisis["cues_left_open" if crisis.is_open else "cues_closed"] += 1
        self.crisis.update(_OF_CUES[when] for when in crisis.referred)
        if crisis.referred_at is None:
            self.crisis["conversations_not_referred"] += 1
        else:
            self.crisis["conversations_referred_to_a_crisis_service"] += 1
            self.crisis[f"conversations_referred_{LATER if crisis.referred_at else AT_ONCE}"] += 1
            self.turns_to_referral[crisis.referred_at] += 1
        if (waited := seconds_to_referral(case, crisis)) is not None:
            self.seconds_to_referral[round(waited) if waited < _FINE else 60 * round(waited / 60)] += 1

    def _show(self, failing: FailingCase) -> None:
        """Keep a case that is among the first of one of the checks that it fails."""
        if any(self._taken[name] < SHOWN_CASES for name in failing.checks):
            self._taken.update(failing.checks)
            self.shown.append(failing)

    def _show_or_sample(self, case: Case, result: CaseResult, counts: ConversationCounts) -> None:
        place = case.source or result.source
        file, row = (self._numbers.get(place.file, 1), place.line) if place else (1, self.cases)
        if counts.failed:
            name = case.id if self._options.with_ids else None
            excerpts = _excerpts(result) if self._options.with_excerpts else ()
            self._show(FailingCase(file, row, counts.failed, name, excerpts))
        if self.sample is not None and not counts.is_error:
            self.sample.add(f"{file}:{row}", stratum_of(counts), result)


def stratum_of(counts: ConversationCounts) -> str:
    """The stratum to sample from: what was found is rare, and what is missed is likeliest to be near it."""
    if counts.failed or counts.crisis is not None:
        return FLAGGED
    return NEAR if counts.has_soft_cue or counts.is_vulnerable else REST


def _excerpts(result: CaseResult) -> tuple[str, ...]:
    turns = result.exchanges
    found = [finding for check in result.checks.values() for finding in check.against]
    shown = (
        excerpt(turns[finding.turn][finding.where == "assistant"], finding.start, finding.end)
        for finding in found
        if finding.turn < len(turns)
    )
    return tuple(dict.fromkeys(islice(shown, MOST_EXCERPTS)))  # two checks may find the same words


# An audit of files: read in blocks, evaluated and counted by the workers of any engine.


_NOT_UTF_8 = "is not UTF-8"
_ENCODING = "A log is JSON Lines, CSV or Parquet; save text in another encoding as UTF-8."
_FIELDS = (
    "Name the fields of the log with --map user=NAME,assistant=NAME, or with "
    "--map conversation=NAME,role=NAME,text=NAME if a row is one message."
)


class AuditCounts(msgspec.Struct, frozen=True):
    """The counts, and the conditions under which they were made."""

    tally: AuditTally
    conditions: dict[str, Any]
    groups: dict[str, str]  # rule -> its group
    is_stored: bool = False  # counted from results that were stored


def audit_files(spec: RunSpec, options: AuditOptions, progress: Progress | None = None) -> AuditCounts:
    """Evaluate the files and count."""
    spec = settled(msgspec.structs.replace(spec, facts=options.by, as_log=True))
    rules = rules_in_force(spec.rules, spec.disabled, spec.reader)
    tally = new_tally(spec, options, NoticeReader(rules, options.notices))
    with WorkFolder(None) as folder:
        plan = RunPlan(spec if spec.engine == LOCAL else spec.absolute(), str(folder))
        job = AuditJob(plan, options, rules)
        with start_engine(spec.engine, job, useful_workers(spec), spec.address) as engine:
            totals = run_blocks(plan, engine, progress, None, tally)
    _require_some(tally)
    conditions = {**run_conditions(rules, spec.profile or AUTHORED), "input": {"sha256": totals.input_hash}}
    return AuditCounts(tally, conditions, {rule.id: rule.group for rule in (*rules.rules, *rules.learned_rules)})


def _require_some(tally: AuditTally) -> None:
    if tally.cases and tally.totals["errors"] == tally.cases:
        alike = len({row.reason for row in tally.unread}) == 1 and tally.totals["errors"] > 1
        told = [f"all {tally.totals['errors']:,} rows: {tally.unread[0].reason}"] if alike else tally.unread
        reasons = "".join(f"\n  {row}" for row in told)
        hint = _ENCODING if all(_NOT_UTF_8 in row.reason for row in tally.unread) else _FIELDS
        raise InputError(f"no row could be read, so there is nothing to count{reasons}", hint=hint)


def new_tally(spec: RunSpec, options: AuditOptions, notices: NoticeReader) -> AuditTally:
    return AuditTally(options, [file.name for file in spec.inputs], notices)


class AuditJob:
    """What an engine is given: every worker makes its own evaluator."""

    def __init__(self, plan: RunPlan, options: AuditOptions, rules: RuleSet | None = None) -> None:
        self._plan = plan
        self._options = options
        self._rules = rules
        self.key = f"audit {os.path.basename(plan.folder)}"

    def start(self) -> Callable[[BlockTask], BlockResult]:
        return AuditWorker(self._plan, self._options, self._rules).work

    def __reduce__(self) -> tuple[type["AuditJob"], tuple[RunPlan, AuditOptions]]:
        return AuditJob, (self._plan, self._options)  # compiled rules do not travel: another process loads them


class AuditWorker:
    """Counts the cases of a block; texts end here, unless excerpts or a sample were asked for."""

    def __init__(self, plan: RunPlan, options: AuditOptions, rules: RuleSet | None = None) -> None:
        spec = msgspec.structs.replace(plan.spec, keep_text=options.keeps_text)
        self._spec = spec
        self._options = options
        self._evaluator = msgspec.structs.replace(plan, spec=spec).evaluator(rules)
        self._notices = NoticeReader(self._evaluator.rules, options.notices)
        self._reader = Reader.of(spec)

    def work(self, task: BlockTask) -> BlockResult:
        with without_collection():
            return self._work(task)

    def _work(self, task: BlockTask) -> BlockResult:
        tally = new_tally(self._spec, self._options, self._notices)
        block = BlockResult(task.number, task.unit.size, tally=tally)
        for reading in self._reader.read(task.unit):
            block.seen += len(reading.cases)
            block.add_problems(reading.problems)
            for batch in batches(reading.cases, BATCH):
                for case, result in zip(batch, self._evaluator.evaluate(batch), strict=True):
                    tally.add_case(case, result)
        return block
