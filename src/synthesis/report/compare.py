"""Compares two runs: what changed, and whether their conditions allow calling one of them better.

A verdict is a measurement, and profile, reader, checks, rules and version are its ruler. Runs of another profile, of
another reader or of other checks answer another question; runs of other rules or weights measure the same question
differently, so that a change may come from them and not from the replies. Only one ruler allows "better" and "worse".
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from synthesis.errors import InputError
from synthesis.lazy import regex
from synthesis.model import CaseResult
from synthesis.model.report import reader_name
from synthesis.model.result import CRITICAL, ERROR, MINOR, PASS, SEVERITIES
from synthesis.report.drift import BETTER, Differences, DriftChange, drift_changes
from synthesis.report.findings import EXPECTED, MISSED, UNEXPECTED, count, deciding_turn, kind_of
from synthesis.report.stored import StoredReport
from synthesis.settings import FORMER_PROFILES, LEARNED
from synthesis.settings import RULES as RULES_ALONE
from synthesis.stats import CONFIDENCE, difference, verdict_on

Conditions = dict[str, tuple[Any, Any]]  # only those that differ: before, after
PROFILE, CHECKS, RULES, VERSION, SIMILARITY = "profile", "checks", "rules", "tool version", "similarity"
JUDGE, RUBRIC = "judge", "rubric"
READER, WEIGHTS = "reader", "weights of the reader"
MEASURED_DIFFERENTLY = "measured differently"  # in place of better and worse
_PATHS = {
    VERSION: ("tool", "version"),
    RULES: ("rules", "hash"),
    SIMILARITY: ("similarity",),
    PROFILE: ("profile",),
    "input": ("input", "sha256"),
}
_QUESTION = (PROFILE, READER, CHECKS)
_RULER = (*_QUESTION, RULES, WEIGHTS, VERSION, SIMILARITY, JUDGE, RUBRIC)


def changed_conditions(before: Mapping[str, Any], after: Mapping[str, Any]) -> Conditions:
    """The conditions that differ between two report headers."""
    pairs = {name: (_at(before, path), _at(after, path)) for name, path in _PATHS.items()}
    pairs[PROFILE] = tuple(FORMER_PROFILES.get(name, name) for name in pairs[PROFILE])
    pairs |= _readers(before, after)
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _readers(before: Mapping[str, Any], after: Mapping[str, Any]) -> Conditions:
    """Rules alone against a learned reader is another question; other weights are another ruler for the same one.

    A judged run has no reader.
    """
    if "profile" not in before or "profile" not in after:
        return {}
    if reader_of(before) != reader_of(after):
        return {READER: (reader_name(before), reader_name(after))}
    return {WEIGHTS: (_weights(before), _weights(after))}


def reader_of(header: Mapping[str, Any]) -> str:
    """The choice of reader that a report was made with, as `--reader` takes it."""
    return RULES_ALONE if reader_name(header) == RULES_ALONE else LEARNED


def _weights(header: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (reader_name(header), _at(header, ("reader", "hash")))))


def changed_checks(before: Iterable[frozenset[str]], after: Iterable[frozenset[str]]) -> Conditions:
    """The checks that were asked of the shared cases, where they are not the same ones."""
    pair = tuple(", ".join(sorted(frozenset().union(*sets))) for sets in (before, after))
    return {CHECKS: (pair[0], pair[1])} if pair[0] != pair[1] else {}


def question_changes(conditions: Mapping[str, Any]) -> list[str]:
    """What makes two runs answers to different questions."""
    return [name for name in _QUESTION if name in conditions]


def ruler_changes(conditions: Mapping[str, Any]) -> list[str]:
    """Why neither of two runs may be called better."""
    return [name for name in _RULER if name in conditions]


def require_one_question(conditions: Mapping[str, Any]) -> None:
    """InputError where the runs do not answer the same question."""
    changed = question_changes(conditions)
    if changed:
        changes = "; ".join(f"{name}: {conditions[name][0]} -> {conditions[name][1]}" for name in changed)
        raise InputError(
            f"the runs cannot be compared, they were evaluated differently ({changes})",
            hint="Evaluate both the same way (--reevaluate does, where the texts are stored), or list the changes with "
            "--across.",
        )


def _at(header: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = header
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


# Two reports side by side: new failures, new passes, changed evidence.

_encode = msgspec.json.Encoder(order="sorted").encode
_NONE: Differences = {}  # one for all the cases that are no conversations
T = TypeVar("T")
Failing = Mapping[str, Mapping[str, str]]  # case -> checks that fail unexpectedly, and how bad that is


class ComparedCase(NamedTuple):
    """What is remembered of a case: kind, checks, those that failed, what evidence and texts hash to, drift."""

    kind: str
    checks: frozenset[str]
    failed: Mapping[str, str]  # check -> severity
    evidence: bytes
    texts: bytes
    differences: Differences  # between the halves of a conversation that is long enough


Index = Mapping[str, ComparedCase]


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """A case whose verdict changed, the checks that made the difference, and the worst of what came or went."""

    id: str
    checks: list[str]
    before: str | None  # None: the case was not there
    after: str | None
    same_texts: bool | None = None  # None: at least one report holds no texts
    severity: str | None = None
    was: str | None = None  # what the old report calls the case, where that is another name


class CheckChange(msgspec.Struct, frozen=True):
    """One check: failures that are new, by severity, those that are gone, and those that stay."""

    check: str
    new: dict[str, int]
    fixed: int
    still_failing: int


class PassRate(msgspec.Struct, frozen=True):
    """The pass rates of the cases that both runs assessed, and whether they differ by more than chance."""

    cases: int
    passed_before: int
    passed_after: int
    newly_failing: int
    newly_passing: int
    change: float
    interval: tuple[float, float]
    p_value: float
    verdict: str  # better | worse | no difference shown | measured differently
    confidence: float = CONFIDENCE

    @property
    def interval_in_words(self) -> str:
        """Where all cases changed alike, resampling them cannot tell how far the change may lie off."""
        low, high = (100 * bound for bound in self.interval)
        return f"95 % interval {low:+.1f} to {high:+.1f}" if low < high else "too few changes for an interval"


class Comparison(msgspec.Struct, frozen=True):
    """Everything that differs between two reports."""

    conditions: Conditions
    newly_failing: list[Change]  # unexpectedly
    newly_passing: list[Change]
    no_longer_caught: list[str]  # negative examples
    other_changes: list[Change]  # no verdict any more, not assessed any more, and the way back
    other_checks: list[str]  # cases of which other checks were asked; they are in no rate
    changed_evidence: list[str]
    only_before: list[str]
    only_after: list[str]
    in_both: int
    pairing: str  # how the cases of both reports were brought together
    by_check: list[CheckChange]  # those with a change, the worst first
    pass_rate: PassRate | None  # None where no case was assessed by both
    drift: list[DriftChange] = []  # of conversations that are long enough in both

    @property
    def ruler_changes(self) -> list[str]:
        """The changed conditions because of which neither run may be called better."""
        return ruler_changes(self.conditions)

    @property
    def rate_verdict(self) -> str:
        """What the pass rates say together; a better rate does not outweigh a new critical failure."""
        found = self.pass_rate.verdict if self.pass_rate else ""
        worst = any(change.severity == CRITICAL for change in self.newly_failing)
        return "better, but with a new critical failure" if found == BETTER and worst else found


def compare_reports(before: StoredReport, after: StoredReport) -> Comparison:
    """What changed from one report to the other; InputError if one of them does not hold all results."""
    for report in (before, after):
        require_all_results(report, "a comparison")
    pairs = paired(_entries(before), _entries(after), same_file=same_input(before.header, after.header))
    old, new = pairs.before, pairs.after
    both = [name for name in new if name in old]
    alike = [name for name in both if old[name].checks == new[name].checks]
    conditions = changed_conditions(before.header, after.header) | _changed_checks(old, new, both)
    rate = _pass_rate(Counter((old[name].kind, new[name].kind) for name in alike))
    drift = drift_changes((old[name].differences, new[name].differences) for name in both)
    if ruler_changes(conditions):
        rate = rate and msgspec.structs.replace(rate, verdict=MEASURED_DIFFERENTLY)
        drift = [msgspec.structs.replace(change, verdict=MEASURED_DIFFERENTLY) for change in drift]
    lost, won = newly_failing(_failing(old), _failing(new)), _newly_passing(old, new)
    return Comparison(
        conditions=conditions,
        newly_failing=_worst_first(_change(name, pairs, added) for name, added in lost),
        newly_passing=_worst_first(_change(name, pairs, gone) for name, gone in won),
        no_longer_caught=[name for name in both if (old[name].kind, new[name].kind) == (EXPECTED, MISSED)],
        other_changes=[_change(name, pairs, {}) for name in both if _is_other(old[name].kind, new[name].kind)],
        other_checks=[name for name in both if old[name].checks != new[name].checks],
        changed_evidence=[name for name in alike if _differs_in_evidence(old[name], new[name])],
        only_before=[name for name in old if name not in new],
        only_after=[name for name in new if name not in old],
        in_both=len(both),
        pairing=pairs.how,
        by_check=_by_check(old, new, lost, won),
        pass_rate=rate,
        drift=drift,
    )


def require_all_results(report: StoredReport, purpose: str) -> None:
    options = report.header.get("options")
    if isinstance(options, dict) and options.get("failures_only"):
        raise InputError(
            f"{purpose} needs all results, and this report holds the failed ones only",
            hint="Run again without --failures-only.",
        )


def unexpected_failures(report: StoredReport) -> "list[Entry[dict[str, str]]]":
    """The checks that each case fails unexpectedly, with how bad that is: none for most of them."""
    return [
        Entry(result.name, _said(result), _severities(result) if kind_of(result) == UNEXPECTED else {})
        for result in report.results()
    ]


def _severities(result: CaseResult) -> dict[str, str]:
    """By check; empty where an earlier version did not say it."""
    return {name: result.checks[name].severity or "" for name in result.failed_checks}


def worst_of(severities: Iterable[str]) -> str:
    """The worst of some severities; one that is not known counts as minor."""
    return min((severity or MINOR for severity in severities), key=SEVERITIES.index)


def newly_failing(before: Failing, after: Failing) -> list[tuple[str, dict[str, str]]]:
    """The failures of `after` that `before` does not have or has less badly, check by check."""
    added = ((name, _added(before.get(name, {}), checks)) for name, checks in after.items())
    return [(name, checks) for name, checks in added if checks]


def _added(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    return {name: bad for name, bad in sorted(after.items()) if name not in before or _is_worse(bad, before[name])}


def _is_worse(severity: str, than: str) -> bool:
    return bool(severity and than) and SEVERITIES.index(severity) < SEVERITIES.index(than)


def _newly_passing(old: Index, new: Index) -> list[tuple[str, dict[str, str]]]:
    """The failures that are gone from cases which were asked the same again."""
    gone = ((name, _gone(was, new[name])) for name, was in _failing(old).items() if name in new)
    return [(name, checks) for name, checks in gone if checks]


def _gone(was: Mapping[str, str], now: ComparedCase) -> dict[str, str]:
    if now.kind not in {PASS, UNEXPECTED}:
        return {}
    return {name: bad for name, bad in sorted(was.items()) if name in now.checks and name not in now.failed}


def _worst_first(changes: "Iterable[Change]") -> "list[Change]":
    return sorted(changes, key=lambda change: SEVERITIES.index(change.severity or MINOR))


def _by_check(old: Index, new: Index, lost: "Changed", won: "Changed") -> list[CheckChange]:
    """The checks with a change, those with the worst new failures first."""
    came: dict[str, Counter[str]] = {}
    for _, checks in lost:
        for name, severity in checks.items():
            came.setdefault(name, Counter())[severity or MINOR] += 1
    went = Counter(name for _, checks in won for name in checks)
    was, now = _failing(old), _failing(new)
    stays = Counter(check for name, checks in now.items() for check in checks if check in was.get(name, {}))
    found = [
        CheckChange(name, {one: came[name][one] for one in SEVERITIES} if name in came else {}, went[name], stays[name])
        for name in sorted({*came, *went})
    ]
    return sorted(found, key=lambda one: [-one.new.get(severity, 0) for severity in SEVERITIES])


def _entries(report: StoredReport) -> "Iterator[Entry[ComparedCase]]":
    return (Entry(result.name, _said(result), _compared(result)) for result in report.results())


def _changed_checks(old: Index, new: Index, both: Iterable[str]) -> Conditions:
    """A row that could not be read was asked nothing, so it says nothing about the checks."""
    read = [name for name in both if ERROR not in {old[name].kind, new[name].kind}]
    return changed_checks({old[name].checks for name in read}, {new[name].checks for name in read})


def _failing(index: Index) -> Failing:
    return {name: entry.failed for name, entry in index.items() if entry.kind == UNEXPECTED}


def _compared(result: CaseResult) -> ComparedCase:
    texts = [result.texts[key] for key in ("user", "assistant", "messages") if key in result.texts]
    # Of a finding only what every format version records: other evidence is other words, not a richer record of them.
    found = [(one.rule, one.where, one.turn, one.start, one.end, one.text) for one in result.findings]
    evidence = _digest([[check.evidence for check in result.checks.values()], found])
    failed, digest = _severities(result), _digest(texts) if texts else b""
    return ComparedCase(kind_of(result), frozenset(result.checks), failed, evidence, digest, _differences(result))


def _differences(result: CaseResult) -> Differences:
    found = {name: timeline.difference for name, timeline in result.timelines.items()}
    return {name: difference for name, difference in found.items() if difference is not None} or _NONE


def _digest(value: Any) -> bytes:
    return hashlib.blake2b(_encode(value), digest_size=8).digest()


def _change(name: str, pairs: "Pairs[ComparedCase]", checks: Mapping[str, str]) -> Change:
    before, after = pairs.before.get(name), pairs.after.get(name)
    known = before and after and before.texts and after.texts
    same = before.texts == after.texts if before and after and known else None
    worst = worst_of(checks.values()) if checks else None
    kinds = before.kind if before else None, after.kind if after else None
    return Change(name, list(checks), *kinds, same, worst, pairs.names_before.get(name))


def _is_other(before: str, after: str) -> bool:
    """A change that no other list holds, such as to or from a case without a verdict."""
    listed = after == UNEXPECTED or (before, after) in {(UNEXPECTED, PASS), (EXPECTED, MISSED)}
    return before != after and not listed


def _differs_in_evidence(before: ComparedCase, after: ComparedCase) -> bool:
    return before[:3] == after[:3] and before.evidence != after.evidence


def _pass_rate(kinds: Counter[tuple[str, str]]) -> PassRate | None:
    kept, lost = kinds[PASS, PASS], kinds[PASS, UNEXPECTED]
    won, failing = kinds[UNEXPECTED, PASS], kinds[UNEXPECTED, UNEXPECTED]
    total = kept + lost + won + failing
    found = difference(lost, won, total)
    if found is None:
        return None
    return PassRate(
        cases=total,
        passed_before=kept + lost,
        passed_after=kept + won,
        newly_failing=lost,
        newly_passing=won,
        change=round(found.change, 6),
        interval=(round(found.low, 6), round(found.high, 6)),
        p_value=float(f"{found.p_value:.4g}"),
        verdict=verdict_on(found),
    )


# Which case of one report is which case of the other: by the ids that they brought with them, else by what people
# wrote. Never by their places in two files: one inserted row would make all that follow look changed.


_MADE_ID = regex(r"ROW-[0-9]+(?= |$)")  # a number behind it is of a name that repeats
BY_ID, BY_WORDS, BY_PLACE = (
    "paired by id",
    "paired by what the person wrote, since the rows have no ids",
    "paired by row, since both read the same file",
)
Changed = Sequence[tuple[str, Mapping[str, str]]]  # case -> checks, and how bad each is


class Entry(NamedTuple, Generic[T]):
    """A case of a report: what it is called, a hash of what the person wrote, and what is remembered of it."""

    name: str
    said: bytes  # empty where the report holds no texts
    value: T


class Pairs(NamedTuple, Generic[T]):
    """Both reports by the same names, those of the later one; how they were paired; names that were other ones."""

    before: dict[str, T]
    after: dict[str, T]
    how: str
    names_before: dict[str, str]


def paired(before: Iterable[Entry[T]], after: Iterable[Entry[T]], *, same_file: bool = False) -> Pairs[T]:
    """The cases of two reports brought together; InputError where nothing says which is which."""
    old, new = _distinct(before), _distinct(after)
    if same_file or not (_are_made(old) or _are_made(new)) or not old or not new:
        how = BY_PLACE if same_file and _are_made(new) else BY_ID
        return Pairs({name: one.value for name, one in old.items()}, {n: one.value for n, one in new.items()}, how, {})
    return _paired_by_words(old, new)


def _distinct(entries: Iterable[Entry[T]]) -> dict[str, Entry[T]]:
    return dict(numbered((entry.name, entry) for entry in entries))


def _are_made(entries: Iterable[str]) -> bool:
    """Whether some rows had no id, and were called by their place."""
    return any(_MADE_ID.match(name) for name in entries)


def _paired_by_words(old: Mapping[str, Entry[T]], new: Mapping[str, Entry[T]]) -> Pairs[T]:
    if not all(any(entry.said for entry in one.values()) for one in (old, new)):
        raise InputError(
            "the rows have no ids, and not both reports hold their texts, so nothing says which row is which",
            hint="Evaluate them with ids (--map id=NAME) or keep the texts (without --no-text, with --save-text).",
        )
    places = {key: name for key, (name, _) in _by_words(old)}
    was = {name: places[key] for key, (name, _) in _by_words(new) if key in places}
    now = {old_name: name for name, old_name in was.items()}
    # A row of the old report that is gone keeps its name, apart from the row that has the name now.
    before = {now.get(name) or (name if name not in new else f"{name} (before)"): one for name, one in old.items()}
    return Pairs(
        {name: one.value for name, one in before.items()},
        {name: one.value for name, one in new.items()},
        BY_WORDS,
        {name: old_name for name, old_name in was.items() if name != old_name},
    )


def _by_words(entries: Mapping[str, Entry[T]]) -> Iterator[tuple[str, tuple[str, Entry[T]]]]:
    """What people wrote as a key; the same words again get a number, in the order of the report.

    A row that could not be read has no words: it has its place alone.
    """
    return numbered((entry.said.hex() or name, (name, entry)) for name, entry in entries.items())


def _said(result: CaseResult) -> bytes:
    """A hash of the person's side of the conversation, which stays the same when replies or verdicts change."""
    if "messages" in result.texts:
        return _digest([turn["content"] for turn in result.texts["messages"] if turn["role"] == "user"])
    return _digest([result.texts.get("user", "")]) if result.has_texts else b""


