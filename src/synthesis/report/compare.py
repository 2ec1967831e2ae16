"""Compares two runs: what changed, and whether their conditions allow calling one of them better.

A verdict is a measurement, and profile, checks, rules and version are its ruler. Runs of another profile or of other
checks answer another question; runs of other rules measure the same question differently, so that a change may come
from the rules and not from the replies. Only one ruler allows "better" and "worse".
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from synthesis.errors import InputError
from synthesis.model import CaseResult
from synthesis.model.result import ERROR, MINOR, PASS
from synthesis.report.drift import Differences, DriftChange, drift_changes
from synthesis.report.findings import EXPECTED, MISSED, UNEXPECTED, kind_of
from synthesis.report.stored import StoredReport
from synthesis.settings import FORMER_PROFILES
from synthesis.stats import CONFIDENCE, difference, verdict_on

Conditions = dict[str, tuple[Any, Any]]  # only those that differ: before, after
PROFILE, CHECKS, RULES, VERSION, SIMILARITY = "profile", "checks", "rules", "tool version", "similarity"
JUDGE, RUBRIC = "judge", "rubric"
MEASURED_DIFFERENTLY = "measured differently"  # in place of better and worse
_PATHS = {
    VERSION: ("tool", "version"),
    RULES: ("rules", "hash"),
    SIMILARITY: ("similarity",),
    PROFILE: ("profile",),
    "input": ("input", "sha256"),
}
_QUESTION = (PROFILE, CHECKS)
_RULER = (*_QUESTION, RULES, VERSION, SIMILARITY, JUDGE, RUBRIC)


def changed_conditions(before: Mapping[str, Any], after: Mapping[str, Any]) -> Conditions:
    """The conditions that differ between two report headers."""
    pairs = {name: (_at(before, path), _at(after, path)) for name, path in _PATHS.items()}
    pairs[PROFILE] = tuple(FORMER_PROFILES.get(name, name) for name in pairs[PROFILE])
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


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
Entry = tuple[str, str, T]  # id of a case, its name, and what is remembered of it
Failing = Mapping[str, Collection[str]]  # case -> checks that fail unexpectedly


class ComparedCase(NamedTuple):
    """What is remembered of a case: kind, checks, those that failed, what evidence and texts hash to, drift."""

    kind: str
    checks: frozenset[str]
    failed: frozenset[str]
    evidence: bytes
    texts: bytes
    differences: Differences  # between the halves of a conversation that is long enough


Index = Mapping[str, ComparedCase]


class Change(msgspec.Struct, frozen=True):
    """A case whose verdict changed, and the checks that made the difference."""

    id: str
    checks: list[str]
    before: str | None  # None: the case was not there
    after: str | None
    same_texts: bool | None = None  # None: at least one report holds no texts


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
    pass_rate: PassRate | None  # None where no case was assessed by both
    drift: list[DriftChange] = []  # of conversations that are long enough in both

    @property
    def ruler_changes(self) -> list[str]:
        """The changed conditions because of which neither run may be called better."""
        return ruler_changes(self.conditions)


def compare_reports(before: StoredReport, after: StoredReport) -> Comparison:
    """What changed from one report to the other; InputError if one of them does not hold all results."""
    for report in (before, after):
        require_all_results(report, "a comparison")
    old, new = paired(_entries(before), _entries(after))
    both = [name for name in new if name in old]
    alike = [name for name in both if old[name].checks == new[name].checks]
    conditions = changed_conditions(before.header, after.header) | _changed_checks(old, new, both)
    rate = _pass_rate(Counter((old[name].kind, new[name].kind) for name in alike))
    drift = drift_changes((old[name].differences, new[name].differences) for name in both)
    if ruler_changes(conditions):
        rate = rate and msgspec.structs.replace(rate, verdict=MEASURED_DIFFERENTLY)
        drift = [msgspec.structs.replace(change, verdict=MEASURED_DIFFERENTLY) for change in drift]
    return Comparison(
        conditions=conditions,
        newly_failing=[_change(name, old, new, added) for name, added in newly_failing(_failing(old), _failing(new))],
        newly_passing=[
            _change(name, old, new, gone)
            for name, gone in newly_failing(_failing(new), _failing(old))
            if name in new and new[name].kind in {PASS, UNEXPECTED} and new[name].checks.issuperset(gone)
        ],
        no_longer_caught=[name for name in both if (old[name].kind, new[name].kind) == (EXPECTED, MISSED)],
        other_changes=[_change(name, old, new, ()) for name in both if _is_other(old[name].kind, new[name].kind)],
        other_checks=[name for name in both if old[name].checks != new[name].checks],
        changed_evidence=[name for name in alike if _differs_in_evidence(old[name], new[name])],
        only_before=[name for name in old if name not in new],
        only_after=[name for name in new if name not in old],
        in_both=len(both),
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


def unexpected_failures(report: StoredReport) -> list[Entry[dict[str, str]]]:
    """The checks that each case fails unexpectedly, with how bad that is: none for most of them."""
    return [
        (result.id, result.name, _severities(result) if kind_of(result) == UNEXPECTED else {})
        for result in report.results()
    ]


def _severities(result: CaseResult) -> dict[str, str]:
    """Earlier reports did not say them."""
    return {name: result.checks[name].severity or MINOR for name in result.failed_checks}


def paired(before: Iterable[Entry[T]], after: Iterable[Entry[T]]) -> tuple[dict[str, T], dict[str, T]]:
    """Both reports by the same ids: those that rows had in their files, if both reports know such."""
    both = list(before), list(after)
    by_name = all(any(case_id != name for case_id, name, _ in entries) for entries in both)
    old, new = (dict(numbered((name if by_name else case_id, value) for case_id, name, value in one)) for one in both)
    return old, new


def newly_failing(before: Failing, after: Failing) -> list[tuple[str, list[str]]]:
    """The failures of `after` that `before` does not have, check by check."""
    added = ((name, sorted({*checks} - {*before.get(name, ())})) for name, checks in after.items())
    return [(name, checks) for name, checks in added if checks]


def _entries(report: StoredReport) -> Iterator[Entry[ComparedCase]]:
    return ((result.id, result.name, _compared(result)) for result in report.results())


def _changed_checks(old: Index, new: Index, both: Iterable[str]) -> Conditions:
    """A row that could not be read was asked nothing, so it says nothing about the checks."""
    read = [name for name in both if ERROR not in {old[name].kind, new[name].kind}]
    return changed_checks({old[name].checks for name in read}, {new[name].checks for name in read})


def _failing(index: Index) -> Failing:
    return {name: entry.failed for name, entry in index.items() if entry.kind == UNEXPECTED}


def numbered(values: Iterable[tuple[str, T]]) -> Iterator[tuple[str, T]]:
    """Each name once: one that repeats, as in several files, gets a number."""
    seen: Counter[str] = Counter()
    for name, value in values:
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name} #{seen[name]}"), value


def _compared(result: CaseResult) -> ComparedCase:
    texts = [result.texts[key] for key in ("user", "assistant", "messages") if key in result.texts]
    # Of a finding only what every format version records: other evidence is other words, not a richer record of them.
    found = [(one.rule, one.where, one.turn, one.start, one.end, one.text) for one in result.findings]
    evidence = _digest([[check.evidence for check in result.checks.values()], found])
    failed, digest = frozenset(result.failed_checks), _digest(texts) if texts else b""
    return ComparedCase(kind_of(result), frozenset(result.checks), failed, evidence, digest, _differences(result))


def _differences(result: CaseResult) -> Differences:
    found = {name: timeline.difference for name, timeline in result.timelines.items()}
    return {name: difference for name, difference in found.items() if difference is not None} or _NONE


def _digest(value: Any) -> bytes:
    return hashlib.blake2b(_encode(value), digest_size=8).digest()


def _change(name: str, old: Index, new: Index, checks: Iterable[str]) -> Change:
    before, after = old.get(name), new.get(name)
    known = before and after and before.texts and after.texts
    same = before.texts == after.texts if before and after and known else None
    return Change(name, list(checks), before.kind if before else None, after.kind if after else None, same)


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
