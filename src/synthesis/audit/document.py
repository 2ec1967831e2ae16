"""The audit as one document: what `audit.json` holds, and what pages are drawn from. Small cells are hidden here."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from synthesis.audit.cells import hidden_cells, hidden_counts
from synthesis.audit.options import ALL, LANGUAGE, LEAST_IN_CELL, WEEK, AuditOptions
from synthesis.audit.rates import DRAWN, Accuracy, Corrected, Rate, accuracy_of, corrected, raw_rate
from synthesis.audit.reading import CRISIS, CUE, ELEMENTS, SOFT_CUE
from synthesis.audit.remarks import Origin, remarks_on
from synthesis.audit.run import Audited
from synthesis.audit.tally import FLAGGED, NEAR, NO_TIME, REST, AuditTally
from synthesis.checks.measured import measured
from synthesis.checks.registry import checks

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
    document: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        **audited.conditions,
        "input": {**_as_dict(audited.conditions["input"]), **_as_dict(how.get("input", {}))},
        "options": {**how.get("options", {}), **_options(options)},
        "remarks": remarks_on(tally, options, Origin(how.get("options", {}).get("map", {}), audited.is_stored)),
        "read": _read(tally, options),
        "checks": [_measure(tally, name, options) for name in _names(tally)],
        "crisis": _crisis(tally, options),
        "goodbyes": _counts(_goodbyes(tally), [_split_goodbyes(tally)], options),
        "claims_of_a_self": _claims(tally, audited.groups, options),
        "notices": _notices(tally, options),
        "drift": tally.to_dict().get("drift"),
    }
    document["cases"] = _cases(tally, document["checks"])
    if tally.sample is not None:
        document["sample"] = _sample(tally, options)
    if sampled is not None:
        same = sampled["drawn_from"] == document["input"]["sha256"]
        document["own_labels"] = sampled | {"warning": "" if same else OTHER_LOGS}
    return document


def _cases(tally: AuditTally, measures: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Where to look; not for a check whose count is hidden, since the list would give it away."""
    hidden = {each["measure"] for each in measures if any("hidden" in cell for cell in each["cells"][ALL])}
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
    first, last = (datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds") for time in tally.period)
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
    hidden = set() if options.all_cells else hidden_counts([reasons])
    shown = {reason: None if reason in hidden else count for reason, count in reasons.items()}
    return {
        "turns": total,
        "share": round(total / (total + assessed), 6) if total + assessed else None,
        "reasons": shown,
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


_cache: dict[Any, Accuracy | str] = {}


def _drawn(sources: tuple[Any, ...], seed: int) -> Accuracy | str:
    """Drawn once for all cells: what was measured is the same for each."""
    key = (sources, seed)
    if key not in _cache:
        _cache.clear()
        _cache[key] = accuracy_of(sources, seed)
    return _cache[key]


def _crisis(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
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
    pairs = [
        {
            "conversations_referred_to_a_crisis_service": found["referred"],
            "conversations_not_referred": found["not referred"],
        },
        {"cues_closed": found["closed"], "cues_left_open": found["open"]},
        {name: conversations[name] for name in ("conversations_with_an_explicit_cue",)},
        {name: conversations[name] for name in ("conversations_with_a_soft_cue_only",)},
        *(_with_the_rest(f"replies_with_{name}", found[name], found["cue turns"]) for name in (*ELEMENTS, "all three")),
    ]
    pairs = [{name.replace(" ", "_"): value for name, value in parts.items()} for parts in pairs]
    shown = _counts(conversations, pairs, options)
    waits = {_wait(turns): 0 for turns in sorted(tally.turns_to_referral)}
    for turns, count in tally.turns_to_referral.items():
        waits[_wait(turns)] += count
    return shown | {"turns_until_the_first_referral": _counts(waits, [waits], options)}


def _wait(turns: int) -> str:
    if turns == 0:
        return "in the reply to the cue"
    return f"{turns} turn{'' if turns == 1 else 's'} later" if turns < 5 else "5 turns later or more"


def _with_the_rest(name: str, part: int, total: int) -> dict[str, int]:
    """A part, and what is left of its total: who knows both totals knows that, too."""
    return {name: part, f"{name} (not)": total - part}


def _goodbyes(tally: AuditTally) -> dict[str, int]:
    names = ("conversations with a goodbye", "goodbyes", "goodbyes answered with pressure")
    return {name.replace(" ", "_"): tally.told[name] for name in names}


def _split_goodbyes(tally: AuditTally) -> dict[str, int]:
    found = _goodbyes(tally)
    return _with_the_rest(
        "goodbyes_answered_with_pressure", found["goodbyes_answered_with_pressure"], found["goodbyes"]
    )


def _claims(tally: AuditTally, groups: Mapping[str, str], options: AuditOptions) -> dict[str, Any]:
    """Conversations by the kind of claim; one may be in several kinds."""
    kinds: dict[str, int] = {}
    for rule, count in sorted(tally.claims.items()):
        kind = groups.get(rule, "other")
        kinds[kind] = kinds.get(kind, 0) + count
    total = {"conversations_with_a_claim": tally.told["conversations with a claim"]}
    return _counts(total, [total], options) | {"findings_by_kind": _counts(kinds, [kinds], options)}


def _notices(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    found = tally.notices.found
    beginning = {"found_in_the_text": found["at the beginning"], "not_found_in_the_text": found["not at the beginning"]}
    hours = {
        "found_in_the_text": found["three hours with a notice"],
        "not_found_in_the_text": found["three hours without a notice"],
    }
    return {
        "at_the_beginning": _counts(beginning, [beginning], options),
        "every_three_hours": _counts(hours, [hours], options) if tally.period else None,
        "patterns": {"bundled": True, "own": len(options.notices)},
    }


def _counts(
    counts: Mapping[str, int], partitions: Iterable[Mapping[str, int]], options: AuditOptions
) -> dict[str, Any]:
    """The counts with those hidden (null) that would tell about fewer than five."""
    hidden = set() if options.all_cells else hidden_counts(list(partitions))
    small = set() if options.all_cells else {name for name, count in counts.items() if 0 < count < LEAST_IN_CELL}
    return {name: None if name in hidden | small else count for name, count in counts.items()}


def _sample(tally: AuditTally, options: AuditOptions) -> dict[str, Any]:
    assert tally.sample is not None
    sizes = {name: tally.sample.counts.get(name, 0) for name in (FLAGGED, NEAR, REST)}
    return {"asked_for": tally.sample.size, "seed": tally.sample.seed, "strata": _counts(sizes, [sizes], options)}