def same_input(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    found = _at(before, _PATHS["input"])
    return bool(found) and found == _at(after, _PATHS["input"])


def numbered(values: Iterable[tuple[str, T]]) -> Iterator[tuple[str, T]]:
    """Each name once: one that repeats, as in several files, gets a number."""
    seen: Counter[str] = Counter()
    for name, value in values:
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name} #{seen[name]}"), value


# A comparison in words: what is new first, by how bad it is.


NAMED = 3  # cases in the headline


def headline(comparison: Comparison) -> str:
    """What a person reads first: "1 new critical failure: row 31; 6 fixed; 3 new minor failures"."""
    parts = [_new(comparison, severity) for severity in SEVERITIES]
    failing = {change.id for change in comparison.newly_failing}
    better = [change for change in comparison.newly_passing if change.id not in failing]
    fixed = sum(change.after == PASS for change in better)
    caught = len(comparison.no_longer_caught)
    parts[2:2] = [
        f"{count(caught, 'negative example')} no longer caught" if caught else "",
        f"{fixed:,} fixed" if fixed else "",
        f"{len(better) - fixed:,} partly fixed" if len(better) > fixed else "",
    ]
    told = "; ".join(filter(None, parts))
    return told or f"No new failure and nothing fixed in {count(comparison.in_both, 'case')}"


