"""The audit as one document: what `audit.json` holds, and what pages are drawn from. Small cells are hidden here."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from synthesis.audit.cells import hidden_cells, hidden_counts
from synthesis.audit.counted import claim_counts, crisis_counts, goodbye_counts, notice_counts, shown_counts
from synthesis.audit.drift import shown_drift
from synthesis.audit.options import ALL, LANGUAGE, LEAST_IN_CELL, WEEK, AuditOptions
from synthesis.audit.rates import DRAWN, Accuracy, Corrected, Rate, accuracy_of, corrected, raw_rate
from synthesis.audit.reading import CRISIS, CUE, SOFT_CUE
from synthesis.audit.remarks import Origin, remarks_on
from synthesis.audit.run import Audited
from synthesis.audit.tally import FLAGGED, NEAR, NO_TIME, REST, AuditTally
from synthesis.checks.registry import Counts, checks, measured

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
