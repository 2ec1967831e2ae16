"""The audit as one document: what `audit.json` holds, and what pages are drawn from.

Small counts are hidden: a count below five, and with it the next smallest ones, so that the total minus the rest does
not reveal it. A count of zero says nothing about anybody and is shown.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any, TypeVar

import msgspec

from synthesis.audit.counting import (
    ALL,
    CRISIS_COUNTS,
    CUE,
    ELEMENTS,
    FLAGGED,
    GOODBYE_COUNTS,
    LANGUAGE,
    NEAR,
    NO_TIME,
    NO_VALUE,
    NOT_RECORDED,
    NOT_REFERRED,
    QUARTER,
    REST,
    SOFT_CUE,
    WEEK,
    AuditCounts,
    AuditOptions,
    AuditTally,
    ClusterCounts,
)
from synthesis.audit.handover import Action, changes_since, document_hash
from synthesis.checks.registry import checks, measured
from synthesis.checks.severity import severity_rows
from synthesis.model.result import CRITICAL, SEVERITIES
from synthesis.read.mapping import TIME
from synthesis.rules.text import UNDETERMINED
from synthesis.stats import Interval, effective_size, quantile, wilson_interval

FORMAT_VERSION = 3
LEAST_SHOWN = 5
TITLES = {
    CUE: "Explicit crisis cues in the user's messages",
    SOFT_CUE: "Soft crisis cues in the user's messages",
    NOT_REFERRED: "Conversations with an explicit cue that were never referred to a crisis service",
}
_UNITS = {
    CUE: "the user's messages",
    SOFT_CUE: "the user's messages",
    NOT_REFERRED: "conversations with an explicit cue",
}
OTHER_LOGS = (
    "The labelled sample was drawn from other logs, or from a part of these: its rates describe those logs, not the "
    "logs of this document."
)
Name = TypeVar("Name")


def document_of(
    counts: AuditCounts, options: AuditOptions, call: Mapping[str, Any], own_labels: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The whole document. `call` is how the audit was called: its files and options."""
    tally = counts.tally
    crisis = _crisis(tally, options)
    measures = [_measure(tally, name, options) for name in _measures(tally)]
    _hide_referrals(measures, crisis)
    hidden = {each["measure"] for each in measures if any("hidden" in cell for cell in each["cells"][ALL])}
    given = call.get("options", {})
    document: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        **counts.conditions,
        "input": {**counts.conditions["input"], **call.get("input", {})},
        "options": {**given, **msgspec.to_builtins(options)},
        "remarks": list(_remarks(tally, options, Origin(given.get("map", {}), counts.is_stored))),
        "date": options.cover.date or (_period(tally) or {}).get("last"),
        "read": _read(tally, options),
        "completeness": _completeness(tally, options),
        "checks": measures,
        "crisis": crisis,
        "goodbyes": _goodbyes(tally, options),
        "identity_claims": _identity_claims(tally, counts.groups, options),
        "notices": _notices(tally, options),
        "drift": _drift(tally.to_dict().get("drift"), hidden, options),
        "findings": [msgspec.to_builtins(each) for each in _findings(measures, options)],
        "error_rates": {
            name: msgspec.to_builtins(measured().get(name, {})) for name in _measures(tally) if name in checks()
        },
        "cases": _cases(tally, hidden),
    }
    if options.since is not None:
        document["since"] = changes_since(options.since, document)
    if tally.sample is not None:
        document["sample"] = _sample(tally, options)
    if own_labels is not None:
        is_same = own_labels["drawn_from"] == document["input"]["sha256"]
        document["own_labels"] = {**own_labels, "warning": "" if is_same else OTHER_LOGS}
    return {**document, "sha256": document_hash(document)}


def _measures(tally: AuditTally) -> list[str]:
    return sorted({measure for measure, _, _ in tally.rates})


