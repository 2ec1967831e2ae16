"""Conversations over time: a strip of turns for each check, and a bar for what all conversations say about drift.

Every turn has its sign, its number and a name for screen readers; colour only repeats what they say.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from synthesis.model import CaseResult
from synthesis.model.result import LEAST_IN_HALF, NOT_APPLICABLE, PASS, Timeline
from synthesis.report.drift import BETTER, WORSE
from synthesis.report.html.charts import key, stack
from synthesis.report.html.spans import shown
from synthesis.report.plain import count, visible
from synthesis.report.verdicts import TURN_SIGNS, TURN_WORDS, UNEXPECTED

MOST_TURNS = 200  # of one strip
_TONES = {WORSE: "unexpected", BETTER: "pass"}


def turn_by_turn(result: CaseResult, turn_address: str) -> str:
    """The strips of a conversation and what else the checks say about it; nothing for a single exchange."""
    timelines = list(result.timelines.values())
    if not timelines:
        return ""
    calm = _calm([line for line in timelines if not _is_eventful(line)])
    return f'<div class="timelines"><h4>Turn by turn</h4>\n{strips(result, turn_address)}{calm}</div>\n'


def strips(result: CaseResult, turn_address: str) -> str:
    """A strip for each check that failed or has no verdict in some turn; nothing for a single exchange.

    `turn_address` is where turns are, without their number; empty where there is nothing to open.
    """
    return "".join(_strip(line, turn_address) for line in result.timelines.values() if _is_eventful(line))


def _is_eventful(timeline: Timeline) -> bool:
    return not {PASS, NOT_APPLICABLE}.issuperset(timeline.outcomes)


def _calm(calm: Sequence[Timeline]) -> str:
    """Checks that never failed need no strip; those that never applied are not shown as good."""
    passed = [line for line in calm if PASS in line.outcomes]
    idle = [line for line in calm if PASS not in line.outcomes]
    return _named("Passed wherever it applied", passed) + _named("Applied to no turn", idle)


def _named(what: str, timelines: Sequence[Timeline]) -> str:
    if not timelines:
        return ""
    names = ", ".join(f"<code>{shown(line.check)}</code>" for line in timelines)
    return f'<p class="quiet">{what}: {names}</p>\n'


def _strip(timeline: Timeline, turn_address: str) -> str:
    turns = "".join(_turn(turn, outcome, turn_address) for turn, outcome in enumerate(timeline.outcomes[:MOST_TURNS]))
    left_out = len(timeline.outcomes) - MOST_TURNS
    more = f'<p class="quiet">… and {count(left_out, "more turn")}</p>' if left_out > 0 else ""
    return (
        f'<p class="strip-name"><code>{shown(timeline.check)}</code> <span class="quiet">{_told(timeline)}</span></p>\n'
        f'<ol class="strip" aria-label="{escape(visible(timeline.check))}, turn by turn">{turns}</ol>{more}\n'
    )


def _turn(turn: int, outcome: str, address: str) -> str:
    drawn = f'<span class="turn-sign" aria-hidden="true">{TURN_SIGNS[outcome]}</span>'
    number = f'<span class="turn-number" aria-hidden="true">{turn + 1}</span>'
    words = f"turn {turn + 1}: {TURN_WORDS[outcome]}"
    if not address:
        return (
            f'<li class="{outcome}"><span class="cell" role="img" aria-label="{words}" title="{words}">'
            f"{drawn}{number}</span></li>"
        )
    place = f"{escape(address)}{turn + 1}"
    return (
        f'<li class="{outcome}"><a class="cell" href="{place}" aria-label="{words}" title="{words}">'
        f"{drawn}{number}</a></li>"
    )


def _told(timeline: Timeline) -> str:
    parts = []
    if timeline.first_failure is not None:
        parts.append(f"fails first in turn {timeline.first_failure + 1} of {len(timeline.outcomes)}")
    if timeline.longest_run > 1:
        parts.append(f"{timeline.longest_run} assessed turns in a row")
    if timeline.rates:
        first, second = (f"{100 * rate:.0f} %" for rate in timeline.rates)
        parts.append(f"first half {first}, second half {second}")
    elif timeline.can_drift:
        parts.append("too short to halve")
    return ", ".join(parts)


def drift_per_check(summary: Mapping[str, Any]) -> str:
    """What all conversations say together; nothing for a run without conversations of several turns."""
    drift = summary.get("drift")
    if drift is None:
        return ""
    rows = "".join(_check(name, found) for name, found in drift["by_check"].items())
    return (
        '<section class="chart" aria-label="Drift over the conversation"><h2>Over the conversation</h2>'
        f'<p class="quiet">How often replies fail in the first and in the second half of '
        f"{count(drift['conversations'], 'conversation')} of several turns; a half has at least {LEAST_IN_HALF} "
        f'assessed turns. 95 % intervals.</p>\n<div class="charts">{rows}</div></section>\n'
    )


def _check(name: str, found: Mapping[str, Any]) -> str:
    title = f"<code>{shown(name)}</code>"
    if not found["usable"]:
        return f'<div class="bar"><p>{title} <span class="quiet">every conversation is too short</span></p></div>\n'
    first, second = (f"{100 * found[half]:.1f} %" for half in ("first_half", "second_half"))
    low, high = (f"{100 * bound:+.1f}" for bound in found["interval"])
    badge = f'<span class="badge {_TONES.get(found["verdict"], NOT_APPLICABLE)}">{found["verdict"]}</span>'
    parts = [(UNEXPECTED, found["worse"], "got worse"), (NOT_APPLICABLE, found["same"], "stayed")]
    parts = [part for part in (*parts, (PASS, found["better"], "got better")) if part[1]]
    words = " · ".join(key(kind, number, said) for kind, number, said in parts)
    short = f' · <span class="quiet">{found["too_short"]:,} too short</span>' if found["too_short"] else ""
    return (
        f'<div class="bar"><p>{title} {badge}</p><p>{first} → {second} of the turns fail: '
        f"<strong>{100 * found['difference']:+.1f} points</strong> ({low} to {high})</p>"
        f"{stack([(kind, number) for kind, number, _ in parts])}<p>{words}{short}</p></div>\n"
    )