def _new(comparison: Comparison, severity: str) -> str:
    names = [called(change.id) for change in comparison.newly_failing if change.severity == severity]
    if not names:
        return ""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{count(len(names), f'new {severity} failure')}: {', '.join(names[:NAMED])}{more}"


def called(name: str) -> str:
    """A case by its id; a row without one by its place, as a person says it."""
    return name.replace("ROW-", "row ", 1) if _MADE_ID.match(name) else name


# How the reply changed, word by word.


KEPT, GONE, ADDED = "kept", "gone", "added"
MOST_WORDS = 2_000  # of a reply: beyond, finding what moved takes too long
# A word, or one character where a script writes words without spaces; what is between them belongs to what precedes.
_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff]"
_WORD = regex(rf"(?:[\u3040-\u30ff\u3400-\u9fff]|{_LETTER}+(?:['’]{_LETTER}+)*|[^\w\s])\s*")


class Piece(NamedTuple):
    """Words that were kept, are gone or were added."""

    kind: str
    text: str


def word_changes(before: str, after: str) -> list[Piece]:
    """The new text in pieces, with what is gone before what stands in its place."""
    old, new = _WORD.findall(before.strip()), _WORD.findall(after.strip())
    if max(len(old), len(new)) > MOST_WORDS:
        return [Piece(GONE, before), Piece(ADDED, after)]
    from difflib import SequenceMatcher

    pieces = []
    for kind, *places in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, added = "".join(old[places[0] : places[1]]), "".join(new[places[2] : places[3]])
        pieces += [Piece(KEPT, added)] if kind == "equal" else [Piece(GONE, gone), Piece(ADDED, added)]
    return [piece for piece in pieces if piece.text]


