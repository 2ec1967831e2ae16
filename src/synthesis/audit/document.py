"""The audit as one document: what `audit.json` holds, and what pages are drawn from.

Small counts are hidden: a count below five, and with it the next smallest ones, so that the total minus the rest does
not reveal it. A count of zero says nothing about anybody and is shown.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
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
    REST,
    SOFT_CUE,
    WEEK,
    AuditCounts,
    AuditOptions,
    AuditTally,
    ClusterCounts,
)
from synthesis.checks.registry import checks
from synthesis.read.mapping import TIME
from synthesis.rules.text import UNDETERMINED
from synthesis.stats import Interval, effective_size, wilson_interval

FORMAT_VERSION = 2
LEAST_SHOWN = 5
TITLES = {CUE: "Explicit crisis cues in the user's messages", SOFT_CUE: "Soft crisis cues in the user's messages"}
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
    measures = [_measure(tally, name, options) for name in _measures(tally)]
    hidden = {each["measure"] for each in measures if any("hidden" in cell for cell in each["cells"][ALL])}
    given = call.get("options", {})
    document: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        **counts.conditions,
        "input": {**counts.conditions["input"], **call.get("input", {})},
        "options": {**given, **msgspec.to_builtins(options)},
        "remarks": list(_remarks(tally, options, Origin(given.get("map", {}), counts.is_stored))),
        "read": _read(tally, options),
        "checks": measures,
        "crisis": _crisis(tally, options),
        "goodbyes": _goodbyes(tally, options),
        "identity_claims": _identity_claims(tally, counts.groups, options),
        "notices": _notices(tally, options),
        "drift": _drift(tally.to_dict().get("drift"), hidden, options),
        "cases": _cases(tally, hidden),
    }
    if tally.sample is not None:
        document["sample"] = _sample(tally, options)
    if own_labels is not None:
        is_same = own_labels["drawn_from"] == document["input"]["sha256"]
        document["own_labels"] = {**own_labels, "warning": "" if is_same else OTHER_LOGS}
    return document


def _measures(tally: AuditTally) -> list[str]:
    return sorted({measure for measure, _, _ in tally.rates})


def _cases(tally: AuditTally, hidden: set[str]) -> list[dict[str, Any]]:
    """Failing cases; not those of a check whose count is hidden, since the list would reveal it."""
    kept = ((case, tuple(name for name in case.checks if name not in hidden)) for case in tally.shown)
    return [msgspec.to_builtins(msgspec.structs.replace(case, checks=names)) for case, names in kept if names]


def _sample(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    assert tally.sample is not None
    sizes = {name: tally.sample.counts.get(name, 0) for name in (FLAGGED, NEAR, REST)}
    return {"asked_for": tally.sample.size, "seed": tally.sample.seed, "strata": shown_counts(sizes, [sizes], options)}


# Small counts.


def hidden_cells(cells: Mapping[Name, Sequence[int]]) -> set[Name]:
    """The cells that must not be shown, of those that one total is divided into; each has one or more counts.

    Of every count that is left out, at least two cells hold somebody, and together they hold five or more.
    """
    hidden = {name for name, counts in cells.items() if any(0 < count < LEAST_SHOWN for count in counts)}
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
        "by": {by: _read_cells(tally, by, options) for by in (LANGUAGE, WEEK, *options.by) if _is_known(tally, by)},
        "not_assessed": {name: _not_assessed(tally, name, options) for name in _measures(tally) if name in checks()},
    }


def _is_known(tally: AuditTally, by: str) -> bool:
    """Weeks are shown only where at least one conversation has a time."""
    return any(own == by and value != NO_TIME for own, value, _ in tally.read)


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
    groups = [by for by in (ALL, LANGUAGE, WEEK, *options.by) if by == ALL or _is_known(tally, by)]
    return {
        "measure": name,
        "title": known[name].title if name in known else TITLES.get(name, name),
        "unit": "the user's messages" if name in TITLES else "replies that the check assessed",
        "cells": {by: _rate_cells(tally, name, by, options) for by in groups},
    }


def _rate_cells(tally: AuditTally, name: str, by: str, options: AuditOptions) -> list[dict[str, Any]]:
    rates = {value: raw_rate(tally.rates[name, by, value]) for value in tally.values(name, by)}
    hidden = _hidden({value: (rate.conversations, rate.hits) for value, rate in rates.items()}, options)
    return [
        {"value": value, **(_hidden_rate(by, rate) if value in hidden else msgspec.to_builtins(rate))}
        for value, rate in rates.items()
    ]


def _hidden_rate(by: str, rate: Rate) -> dict[str, Any]:
    """A rate without its figures; over all, how many turns were assessed reveals nothing."""
    is_shown = by == ALL and rate.conversations >= LEAST_SHOWN
    return {"hidden": True} | ({"conversations": rate.conversations, "base": rate.base} if is_shown else {})


# Counts of conversations: crises, goodbyes, identity claims, notices.


_CRISIS_PARTS = (
    ("conversations_referred_to_a_crisis_service", "conversations_not_referred"),
    ("cues_closed", "cues_left_open"),
)


def _crisis(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    counts = {name: tally.crisis[name] for name in CRISIS_COUNTS}
    answers = (*(f"replies_with_{name}" for name in ELEMENTS), "replies_with_all_three")
    cues = counts["messages_with_an_explicit_cue"]
    partitions = [
        *({name: counts[name] for name in names} for names in _CRISIS_PARTS),
        *(_with_rest(name, counts[name], cues) for name in answers),
    ]
    shown = shown_counts(counts, partitions, options)
    return shown | {"turns_until_the_first_referral": _waits(tally, shown, options)}


def _waits(tally: AuditTally, shown: Mapping[str, int | None], options: AuditOptions) -> dict[str, int | None]:
    waits: Counter[str] = Counter()
    for turns, count in sorted(tally.turns_to_referral.items()):
        waits[_wait(turns)] += count
    partitions = [dict(waits)]
    if shown["conversations_not_referred"] is None:
        # The waits add up to all who were referred: with them, how many were not would be known.
        partitions.append({**waits, "": tally.crisis["conversations_not_referred"]})
    return shown_counts(waits, partitions, options)


def _wait(turns: int) -> str:
    if turns == 0:
        return "in the reply to the cue"
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
_LEFT_OUT = "figures by week, the period and notices every three hours are left out"
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
            "languages: read the rates by language too."
        )


def _on_column(tally: AuditTally, column: str) -> Iterator[str]:
    without = tally.read[column, NO_VALUE, "conversations"]
    if without == tally.cases - tally.totals["errors"]:
        yield f"No row has a value in the column '{column}'."
    elif without:
        yield f"{without:,} of {tally.cases:,} conversations have no value in the column '{column}'."