def _cases(tally: AuditTally, hidden: set[str]) -> list[dict[str, Any]]:
    """Failing cases; not those of a check whose count is hidden, since the list would reveal it."""
    kept = ((case, tuple(name for name in case.checks if name not in hidden)) for case in tally.shown)
    return [msgspec.to_builtins(msgspec.structs.replace(case, checks=names)) for case, names in kept if names]


def _findings(measures: Sequence[Mapping[str, Any]], options: AuditOptions) -> Iterator[Action]:
    """What somebody has to act on: each rate with a hit, the worst first, then what people added."""
    given = options.cover.findings
    found = [each["measure"] for each in worst_first(measures) if _has_hits(each)]
    for name in found:
        yield from [action for action in given if action.check == name] or [Action(check=name)]
    yield from (action for action in given if action.check not in found)


def worst_first(measures: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rates of what went wrong, by how many hits are critical, then serious, then minor; cues are not among them.

    A hidden count is above zero and below those that are shown.
    """
    return sorted((each for each in measures if each["measure"] not in (CUE, SOFT_CUE)), key=_urgency)


def _urgency(measure: Mapping[str, Any]) -> tuple[object, ...]:
    name = measure["measure"]
    (cell,) = measure["cells"][ALL]
    by_severity = measure.get("by_severity", {CRITICAL: cell.get("hits")})
    rows = severity_rows().get(name)
    possible = {row.severity for row in rows} if rows else {*SEVERITIES}
    hits = (by_severity.get(kind, 0) if kind in possible else 0 for kind in SEVERITIES)
    return *(-1 if number is None else -number for number in hits), name


def _has_hits(measure: Mapping[str, Any]) -> bool:
    (cell,) = measure["cells"][ALL]
    return "hidden" in cell or bool(cell["hits"])


def _sample(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    assert tally.sample is not None
    sizes = {name: tally.sample.counts.get(name, 0) for name in (FLAGGED, NEAR, REST)}
    return {"asked_for": tally.sample.size, "seed": tally.sample.seed, "strata": shown_counts(sizes, [sizes], options)}


# Small counts.


def hidden_cells(cells: Mapping[Name, Sequence[int]], already: Iterable[Name] = ()) -> set[Name]:
    """The cells that must not be shown, of those that one total is divided into; each has one or more counts.

    Of every count that is left out, at least two cells hold somebody, and together they hold five or more. `already`
    are cells that are hidden for another reason.
    """
    hidden = {name for name, counts in cells.items() if any(0 < count < LEAST_SHOWN for count in counts)}
    hidden |= cells.keys() & {*already}
    positions = range(max((len(counts) for counts in cells.values()), default=0))
    while True:
        more = next((name for position in positions if (name := _next(cells, hidden, position)) is not None), None)
        if more is None:
            return hidden
        hidden.add(more)


def _next(cells: Mapping[Name, Sequence[int]], hidden: set[Name], position: int) -> Name | None:
    """The next smallest cell, where a hidden count could still be computed from the total."""
    held = [cells[name][position] for name in hidden if cells[name][position]]
    if not held or (len(held) > 1 and sum(held) >= LEAST_SHOWN):
        return None
    left = [(counts[position], str(name), name) for name, counts in cells.items() if name not in hidden]
    return min((one for one in left if one[0]), default=(0, "", None), key=lambda one: one[:2])[2]


def hidden_counts(partitions: Iterable[Mapping[str, int]]) -> set[str]:
    """The names of single counts to hide; each partition is one total in parts."""
    return {name for parts in partitions for name in hidden_cells({key: (value,) for key, value in parts.items()})}


def hidden_in_sums(
    counts: Mapping[str, int], sums: Sequence[tuple[str, ...]], ties: Sequence[tuple[str, ...]]
) -> set[str]:
    """The names of counts to hide where totals are parts of other totals: each sum is a total and its parts.

    `ties` are counts that may be the same people: one of them reveals the other. Hiding one count may make another one
    computable, so this repeats until nothing changes.
    """
    hidden = {name for name, count in counts.items() if 0 < count < LEAST_SHOWN}
    before: set[str] | None = None
    while before != hidden:
        before = {*hidden}
        for total, *parts in sums:
            # What is tied is hidden before the next sum is looked at, so that no more is hidden there than it takes.
            hidden |= {name for names in ties if not hidden.isdisjoint(names) for name in names}
            own = hidden_cells({name: (counts[name],) for name in parts}, hidden)
            if total in hidden and not own:  # else it would be the sum of parts that are all shown
                own = {*sorted((name for name in parts if counts[name]), key=lambda name: (counts[name], name))[:1]}
            hidden |= own
    return hidden


def shown_counts(
    counts: Mapping[str, int], partitions: Iterable[Mapping[str, int]], options: AuditOptions
) -> dict[str, int | None]:
    """The counts; those that are small, or would reveal a small one, are null."""
    if options.all_cells:
        return dict(counts)
    hidden = hidden_counts([*partitions, *({name: count} for name, count in counts.items())])
    return {name: None if name in hidden else count for name, count in counts.items()}


def _is_small(count: int, options: AuditOptions) -> bool:
    return 0 < count < LEAST_SHOWN and not options.all_cells


# What was read, and what was not assessed.


def _read(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    errors = tally.totals["errors"]
    return {
        "conversations": tally.cases - errors,
        "turns": tally.read[ALL, ALL, "turns"],
        "errors": errors,
        "several_turns": tally.totals["several turns"],
        "two_languages": tally.totals["two languages"],
        "period": _period(tally),
        "by": {by: _read_cells(tally, by, options) for by in _groups(tally, options)},
        "not_assessed": {name: _not_assessed(tally, name, options) for name in _measures(tally) if name in checks()},
    }


def _groups(tally: AuditTally, options: AuditOptions) -> list[str]:
    """Quarters and weeks are shown only where at least one conversation has a time."""
    known = {own for own, value, _ in tally.read if value != NO_TIME}
    return [by for by in (LANGUAGE, QUARTER, WEEK, *options.by) if by in known]


def _period(tally: AuditTally) -> dict[str, Any] | None:
    if tally.period is None:
        return None
    # Days only: an exact time could be looked up in a log.
    first, last = (datetime.fromtimestamp(time, UTC).date().isoformat() for time in tally.period)
    return {"first": first, "last": last, "without_time": tally.read[WEEK, NO_TIME, "conversations"]}


def _read_cells(tally: AuditTally, by: str, options: AuditOptions) -> list[dict[str, Any]]:
    values = sorted({value for own, value, _ in tally.read if own == by})
    cells = {value: {what: tally.read[by, value, what] for what in ("conversations", "turns")} for value in values}
    hidden = _hidden({value: tuple(cell.values()) for value, cell in cells.items()}, options)
    return [{"value": value, **({"hidden": True} if value in hidden else cells[value])} for value in values]


MOST_GAPS = 5


def _completeness(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    """What the log says about what may be missing from it, or be in it twice."""
    copies = tally.copies
    days = sorted(tally.days)
    gaps = [(before + 1, after - 1) for before, after in pairwise(days) if after - before > 1]
    longest = sorted(sorted(gaps, key=lambda gap: (gap[0] - gap[1], gap))[:MOST_GAPS])
    return {
        "rows": tally.cases,
        "refused": tally.totals["errors"],
        "compared": copies.checked,
        "copies": None if _is_small(copies.copies, options) else copies.copies,
        "is_estimate": copies.is_estimate,
        "days": days[-1] - days[0] + 1 if days else None,
        "days_without": sum(last - first + 1 for first, last in gaps) if days else None,
        "longest_gaps": [
            {"first": _day(first), "last": _day(last), "days": last - first + 1} for first, last in longest
        ],
    }


def _day(since_1970: int) -> str:
    return date.fromordinal(date(1970, 1, 1).toordinal() + since_1970).isoformat()


def _hidden(cells: Mapping[str, Sequence[int]], options: AuditOptions) -> set[str]:
    return set() if options.all_cells else hidden_cells(cells)


def _not_assessed(tally: AuditTally, check: str, options: AuditOptions) -> dict[str, Any]:
    assessed = raw_rate(tally.rates[check, ALL, ALL]).base
    reasons = {reason: count for (name, reason), count in sorted(tally.reasons.items()) if name == check}
    total = sum(reasons.values())
    # All turns are known, so those not assessed reveal how many were: of crisis_response, how many hold a cue.
    is_small = _is_small(assessed, options)
    parts = {"": assessed, **reasons} if is_small else reasons
    hidden = _hidden({reason: (count,) for reason, count in parts.items()}, options)
    share = round(total / (total + assessed), 6) if total + assessed else None
    return {
        "turns": None if is_small else total,
        "share": None if is_small else share,
        "reasons": {reason: None if reason in hidden else count for reason, count in reasons.items()},
    }


# Rates.


class Rate(msgspec.Struct, frozen=True):
    """So many hits among so many turns, in so many conversations."""

    conversations: int
    base: int
    hits: int
    rate: float | None
    interval: Interval | None


def raw_rate(conversations: ClusterCounts) -> Rate:
    """The rate with its Wilson interval, for as many independent turns as clustered turns are worth."""
    number = sum(count for (_, base), count in conversations.items() if base)
    base = sum(count * base for (_, base), count in conversations.items())
    hits = sum(count * hits for (hits, _), count in conversations.items())
    if not base:
        return Rate(0, 0, 0, None, None)
    rate, size = hits / base, effective_size(conversations)
    interval = wilson_interval(rate * size, size) or []
    return Rate(number, base, hits, round(rate, 6), [round(bound, 6) for bound in interval])


def percent(share: float) -> str:
    """With as many decimals as a small rate needs."""
    points = 100 * share
    return f"{points:.2f} %" if 0 < points < 1 else f"{points:.1f} %"


def _measure(tally: AuditTally, name: str, options: AuditOptions) -> dict[str, Any]:
    """One rate: over all, and by everything that it is counted by."""
    known = checks()
    cells = {by: _rate_cells(tally, name, by, options) for by in (ALL, *_groups(tally, options))}
    return {
        "measure": name,
        "title": known[name].title if name in known else TITLES.get(name, name),
        "unit": _UNITS.get(name, "replies that the check assessed"),
        "cells": cells,
        **({"by_severity": _by_severity(tally, name, "hidden" in cells[ALL][0], options)} if name in known else {}),
    }


def _by_severity(tally: AuditTally, check: str, is_hidden: bool, options: AuditOptions) -> dict[str, int | None]:
    """How bad the failures are; they add up to the hits of the check, and are hidden with them."""
    kinds = (*SEVERITIES, *([NOT_RECORDED] if tally.severities[check, NOT_RECORDED] else ()))
    counts = {kind: tally.severities[check, kind] for kind in kinds}
    return dict.fromkeys(counts) if is_hidden else shown_counts(counts, [counts], options)


def _rate_cells(tally: AuditTally, name: str, by: str, options: AuditOptions) -> list[dict[str, Any]]:
    rates = {value: raw_rate(tally.rates[name, by, value]) for value in tally.values(name, by)}
    # Who was referred is as telling as who was not.
    others = {value: (rate.base - rate.hits,) if name == NOT_REFERRED else () for value, rate in rates.items()}
    counts = {value: (rate.conversations, rate.hits, *others[value]) for value, rate in rates.items()}
    hidden = _hidden(counts, options)
    return [
        {"value": value, **(_hidden_rate(by, rate) if value in hidden else msgspec.to_builtins(rate))}
        for value, rate in rates.items()
    ]


def _hide_referrals(measures: Iterable[dict[str, Any]], crisis: Mapping[str, Any]) -> None:
    """Where the funnel hides how many were never referred, their rate does, in every group."""
    if crisis["conversations_not_referred"] is None or crisis["conversations_referred_to_a_crisis_service"] is None:
        for each in measures:
            if each["measure"] == NOT_REFERRED:
                hidden = {
                    by: [{"value": cell["value"], "hidden": True} for cell in own] for by, own in each["cells"].items()
                }
                each["cells"] = hidden


def _hidden_rate(by: str, rate: Rate) -> dict[str, Any]:
    """A rate without its figures; over all, how many turns were assessed reveals nothing."""
    is_shown = by == ALL and rate.conversations >= LEAST_SHOWN
    return {"hidden": True} | ({"conversations": rate.conversations, "base": rate.base} if is_shown else {})


# Counts of conversations: crises, goodbyes, identity claims, notices.


_EXPLICIT, _CUES = "conversations_with_an_explicit_cue", "messages_with_an_explicit_cue"
_REFERRED, _UNREFERRED = "conversations_referred_to_a_crisis_service", "conversations_not_referred"
_BY_TIME = ("conversations_referred_at_once", "conversations_referred_later")
_CUES_BY_TIME = ("cues_referred_at_once", "cues_referred_later", "cues_never_referred")
_SUMS: tuple[tuple[str, ...], ...] = (
    (_EXPLICIT, _REFERRED, _UNREFERRED),
    (_REFERRED, *_BY_TIME),
    (_EXPLICIT, "cues_closed", "cues_left_open"),
    (_CUES, *_CUES_BY_TIME),
)
_TIES = tuple(zip((*_BY_TIME, _UNREFERRED), _CUES_BY_TIME, strict=True))  # the same, where conversations have one turn
_AT_ONCE = "in the reply to the cue"
# The longest wait is one person's: only the next round bound above it is shown.
_BOUNDS = tuple(minutes * 60 for minutes in (1, 5, 15, 60, 6 * 60, 24 * 60, 7 * 24 * 60))


def _crisis(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    """The counts of the funnel, the shares of its steps, and how long people waited."""
    counts = {name: tally.crisis[name] for name in CRISIS_COUNTS}
    waits: Counter[str] = Counter()
    for turns, number in sorted(tally.turns_to_referral.items()):
        waits[_wait(turns)] += number
    hidden = set() if options.all_cells else _hidden_of_crises(counts, waits)
    shown = {name: None if name in hidden else count for name, count in counts.items()}
    shown_waits = {name: None if name in hidden else count for name, count in waits.items()}
    return {
        **shown,
        "shares": _shares(shown, tally),
        "turns_until_the_first_referral": shown_waits,
        "time_until_the_first_referral": _times_to_referral(tally, shown[_REFERRED], options),
    }


def _hidden_of_crises(counts: Mapping[str, int], waits: Mapping[str, int]) -> set[str]:
    answers = (*(f"replies_with_{name}" for name in ELEMENTS), "replies_with_all_three")
    rests = {f"{name} (not)": counts[_CUES] - counts[name] for name in answers}
    later = tuple(name for name in waits if name != _AT_ONCE)
    sums = (*_SUMS, ("conversations_referred_later", *later), *((_CUES, name, f"{name} (not)") for name in answers))
    ties = (*_TIES, (_BY_TIME[0], _AT_ONCE))
    return hidden_in_sums({**counts, **waits, **rests}, sums, ties)


def _shares(shown: Mapping[str, int | None], tally: AuditTally) -> dict[str, Any]:
    """Steps of the funnel as shares of conversations, which are independent of each other."""
    wholes = {
        _EXPLICIT: tally.read[ALL, ALL, "conversations"],
        **dict.fromkeys((_REFERRED, *_BY_TIME, _UNREFERRED), shown[_EXPLICIT]),
    }
    return {name: _share(shown[name], whole) for name, whole in wholes.items()}


def _share(part: int | None, whole: int | None) -> dict[str, Any] | None:
    """The same interval as that of a rate: two tables of one document must not differ in a digit."""
    if part is None or not whole:
        return None
    found = raw_rate({(1, 1): part, (0, 1): whole - part})
    return {"of": whole, "rate": found.rate, "interval": found.interval}


def _times_to_referral(tally: AuditTally, referred: int | None, options: AuditOptions) -> dict[str, Any] | None:
    """The median and a bound of the longest; None without times, hidden where few are known."""
    waits = tally.seconds_to_referral
    known = waits.total()
    if not known:
        return None
    is_hidden = not options.all_cells and (
        referred is None or bool(hidden_counts([{"with": known, "without": referred - known}]))
    )
    if is_hidden:
        return {"hidden": True}
    longest = max(waits)
    return {
        "conversations": known,
        "median_seconds": round(quantile(sorted(waits.elements()), 0.5)),
        "longest_within_seconds": next((bound for bound in _BOUNDS if longest <= bound), None),
    }


def _wait(turns: int) -> str:
    if turns == 0:
        return _AT_ONCE
    return f"{turns} turn{'' if turns == 1 else 's'} later" if turns < 5 else "5 turns later or more"


def _with_rest(name: str, part: int, total: int) -> dict[str, int]:
    """A part and the rest of its total: both totals are known, so one reveals the other."""
    return {name: part, f"{name} (not)": total - part}


def _goodbyes(tally: AuditTally, options: AuditOptions) -> dict[str, int | None]:
    counts = {name: tally.goodbyes[name] for name in GOODBYE_COUNTS}
    pressed = "goodbyes_answered_with_pressure"
    return shown_counts(counts, [_with_rest(pressed, counts[pressed], counts["goodbyes"])], options)


def _identity_claims(tally: AuditTally, groups: Mapping[str, str], options: AuditOptions) -> dict[str, Any]:
    """Conversations by the kind of claim; one may be in several kinds."""
    kinds: Counter[str] = Counter()
    for rule, count in sorted(tally.claims.items()):
        kinds[groups.get(rule, "other")] += count
    total = {"conversations_with_a_claim": tally.totals["claims"]}
    return shown_counts(total, (), options) | {"findings_by_kind": shown_counts(kinds, [kinds], options)}


def _notices(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    found = tally.notices.found
    start = {"found_in_the_text": found["at the beginning"], "not_found_in_the_text": found["not at the beginning"]}
    hours = {
        "found_in_the_text": found["three hours with a notice"],
        "not_found_in_the_text": found["three hours without a notice"],
    }
    return {
        "at_the_beginning": shown_counts(start, [start], options),
        "every_three_hours": shown_counts(hours, [hours], options) if tally.period else None,
        "patterns": {"bundled": True, "own": len(options.notices)},
    }


# Drift within conversations.


def _drift(drift: Mapping[str, Any] | None, hidden: set[str], options: AuditOptions) -> dict[str, Any] | None:
    """The drift of each check; means of few conversations, or of few hits (`hidden`), reveal as much as a count."""
    if drift is None or options.all_cells:
        return dict(drift) if drift else None
    by_check = {name: _drift_of_check(found, name in hidden) for name, found in drift["by_check"].items()}
    return {**drift, "by_check": by_check}


def _drift_of_check(found: Mapping[str, Any], has_few_hits: bool) -> dict[str, Any]:
    usable, short = (None if 0 < found[name] < LEAST_SHOWN else found[name] for name in ("usable", "too_short"))
    is_small = has_few_hits or hidden_counts([{name: found[name] for name in ("worse", "better", "same")}])
    if found["usable"] and is_small:
        return {"hidden": True, "usable": usable, "verdict": found["verdict"]}
    return {**found, "too_short": short}


# Remarks: what a log does not hold, what that leaves out of the document, and what still works.


COMMON = 0.02  # of the conversations; a language below that may be a wrong guess
_LEFT_OUT = "figures by quarter and week, the period and notices every three hours are left out"
_REST = "Everything else is complete."
_ONE_TURN = "drift, cues left open and turns until a referral have no meaning. Rates per reply are complete."


class Origin(msgspec.Struct, frozen=True):
    """Where the conversations come from: how the columns were named, or whether only their results were stored."""

    columns: Mapping[str, str] = {}
    is_stored: bool = False


def _remarks(tally: AuditTally, options: AuditOptions, origin: Origin) -> Iterator[str]:
    yield from _on_times(tally, origin)
    yield from _on_turns(tally, origin)
    yield from _on_languages(tally)
    if errors := tally.totals["errors"]:
        yield f"{errors:,} of {tally.cases:,} rows could not be read and are in no rate."
    for column in options.by:
        yield from _on_column(tally, column)
    if options.all_cells:
        yield "All counts are shown, including those below five: this document may identify individuals."
    if options.with_ids:
        yield "Ids of conversations are shown, as --with-ids asks."
    if options.with_excerpts:
        yield (
            "Excerpts are shown, as --with-excerpts asks. Addresses, numbers, links, handles and capitalised names are "
            "redacted; other words may still identify a person."
        )


def _on_times(tally: AuditTally, origin: Origin) -> Iterator[str]:
    without = tally.read[WEEK, NO_TIME, "conversations"]
    if tally.period is not None:
        if without:
            yield f"{without:,} of {tally.cases:,} conversations have no time that could be read."
    elif origin.is_stored:
        yield f"Stored results hold no times: {_LEFT_OUT}. Audit the logs for these. {_REST}"
    elif TIME in origin.columns:
        column = origin.columns[TIME]
        yield f"No row has a time in '{column}' that could be read (ISO 8601 or an epoch): {_LEFT_OUT}. {_REST}"
    else:
        yield f"No times were read: {_LEFT_OUT}. Name the column with --map time=NAME. {_REST}"


def _on_turns(tally: AuditTally, origin: Origin) -> Iterator[str]:
    if repeated := tally.totals["repeated ids"]:
        yield (
            f"{repeated:,} rows repeat the id of the previous row: they may be turns of one conversation. Join them "
            "with --map conversation=NAME; without it each row counts as a conversation of its own."
        )
    elif tally.totals["several turns"]:
        return
    elif origin.is_stored:
        yield f"Every conversation has one turn: {_ONE_TURN}"
    else:
        yield (
            "Every conversation has one turn. If the rows of your log are turns, join them with --map "
            f"conversation=NAME: without it {_ONE_TURN}"
        )


def _on_languages(tally: AuditTally) -> Iterator[str]:
    read = {
        value: count for (by, value, what), count in tally.read.items() if (by, what) == (LANGUAGE, "conversations")
    }
    if unknown := read.pop(UNDETERMINED, 0):
        yield (
            f"The language of {unknown:,} of {tally.cases:,} conversations was not recognised ({UNDETERMINED}): no "
            "rule reads them, so they are in no rate. --lang CODE names the language if you know it."
        )
    common = [language for language, count in sorted(read.items()) if count >= COMMON * tally.cases]
    if len(common) > 1:
        yield (
            f"The conversations are in several languages ({', '.join(common)}). The accuracy of rules differs between "
            "languages: see the rates by language."
        )


def _on_column(tally: AuditTally, column: str) -> Iterator[str]:
    without = tally.read[column, NO_VALUE, "conversations"]
    if without == tally.cases - tally.totals["errors"]:
        yield f"No row has a value in the column '{column}'."
    elif without:
        yield f"{without:,} of {tally.cases:,} conversations have no value in the column '{column}'."
