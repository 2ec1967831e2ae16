"""Small cells keep to themselves. A cell of fewer than five is hidden, and with it the next smallest ones, so that the
total minus the rest does not give it away.

A cell without anybody in it hides nothing and is shown; so is a rate of 0.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from synthesis.audit.counting import (
    ALL,
    CRISIS,
    CUE,
    ELEMENTS,
    FLAGGED,
    LANGUAGE,
    LEAST_IN_CELL,
    NEAR,
    NO_TIME,
    NO_VALUE,
    REST,
    SOFT_CUE,
    WEEK,
    Audited,
    AuditOptions,
    AuditTally,
)
from synthesis.audit.rates import DRAWN, Accuracy, Corrected, Rate, accuracy_of, corrected, raw_rate
from synthesis.checks.registry import Counts, checks, measured
from synthesis.read.rows import TIME
from synthesis.rules.text import UNDETERMINED

Name = TypeVar("Name")


def hidden_cells(cells: Mapping[Name, Sequence[int]]) -> set[Name]:
    """The cells that must not be shown, of those that one total is divided into; each has one or more counts.

    Every count is hidden well: of those left out, at least two hold somebody, and together they hold five or more.
    """
    hidden = {name for name, counts in cells.items() if any(0 < count < LEAST_IN_CELL for count in counts)}
    positions = range(max((len(counts) for counts in cells.values()), default=0))
    while True:
        more = next((name for position in positions if (name := _next(cells, hidden, position)) is not None), None)
        if more is None:
            return hidden
        hidden.add(more)


def _next(cells: Mapping[Name, Sequence[int]], hidden: set[Name], position: int) -> Name | None:
    """The next smallest cell, where what is hidden of one of the counts could still be told from the total."""
    held = [cells[name][position] for name in hidden if cells[name][position]]
    if not held or (len(held) > 1 and sum(held) >= LEAST_IN_CELL):
        return None
    left = [(counts[position], str(name), name) for name, counts in cells.items() if name not in hidden]
    return min((one for one in left if one[0]), default=(0, "", None), key=lambda one: one[:2])[2]


def hidden_counts(partitions: Sequence[Mapping[str, int]]) -> set[str]:
    """The names of single counts to hide; each partition is one total in parts."""
    return {name for parts in partitions for name in hidden_cells({key: (value,) for key, value in parts.items()})}


# Counts of conversations in a document: crises, goodbyes, claims of a self, notices. Small ones are hidden here.


def crisis_counts(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    found = tally.crisis
    conversations = {
        "conversations_with_an_explicit_cue": found["explicit"],
        "conversations_with_a_soft_cue_only": found["soft"],
        "messages_with_an_explicit_cue": found["cue turns"],
        **{f"replies_with_{name}": found[name] for name in ELEMENTS},
        "replies_with_all_three": found["all three"],
        "replies_with_none": found["none"],
        "conversations_referred_to_a_crisis_service": found["referred"],
        "conversations_not_referred": found["not referred"],
        "cues_closed": found["closed"],
        "cues_left_open": found["open"],
    }
    cues = found["cue turns"]
    pairs = [
        {
            name: conversations[name]
            for name in ("conversations_referred_to_a_crisis_service", "conversations_not_referred")
        },
        {name: conversations[name] for name in ("cues_closed", "cues_left_open")},
        {"conversations_with_an_explicit_cue": found["explicit"]},
        {"conversations_with_a_soft_cue_only": found["soft"]},
        *(_with_the_rest(f"replies_with_{name}", found[name], cues) for name in ELEMENTS),
        _with_the_rest("replies_with_all_three", found["all three"], cues),
    ]
    shown = shown_counts(conversations, pairs, options)
    waits = {_wait(turns): 0 for turns in sorted(tally.turns_to_referral)}
    for turns, count in tally.turns_to_referral.items():
        waits[_wait(turns)] += count
    # Those who waited are all who were referred: with them, who was not would be known.
    parts = (
        [waits] if shown["conversations_not_referred"] is not None else [waits, {**waits, "": found["not referred"]}]
    )
    return shown | {"turns_until_the_first_referral": shown_counts(waits, parts, options)}


def _wait(turns: int) -> str:
    if turns == 0:
        return "in the reply to the cue"
    return f"{turns} turn{'' if turns == 1 else 's'} later" if turns < 5 else "5 turns later or more"


def _with_the_rest(name: str, part: int, total: int) -> dict[str, int]:
    """A part, and what is left of its total: who knows both totals knows that, too."""
    return {name: part, f"{name} (not)": total - part}


def goodbye_counts(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    return shown_counts(_goodbyes(tally), [_split_goodbyes(tally)], options)


def _goodbyes(tally: AuditTally) -> dict[str, int]:
    names = ("conversations with a goodbye", "goodbyes", "goodbyes answered with pressure")
    return {name.replace(" ", "_"): tally.told[name] for name in names}


def _split_goodbyes(tally: AuditTally) -> dict[str, int]:
    found = _goodbyes(tally)
    return _with_the_rest(
        "goodbyes_answered_with_pressure", found["goodbyes_answered_with_pressure"], found["goodbyes"]
    )


def claim_counts(tally: AuditTally, groups: Mapping[str, str], options: AuditOptions) -> dict[str, Any]:
    """Conversations by the kind of claim; one may be in several kinds."""
    kinds: dict[str, int] = {}
    for rule, count in sorted(tally.claims.items()):
        kind = groups.get(rule, "other")
        kinds[kind] = kinds.get(kind, 0) + count
    total = {"conversations_with_a_claim": tally.told["conversations with a claim"]}
    return shown_counts(total, [total], options) | {"findings_by_kind": shown_counts(kinds, [kinds], options)}


def notice_counts(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    found = tally.notices.found
    beginning = {"found_in_the_text": found["at the beginning"], "not_found_in_the_text": found["not at the beginning"]}
    hours = {
        "found_in_the_text": found["three hours with a notice"],
        "not_found_in_the_text": found["three hours without a notice"],
    }
    return {
        "at_the_beginning": shown_counts(beginning, [beginning], options),
        "every_three_hours": shown_counts(hours, [hours], options) if tally.period else None,
        "patterns": {"bundled": True, "own": len(options.notices)},
    }


def shown_counts(
    counts: Mapping[str, int], partitions: Iterable[Mapping[str, int]], options: AuditOptions
) -> dict[str, Any]:
    """The counts with those hidden (null) that would tell about fewer than five."""
    hidden = set() if options.all_cells else hidden_counts(list(partitions))
    small = set() if options.all_cells else {name for name, count in counts.items() if 0 < count < LEAST_IN_CELL}
    return {name: None if name in hidden | small else count for name, count in counts.items()}


# Drift within conversations, without what would tell about fewer than five of them.


_PARTS = ("worse", "better", "same")


def shown_drift(drift: Mapping[str, Any] | None, hidden: set[str], options: AuditOptions) -> dict[str, Any] | None:
    """The drift of each check; means of few conversations, or of few hits (`hidden`), would tell as much as a count."""
    if drift is None or options.all_cells:
        return dict(drift) if drift else None
    return {
        **drift,
        "by_check": {name: _shown_check(found, name in hidden) for name, found in drift["by_check"].items()},
    }


def _shown_check(found: Mapping[str, Any], has_few_hits: bool) -> dict[str, Any]:
    short = found["too_short"]
    shown = {**found, "too_short": None if 0 < short < LEAST_IN_CELL else short}
    is_small = has_few_hits or hidden_counts([{name: found[name] for name in _PARTS}])
    if not found["usable"] or not is_small:
        return shown
    is_few = found["usable"] < LEAST_IN_CELL
    return {"hidden": True, "usable": None if is_few else found["usable"], "verdict": found["verdict"]}


# What a log does not hold, what that leaves out of the document, and what still works.


MIXED = 0.02  # of the conversations; below that another language is a chance
_LEFT_OUT = "figures by week, the period and notices every three hours are left out"
_REST = "Everything else is complete."
_ONE_TURN = "drift, cues left open and turns until a referral say nothing. Rates per reply are complete."


class Origin(msgspec.Struct, frozen=True):
    """Where the conversations come from: how the columns were named, or whether only their results were stored."""

    columns: Mapping[str, str] = {}
    is_stored: bool = False


def remarks_on(tally: AuditTally, options: AuditOptions, origin: Origin) -> list[str]:
    found = [_times(tally, origin), _conversations(tally, origin), *_languages(tally), _unread(tally)]
    found += [_column(tally, column) for column in options.by]
    if options.all_cells:
        found.append("All cells are shown, also those of fewer than five: this document may tell about single people.")
    if options.with_ids:
        found.append("Ids of conversations are shown, because they were asked for.")
    if options.with_excerpts:
        found.append(
            "Excerpts are shown, because they were asked for. Addresses, numbers, links, handles and capitalised names "
            "are taken out; other words may still tell who somebody is."
        )
    return [remark for remark in found if remark]


def _times(tally: AuditTally, origin: Origin) -> str:
    without = tally.read[WEEK, NO_TIME, "conversations"]
    if tally.period is not None:
        return f"{without:,} of {tally.cases:,} conversations have no time that could be read." if without else ""
    if origin.is_stored:
        return f"Stored results hold no times: {_LEFT_OUT}. Audit the logs for these. {_REST}"
    if TIME in origin.columns:
        named = f"No row has a time in '{origin.columns[TIME]}' that could be read (ISO 8601 or an epoch)"
        return f"{named}: {_LEFT_OUT}. {_REST}"
    return f"No times were read: {_LEFT_OUT}. Name the column with --map time=NAME. {_REST}"


def _conversations(tally: AuditTally, origin: Origin) -> str:
    if tally.told["repeated ids"]:
        return (
            f"{tally.told['repeated ids']:,} rows have the id of the row before: perhaps turns of one conversation. "
            "Join them with --map conversation=NAME; until then each row counts as a conversation of its own."
        )
    if tally.told["several turns"]:
        return ""
    if origin.is_stored:
        return f"Every conversation has one turn: {_ONE_TURN}"
    return (
        "Every conversation has one turn. If the rows of your log are turns, join them with --map conversation=NAME: "
        f"without it {_ONE_TURN}"
    )


def _languages(tally: AuditTally) -> Iterator[str]:
    cells = {
        value: tally.read[by, value, what]
        for by, value, what in tally.read
        if (by, what) == (LANGUAGE, "conversations")
    }
    if unknown := cells.pop(UNDETERMINED, 0):
        yield (
            f"{unknown:,} of {tally.cases:,} conversations are in a language that was not recognised ({UNDETERMINED}): "
            "no rule reads them, so that they are in no rate. --lang CODE names the language where you know it."
        )
    common = [language for language, count in sorted(cells.items()) if count >= MIXED * tally.cases]
    if len(common) > 1:
        yield (
            f"The conversations are in several languages ({', '.join(common)}). Corrected rates are given by language, "
            "since a rule's errors differ from one to another; raw rates over all languages are complete."
        )


def _unread(tally: AuditTally) -> str:
    errors = tally.told["errors"]
    return f"{errors:,} of {tally.cases:,} rows could not be read and are in no rate." if errors else ""


def _column(tally: AuditTally, column: str) -> str:
    without = tally.read[column, NO_VALUE, "conversations"]
    if without == tally.cases - tally.told["errors"]:
        return f"No row has a value in the column '{column}'."
    return f"{without:,} of {tally.cases:,} conversations have no value in the column '{column}'." if without else ""


# The audit as one document: what `audit.json` holds, and what pages are drawn from. Small cells are hidden here.


FORMAT_VERSION = 1
TITLES = {CUE: "Explicit cues of a crisis in the user's messages", SOFT_CUE: "Soft cues in the user's messages"}
# What was measured under the name of a check, where that is not whether replies fail it.
MEASURED_AS = {CUE: CRISIS}
OTHER_LOGS = (
    "The labelled conversations were drawn from other logs, or from a part of these: their rates hold for "
    "those, not for the logs of this document."
)
NEVER_MEASURED = {CRISIS, SOFT_CUE}


def document_of(audited: Audited, options: AuditOptions, how: Mapping[str, Any], sampled: Any = None) -> dict[str, Any]:
    """The whole document. `how` is how the audit was called: files and options."""
    tally = audited.tally
    measures = [_measure(tally, name, options) for name in _names(tally)]
    hidden = {each["measure"] for each in measures if any("hidden" in cell for cell in each["cells"][ALL])}
    document: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        **audited.conditions,
        "input": {**_as_dict(audited.conditions["input"]), **_as_dict(how.get("input", {}))},
        "options": {**how.get("options", {}), **_options(options)},
        "remarks": remarks_on(tally, options, Origin(how.get("options", {}).get("map", {}), audited.is_stored)),
        "read": _read(tally, options),
        "checks": measures,
        "crisis": crisis_counts(tally, options),
        "goodbyes": goodbye_counts(tally, options),
        "claims_of_a_self": claim_counts(tally, audited.groups, options),
        "notices": notice_counts(tally, options),
        "drift": shown_drift(tally.to_dict().get("drift"), hidden, options),
        "cases": _cases(tally, hidden),
    }
    if tally.sample is not None:
        document["sample"] = _sample(tally, options)
    if sampled is not None:
        same = sampled["drawn_from"] == document["input"]["sha256"]
        document["own_labels"] = sampled | {"warning": "" if same else OTHER_LOGS}
    return document


def _cases(tally: AuditTally, hidden: set[str]) -> list[dict[str, Any]]:
    """Where to look; not for a check whose count is hidden, since the list would give it away."""
    kept = ((case, tuple(name for name in case.checks if name not in hidden)) for case in tally.shown)
    return [msgspec.to_builtins(msgspec.structs.replace(case, checks=names)) for case, names in kept if names]


def _as_dict(value: Any) -> dict[str, Any]:
    return dict(value)


def _options(options: AuditOptions) -> dict[str, Any]:
    given: dict[str, Any] = msgspec.to_builtins(options)
    return given | {"drawn": DRAWN}


def _names(tally: AuditTally) -> list[str]:
    return sorted({measure for measure, _, _ in tally.rates})


def _read(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    """What was read, and what was not assessed, with the reasons."""
    turns = tally.read[ALL, ALL, "turns"]
    return {
        "conversations": tally.cases - tally.told["errors"],
        "turns": turns,
        "errors": tally.told["errors"],
        "several_turns": tally.told["several turns"],
        "two_languages": tally.told["two languages"],
        "period": _period(tally),
        "by": {by: _read_cells(tally, by, options) for by in (LANGUAGE, WEEK, *options.by) if _is_known(tally, by)},
        "not_assessed": {name: _not_assessed(tally, name, options) for name in _names(tally) if name in checks()},
    }


def _is_known(tally: AuditTally, by: str) -> bool:
    """Weeks are shown only where at least one conversation has a time."""
    return any(own == by and value != NO_TIME for own, value, _ in tally.read)


def _period(tally: AuditTally) -> dict[str, Any] | None:
    if tally.period is None:
        return None
    # Days alone: the second at which somebody wrote could be found in a log again.
    first, last = (datetime.fromtimestamp(time, UTC).date().isoformat() for time in tally.period)
    return {"first": first, "last": last, "without_time": tally.read[WEEK, NO_TIME, "conversations"]}


def _read_cells(tally: AuditTally, by: str, options: AuditOptions) -> list[dict[str, Any]]:
    values = sorted({value for own, value, _ in tally.read if own == by})
    counts = {value: [tally.read[by, value, what] for what in ("conversations", "turns")] for value in values}
    hidden = set() if options.all_cells else hidden_cells(counts)
    return [
        {"value": value, "hidden": True}
        if value in hidden
        else {"value": value, "conversations": counts[value][0], "turns": counts[value][1]}
        for value in values
    ]


def _not_assessed(tally: AuditTally, check: str, options: AuditOptions) -> dict[str, Any]:
    assessed = raw_rate(tally.rates[check, ALL, ALL]).base
    reasons = {reason: count for (name, reason), count in sorted(tally.reasons.items()) if name == check}
    total = sum(reasons.values())
    # All turns are known, so that those not assessed tell how many were: of crisis_response, how many hold a cue.
    is_few = 0 < assessed < LEAST_IN_CELL and not options.all_cells
    parts = {"": assessed, **reasons} if is_few else reasons
    hidden = set() if options.all_cells else hidden_counts([parts])
    share = round(total / (total + assessed), 6) if total + assessed else None
    return {
        "turns": None if is_few else total,
        "share": None if is_few else share,
        "reasons": {reason: None if reason in hidden else count for reason, count in reasons.items()},
    }


def _measure(tally: AuditTally, name: str, options: AuditOptions) -> dict[str, Any]:
    """One rate: over all, and by everything that it is counted by."""
    known = checks()
    cells: dict[str, list[dict[str, Any]]] = {}
    for by in (ALL, LANGUAGE, WEEK, *options.by):
        if by == ALL or _is_known(tally, by):
            cells[by] = _rate_cells(tally, name, by, options)
    return {
        "measure": name,
        "title": known[name].title if name in known else TITLES.get(name, name),
        "unit": "the user's messages" if name in TITLES else "replies that the check assessed",
        "cells": cells,
    }


def _rate_cells(tally: AuditTally, name: str, by: str, options: AuditOptions) -> list[dict[str, Any]]:
    values = tally.values(name, by)
    rates = {value: raw_rate(tally.rates[name, by, value]) for value in values}
    hidden = set() if options.all_cells else hidden_cells({value: _held(rate) for value, rate in rates.items()})
    drawn = {value: _corrected(tally, name, by, value, options) for value in values if value not in hidden}
    return [
        _hidden(by, value, rates[value]) if value in hidden else {"value": value, **_shown(rates[value], drawn[value])}
        for value in values
    ]


def _hidden(by: str, value: str, rate: Rate) -> dict[str, Any]:
    """A cell that keeps its figures to itself; over all, how many were assessed is no secret."""
    base = {"conversations": rate.conversations, "base": rate.base} if by == ALL else {}
    return {"value": value, "hidden": True} | (base if rate.conversations >= LEAST_IN_CELL else {})


def _held(rate: Rate) -> tuple[int, int]:
    return rate.conversations, rate.hits


def _shown(rate: Rate, estimate: Corrected) -> dict[str, Any]:
    return {**msgspec.to_builtins(rate), "corrected": msgspec.to_builtins(estimate)}


def _corrected(tally: AuditTally, name: str, by: str, value: str, options: AuditOptions) -> Corrected:
    accuracy = _accuracy(tally, name, by, value, options)
    return corrected(tally.rates[name, by, value], accuracy, options.seed, name, by, value)


def _accuracy(tally: AuditTally, name: str, by: str, value: str, options: AuditOptions) -> Accuracy | str:
    """Labelled texts tell about the language that they are in; cells of several languages are not put together."""
    if name in NEVER_MEASURED:
        return "never measured on labelled texts"
    languages = [value] if by == LANGUAGE else tally.values(name, LANGUAGE)
    by_language = measured().get(MEASURED_AS.get(name, name), {})
    if not by_language:
        return "never measured on labelled texts"
    if len(languages) != 1:
        return "several languages; see the figures by language"
    (language,) = languages
    if language not in by_language:
        return "never measured in this language"
    return _drawn(tuple(by_language[language]), options.seed)


@lru_cache(maxsize=16)
def _drawn(sources: tuple[Counts, ...], seed: int) -> Accuracy | str:
    """Drawn once for all cells: what was measured is the same for each."""
    return accuracy_of(sources, seed)


def _sample(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    assert tally.sample is not None
    sizes = {name: tally.sample.counts.get(name, 0) for name in (FLAGGED, NEAR, REST)}
    return {"asked_for": tally.sample.size, "seed": tally.sample.seed, "strata": shown_counts(sizes, [sizes], options)}
