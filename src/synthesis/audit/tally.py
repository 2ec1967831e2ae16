"""Counts over any number of conversations, at constant memory. Tallies of parts add up to the tally of the whole."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice

import msgspec

from synthesis.audit.notices import NoticeCounts, NoticeReader
from synthesis.audit.options import ALL, LANGUAGE, MOST_VALUES, WEEK, AuditOptions, too_many_values
from synthesis.audit.reading import Seen, seen_in
from synthesis.labels.sampling import StratifiedSample
from synthesis.model import Case, CaseResult
from synthesis.runner.tally import Tally

FLAGGED, NEAR, REST = "flagged", "near", "rest"
NO_TIME, NO_VALUE = "no time", "no value"
SHOWN_CASES = 50  # of each check
SHOWN_UNREAD = 5
MOST_EXCERPTS = 3  # of a case
Key = tuple[str, str, str]  # measure, what it is counted by, the value of that


class Located(msgspec.Struct, frozen=True, omit_defaults=True):
    """A case by its file's number (from 1) and its row, without anybody's words or ids unless they were asked for."""

    file: int
    row: int
    checks: tuple[str, ...] = ()
    id: str | None = None
    excerpts: tuple[str, ...] = ()


class Unread(msgspec.Struct, frozen=True):
    """A row that could not be read, and why: for whoever runs the audit. It may quote, so no document has it."""

    file: str
    row: int
    why: str

    def __str__(self) -> str:
        return f"{self.file}, row {self.row}: {self.why}"


class AuditTally(Tally):
    """What an audit counts beside the figures of a run."""

    def __init__(self, options: AuditOptions, files: Sequence[str]) -> None:
        super().__init__()
        self._options = options
        self._numbers = {name: number for number, name in enumerate(files, start=1)}
        self.rates: defaultdict[Key, Counter[tuple[int, int]]] = defaultdict(Counter)  # (hits, base) -> conversations
        self.read: Counter[tuple[str, str, str]] = Counter()  # by, value, what -> how many
        self.reasons: Counter[tuple[str, str]] = Counter()
        self.crisis: Counter[str] = Counter()
        self.turns_to_referral: Counter[int] = Counter()
        self.claims: Counter[str] = Counter()
        self.told: Counter[str] = Counter()
        self.shown: list[Located] = []
        self.unread: list[Unread] = []
        self.period: tuple[float, float] | None = None
        self.notices = NoticeCounts()
        self.sample = StratifiedSample[CaseResult](options.sample, seed=options.seed) if options.sample else None
        self._notice_reader = NoticeReader(options.notices)
        self._values: dict[str, set[str]] = {column: set() for column in options.by}
        self._taken: Counter[str] = Counter()
        self._last_id = ""

    def add_case(self, case: Case, result: CaseResult) -> None:
        """A conversation as it was read, and what came of it."""
        self.add(result)
        seen = seen_in(result)
        groups = [] if seen.is_error else list(self._groups(case, seen))
        self._count(seen, groups)
        self._count_crisis(seen)
        self.tell_repeated_ids(case.id)
        if not seen.is_error:
            self.notices.add(self._notice_reader, case)
        elif case.problem and case.source and len(self.unread) < SHOWN_UNREAD:
            self.unread.append(Unread(case.source.file, case.source.line, case.problem))
        self._locate(case, result, seen)

    def tell_repeated_ids(self, name: str) -> None:
        """Neighbours of one id are turns of one conversation that nobody told us to join."""
        self.told["repeated ids"] += name == self._last_id
        self._last_id = name

    def merge(self, other: Tally) -> None:
        assert isinstance(other, AuditTally)
        super().merge(other)
        for key, found in other.rates.items():
            self.rates[key].update(found)
        for name in ("read", "reasons", "crisis", "turns_to_referral", "claims", "told"):
            getattr(self, name).update(getattr(other, name))
        for located in other.shown:
            self._show(located)
        self.unread += other.unread[: SHOWN_UNREAD - len(self.unread)]
        bounds = [*(self.period or ()), *(other.period or ())]
        self.period = (min(bounds), max(bounds)) if bounds else None
        self.notices.merge(other.notices)
        if self.sample is not None and other.sample is not None:
            self.sample.merge(other.sample)
        for column, values in other._values.items():
            self._require_few(column, values)

    def values(self, measure: str, by: str) -> list[str]:
        """What a measure was counted by, where it was counted."""
        return sorted(value for own, kind, value in self.rates if (own, kind) == (measure, by))

    def _groups(self, case: Case, seen: Seen) -> Iterator[tuple[str, str]]:
        """What a conversation is counted by: itself, its week, its language, the columns that were named."""
        yield ALL, ALL
        yield WEEK, self._week(case)
        yield LANGUAGE, seen.language
        for column in self._options.by:
            value = case.facts.get(column) or NO_VALUE
            self._require_few(column, {value})
            yield column, value

    def _week(self, case: Case) -> str:
        times = [time for time in case.times if time is not None]
        if not times:
            return NO_TIME
        first, last = min(times), max(times)
        low, high = self.period or (first, last)
        self.period = (min(low, first), max(high, last))
        year, week, _ = datetime.fromtimestamp(first, UTC).isocalendar()
        return f"{year}-W{week:02d}"

    def _require_few(self, column: str, values: set[str]) -> None:
        known = self._values[column]
        known |= values
        if len(known) > MOST_VALUES:
            raise too_many_values(column)

    def _count(self, seen: Seen, groups: Sequence[tuple[str, str]]) -> None:
        for by, value in groups:
            self.read[by, value, "conversations"] += 1
            self.read[by, value, "turns"] += seen.turns
            for measure, (hits, base) in seen.rates.items():
                self.rates[measure, by, value][hits, base] += 1
        self.reasons.update(seen.reasons)
        self.claims.update(set(seen.claims))
        self.told["errors"] += seen.is_error
        self.told["several turns"] += seen.turns > 1
        self.told["two languages"] += seen.language != seen.user_language
        self.told["conversations with a goodbye"] += seen.goodbyes > 0
        self.told["goodbyes"] += seen.goodbyes
        self.told["goodbyes answered with pressure"] += seen.pressed_at_goodbye
        self.told["conversations with a claim"] += bool(seen.claims)

    def _count_crisis(self, seen: Seen) -> None:
        self.crisis["soft"] += seen.has_soft_cue
        found = seen.crisis
        if found is None:
            return
        self.crisis["explicit"] += 1
        self.crisis["cue turns"] += len(found.cue_turns)
        for met in found.met:
            self.crisis.update(met)
            self.crisis["all three"] += len(met) == 3
            self.crisis["none"] += not met
        self.crisis["open" if found.is_open else "closed"] += 1
        self.crisis["referred" if found.referred_at is not None else "not referred"] += 1
        if found.referred_at is not None:
            self.turns_to_referral[found.referred_at] += 1

    def _show(self, located: Located) -> None:
        """Keep a case that is among the first of one of the checks that it fails."""
        if any(self._taken[name] < SHOWN_CASES for name in located.checks):
            self._taken.update(located.checks)
            self.shown.append(located)

    def _locate(self, case: Case, result: CaseResult, seen: Seen) -> None:
        place = case.source or result.source
        located = Located(
            self._numbers.get(place.file, 1) if place else 1,
            place.line if place else self.cases,
            seen.failed,
            case.id if self._options.with_ids else None,
            _excerpts(result) if self._options.with_excerpts and seen.failed else (),
        )
        if seen.failed:
            self._show(located)
        if self.sample is not None and not seen.is_error:
            self.sample.add(f"{located.file}:{located.row}", stratum_of(seen), result)


def stratum_of(seen: Seen) -> str:
    """Where a conversation is drawn from: what was found is rare, and what is missed is likeliest to be near it."""
    if seen.failed or seen.crisis is not None:
        return FLAGGED
    return NEAR if seen.has_soft_cue or seen.is_vulnerable else REST


def _excerpts(result: CaseResult) -> tuple[str, ...]:
    from synthesis.audit.redaction import excerpt

    turns = result.exchanges
    found = [finding for check in result.checks.values() for finding in check.against]
    shown = (
        excerpt(turns[finding.turn][finding.where == "assistant"], finding.start, finding.end)
        for finding in found
        if finding.turn < len(turns)
    )
    return tuple(dict.fromkeys(islice(shown, MOST_EXCERPTS)))  # two checks may find the same words
