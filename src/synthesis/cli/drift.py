"""Conversations on the console: a strip of turns for each, and what they say together about drift."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from synthesis.cli.terminal import safe
from synthesis.model import CaseResult
from synthesis.model.result import ERROR, FAIL, LEAST_IN_HALF, NOT_APPLICABLE, PASS, Timeline
from synthesis.report.drift import BETTER, NOT_SHOWN, TOO_FEW, WORSE, DriftChange
from synthesis.report.findings import TURN_SIGNS, count

GROUP = 5  # turns without a space between them, so that they can be counted
PER_LINE = 50
MOST_TURNS = 200
_COLOURS = {PASS: "green", FAIL: "red", ERROR: "magenta", NOT_APPLICABLE: None}
_CHANGES = {WORSE: "more drift", BETTER: "less drift", NOT_SHOWN: "no difference shown", TOO_FEW: TOO_FEW}
_VERDICT_COLOURS = {WORSE: "red", BETTER: "green"}


def strip_lines(result: CaseResult) -> Iterator[str]:
    """The turns of a conversation, for each check that it fails; nothing for a single exchange."""
    failed = [timeline for name, timeline in result.timelines.items() if name in result.failed_checks]
    width = max((len(timeline.check) for timeline in failed), default=0)
    for timeline in failed:
        shown, left_out = timeline.outcomes[:MOST_TURNS], len(timeline.outcomes) - MOST_TURNS
        lines = [shown[start : start + PER_LINE] for start in range(0, len(shown), PER_LINE)]
        for number, turns in enumerate(lines):
            name = safe(timeline.check) if number == 0 else ""
            told = f"  {_told(timeline)}" if number == len(lines) - 1 else ""
            yield f"{name:<{width}}  {_strip(turns)}{told}"
        if left_out > 0:
            yield f"{'':<{width}}  ... and {count(left_out, 'more turn')}"


def drift_lines(summary: dict[str, Any]) -> list[str]:
    """What all conversations say together, two lines for each check; nothing for a run without conversations."""
    drift = summary.get("drift")
    if drift is None:
        return []
    number = count(drift["conversations"], "conversation")
    lines = ["", f"  from the first half of a conversation to the second ({number} of several turns):"]
    usable = {name: found for name, found in drift["by_check"].items() if found["usable"]}
    width = max((len(name) for name in usable), default=0)
    for name, found in usable.items():
        first, second = (f"{100 * found[half]:.1f} %" for half in ("first_half", "second_half"))
        verdict = click.style(found["verdict"], fg=_VERDICT_COLOURS.get(found["verdict"]), bold=True)
        lines.append(f"  {safe(name):<{width}}  {first} -> {second} of the turns fail, {_points(found)}: {verdict}")
        lines.append(click.style(f"  {'':<{width}}  {_counts(found)}", dim=True))
    short = [safe(name) for name, found in drift["by_check"].items() if not found["usable"]]
    if short:
        why = f"every conversation is too short (fewer than {LEAST_IN_HALF} assessed turns in each half)"
        lines.append(click.style(f"  {', '.join(short)}: {why}", dim=True))
    return lines


def change_lines(changes: Sequence[DriftChange]) -> Iterator[str]:
    """What became of drift from one report to another; nothing without conversations that are long enough in both."""
    if not changes:
        return
    yield ""
    yield "drift, from the first half of a conversation to the second:"
    width = max(len(change.check) for change in changes)
    for change in changes:
        low, high = (100 * bound for bound in change.interval)
        yield (
            f"  {safe(change.check):<{width}}  {100 * change.before:+.1f} -> {100 * change.after:+.1f} points in "
            f"{count(change.conversations, 'conversation')}"
        )
        verdict = click.style(
            _CHANGES.get(change.verdict, change.verdict), fg=_VERDICT_COLOURS.get(change.verdict), bold=True
        )
        yield f"  {'':<{width}}  change {100 * change.change:+.1f}, 95 % interval {low:+.1f} to {high:+.1f}: {verdict}"


def _strip(outcomes: tuple[str, ...]) -> str:
    signs = [click.style(TURN_SIGNS[outcome], fg=_COLOURS[outcome]) for outcome in outcomes]
    return " ".join("".join(signs[start : start + GROUP]) for start in range(0, len(signs), GROUP))


def _told(timeline: Timeline) -> str:
    first = (timeline.first_failure or 0) + 1
    run = f", {timeline.longest_run} assessed turns in a row" if timeline.longest_run > 1 else ""
    return click.style(f"fails first in turn {first} of {len(timeline.outcomes)}{run}", dim=True)


def _points(found: dict[str, Any]) -> str:
    low, high = (100 * bound for bound in found["interval"])
    return f"{100 * found['difference']:+.1f} points ({low:+.1f} to {high:+.1f})"


def _counts(found: dict[str, Any]) -> str:
    words = f"{found['worse']:,} got worse, {found['better']:,} better, {found['same']:,} stayed"
    return f"{words}; {found['too_short']:,} too short" if found["too_short"] else words
