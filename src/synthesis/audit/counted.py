"""Counts of conversations in a document: crises, goodbyes, claims of a self, notices. Small ones are hidden here."""

from collections.abc import Iterable, Mapping
from typing import Any

from synthesis.audit.cells import hidden_counts
from synthesis.audit.options import LEAST_IN_CELL, AuditOptions
from synthesis.audit.reading import ELEMENTS
from synthesis.audit.tally import AuditTally


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