class ChangedReply(NamedTuple):
    """What a person wrote, and what was replied before and after; None where a report does not hold it."""

    user: str
    before: str | None
    after: str | None

    @property
    def pieces(self) -> list[Piece]:
        """The change word by word; nothing where there is none, or where one side is not known."""
        if self.before is None or self.after is None or self.before == self.after:
            return []
        return word_changes(self.before, self.after)


def changed_replies(before: StoredReport, after: StoredReport, changes: Iterable[Change]) -> dict[str, ChangedReply]:
    """The exchange that decides each of these changes, from both reports; nothing where no texts are stored."""
    wanted = list(changes)
    old = _results(before, {change.was or change.id for change in wanted})
    new = _results(after, {change.id for change in wanted})
    pairs = ((change.id, changed_reply(old.get(change.was or change.id), new.get(change.id))) for change in wanted)
    return {name: reply for name, reply in pairs if reply}


def changed_reply(before: CaseResult | None, after: CaseResult | None) -> ChangedReply | None:
    """The exchange where the later result was decided, as it is in both."""
    last = after if after and after.exchanges else before
    if last is None or not last.exchanges:
        return None
    turn = deciding_turn(last)
    return ChangedReply(last.exchanges[turn][0], _reply(before, turn), _reply(after, turn))


def _reply(result: CaseResult | None, turn: int) -> str | None:
    return result.exchanges[turn][1] if result and turn < len(result.exchanges) else None


def _results(report: StoredReport, names: Collection[str]) -> dict[str, CaseResult]:
    found = numbered((result.name, result) for result in report.results()) if names else ()
    return {name: result for name, result in found if name in names}
