"""Charts and strips of turns, drawn as bars beside words: every figure is also written out."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import quote

from synthesis.model import CaseResult
from synthesis.model.result import AGAINST, ERROR, LEAST_IN_HALF, NOT_APPLICABLE, PASS, Timeline
from synthesis.report.drift import BETTER, WORSE
from synthesis.report.findings import (
    EXPECTED,
    KINDS,
    MISSED,
    TURN_SIGNS,
    TURN_WORDS,
    UNEXPECTED,
    Glossary,
    Reason,
    check_kind,
    count,
    kind_of,
    marks_of,
    need_of,
    reasons_of,
    visible,
)
from synthesis.report.html.marks import SIGNS, shown
from synthesis.report.stored import Record, StoredReport

MOST_OTHERS = 5_000
MOST_TAGS = 60
MOST_ALERTS = 100  # that a page of a run leads to
_ALL = "all"


@dataclass
class Survey:
    """Counts over all results."""

    kinds: Counter[str] = field(default_factory=Counter)
    checks: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    rules: Counter[tuple[str, str]] = field(default_factory=Counter)  # (rule, mark) -> cases
    reasons: Counter[Reason] = field(default_factory=Counter)  # why checks fail -> cases
    tags: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    without_text: int = 0
    alerts: list[tuple[int, str]] = field(default_factory=list)  # position and id of the first ones
    needs: bytearray = field(default_factory=bytearray)  # by position, a place in NEEDS
    places: dict[tuple[str, str], "array[int]"] = field(default_factory=dict)  # ("tag", name) -> positions

    def room(self) -> dict[str, int]:
        """How many cases of each kind are shown: all unexpected failures, then the others by need of a look."""
        left, room = MOST_OTHERS, {}
        for kind in KINDS:
            room[kind] = self.kinds[kind] if kind == UNEXPECTED else min(self.kinds[kind], left)
            left -= 0 if kind == UNEXPECTED else room[kind]
        return room

    @property
    def shown(self) -> int:
        return sum(self.room().values())


def survey_of(report: StoredReport) -> Survey:
    survey = Survey()
    for position, result in enumerate(report.results()):
        survey.kinds[kind_of(result)] += 1
        survey.languages[result.language] += 1
        survey.tags.update(result.tags)
        survey.without_text += not result.has_texts
        for name in result.checks:
            survey.checks[name][check_kind(result, name)] += 1
        survey.rules.update({(one.rule, mark) for one, mark in zip(result.findings, marks_of(result), strict=True)})
        reasons = reasons_of(result)
        survey.reasons.update(reasons)
        survey.needs.append(need_of(result))
        found = [("language", result.language), *(("tag", tag) for tag in dict.fromkeys(result.tags))]
        for place in (*found, *(("reason", reason.key) for reason in reasons)):
            survey.places.setdefault(place, array("q")).append(position)
        if result.alert is not None and len(survey.alerts) < MOST_ALERTS:
            survey.alerts.append((position, result.name))
    return survey


class CaseFilters:
    """The choices that a report offers, and the classes by which cases answer to them."""

    def __init__(self, survey: Survey) -> None:
        self._shown = survey.shown
        self._checks = {name: f"k{number}" for number, name in enumerate(sorted(survey.checks))}
        present = survey.kinds + sum(survey.checks.values(), Counter())
        self._kinds = [kind for kind in KINDS if present[kind]]
        frequent = sorted(survey.tags, key=lambda tag: (-survey.tags[tag], tag))[:MOST_TAGS]
        self._tags = {tag: f"t{number}" for number, tag in enumerate(sorted(frequent))}
        self._all_tags = len(survey.tags)
        ranked = sorted(survey.reasons.items(), key=lambda item: (-item[1], item[0]))
        self._reasons = {reason: (f"r{number}", cases) for number, (reason, cases) in enumerate(ranked)}
        self._languages = {code: f"l{number}" for number, code in enumerate(sorted(survey.languages))}

    def classes(self, result: CaseResult) -> str:
        """What a case is, for the style sheet."""
        kind = kind_of(result)
        names = [f"o-{kind}", self._languages[result.language]]
        names += [self._tags[tag] for tag in result.tags if tag in self._tags]
        names += [self._reasons[reason][0] for reason in reasons_of(result)]
        for name in result.checks:
            own = self._checks[name]
            names += [own, f"{own}-{check_kind(result, name)}"]
            names += [f"{own}-{MISSED}"] if kind == MISSED else []
        return " ".join(names)

    def css(self) -> str:
        """Hides what is not chosen. With a check chosen, the outcome means the outcome of that check."""
        rules = [_hide((("check", own),), own) for own in self._checks.values()]
        rules += [_hide((("check", _ALL), ("outcome", kind)), f"o-{kind}") for kind in self._kinds]
        rules += [
            _hide((("check", own), ("outcome", kind)), f"{own}-{kind}")
            for own in self._checks.values()
            for kind in self._kinds
        ]
        rules += [_hide((("tag", own),), own) for own in self._tags.values()]
        rules += [_hide((("reason", own),), own) for own, _ in self._reasons.values()]
        rules += [_hide((("language", own),), own) for own in self._languages.values()]
        return "\n".join(rules)

    def form(self, glossary: Glossary) -> str:
        checks = [(own, _titled(name, glossary.checks.get(name, ""))) for name, own in self._checks.items()]
        tag_label = "Tag" if self._all_tags <= MOST_TAGS else f"Tag ({MOST_TAGS} of {self._all_tags})"
        lists = [
            _choice("check", "Check", checks),
            _choice("outcome", "Outcome", [(kind, KINDS[kind]) for kind in self._kinds]),
            _choice("reason", "Fails because", self._reason_options(glossary), fewest=1),
            _choice("tag", tag_label, [(own, tag) for tag, own in self._tags.items()], fewest=1),
            _choice("language", "Language", [(own, code or "unknown") for code, own in self._languages.items()]),
        ]
        return (
            '<h2 id="cases">Cases</h2>\n<p class="quiet">What needs a look comes first. '
            'Open a case to read it.</p>\n<form class="filters" aria-label="Filter the cases">'
            '<label id="search" hidden>Words, id or rule <input type="search" id="by-words"></label>'
            f'{"".join(lists)}<button type="reset">Show all</button></form>\n'
        )

    def _reason_options(self, glossary: Glossary) -> list[tuple[str, str]]:
        return [
            (own, f"{reason.check}: {reason.words(glossary)} ({cases:,})")
            for reason, (own, cases) in self._reasons.items()
        ]

    def tally(self) -> str:
        """How many cases are left; the number itself is counted by the style sheet."""
        return f'<p class="tally" role="status"> of {self._shown:,} cases on this page</p>\n'


def _hide(chosen: Sequence[tuple[str, str]], wanted: str) -> str:
    # Asked of the form and not of the whole page: otherwise every new element would have the browser ask again.
    conditions = "".join(f':has(#by-{name} option[value="{value}"]:checked)' for name, value in chosen)
    return f".filters{conditions}~.cases .case:not(.{wanted}){{display:none}}"


def _choice(name: str, label: str, options: Sequence[tuple[str, str]], fewest: int = 2) -> str:
    if len(options) < fewest:  # nothing to choose, but the style sheet asks
        return f'<select id="by-{name}" hidden><option value="{_ALL}" selected></option></select>'
    lines = "".join(f'<option value="{value}">{shown(text)}</option>' for value, text in options)
    return f'<label>{label} <select id="by-{name}"><option value="{_ALL}" selected>all</option>{lines}</select></label>'


def _titled(name: str, title: str) -> str:
    return f"{name}: {title}" if title else name


# Charts, drawn as bars beside words: every figure is also written out, and no bar differs by colour alone.


MOST_RULES = 20
_WORDS = {
    PASS: "passed",
    UNEXPECTED: "failed, unexpected",
    EXPECTED: "failed, expected",
    NOT_APPLICABLE: "not applicable",
    ERROR: "in error",
}
PATTERNS = """<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>
<pattern id="fill-pass" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8"/></pattern>
<pattern id="fill-unexpected" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="8" height="8"/><rect class="over" width="3" height="8"/></pattern>
<pattern id="fill-expected" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8"/>
<circle class="over" cx="4" cy="4" r="1.6"/></pattern>
<pattern id="fill-not_applicable" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8"/>
<rect class="over" y="6" width="8" height="2"/></pattern>
<pattern id="fill-error" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8"/>
<path class="over" d="M0 0L8 8M8 0L0 8"/></pattern>
</defs></svg>
"""


def charts(
    summary: Record, survey: Survey, glossary: Glossary, most_rules: int = MOST_RULES, reason_address: str = ""
) -> str:
    """Outcomes beside reasons, then the rules that fired; with an address, a reason leads to its cases."""
    outcomes = outcomes_per_check(summary, survey, glossary)
    reasons = failure_reasons(survey, glossary, reason_address)
    return f'<div class="charts">{outcomes}{reasons}{rule_frequency(survey, most_rules)}</div>\n'


def outcomes_per_check(summary: Record, survey: Survey, glossary: Glossary) -> str:
    """A bar for each check: its outcomes as shares of the cases that asked for it."""
    rows = [
        _check(name, _counts(counts, survey.checks[name][UNEXPECTED]), glossary)
        for name, counts in summary["by_check"].items()
    ]
    heading = '<section class="chart" aria-label="Outcomes per check"><h2>Outcomes per check</h2>'
    return f"{heading}\n{''.join(rows)}</section>\n"


def _counts(counts: Record, unexpected: int) -> dict[str, int]:
    return {
        PASS: counts["passed"],
        UNEXPECTED: unexpected,
        EXPECTED: counts["failed"] - unexpected,
        NOT_APPLICABLE: counts["not_applicable"],
        ERROR: counts.get("errors", 0),
    }


def _check(name: str, counts: dict[str, int], glossary: Glossary) -> str:
    present = [(kind, number) for kind, number in counts.items() if number]
    words = " · ".join(key(kind, number, _WORDS[kind]) for kind, number in present)
    title = glossary.checks.get(name, "")
    return (
        f'<div class="bar"><p><code>{shown(name)}</code> <span class="quiet">{shown(title)}</span></p>'
        f"{stack(present)}<p>{words}</p></div>\n"
    )


def key(kind: str, number: int, words: str) -> str:
    """What one part of a bar stands for."""
    return (
        f'<span class="key"><svg width="14" height="14" aria-hidden="true"><rect width="14" height="14" '
        f'fill="url(#fill-{kind})"/></svg> {number:,} {words}</span>'
    )


def stack(parts: Sequence[tuple[str, int]]) -> str:
    """A bar cut into shares."""
    total = sum(number for _, number in parts) or 1
    start, bars = 0.0, []
    for kind, number in parts:
        share = 100 * number / total
        bars.append(f'<rect x="{start:.2f}%" width="{share:.2f}%" height="18" fill="url(#fill-{kind})"/>')
        start += share
    return f'<svg class="stack" width="100%" height="18" aria-hidden="true">{"".join(bars)}</svg>'


def failure_reasons(survey: Survey, glossary: Glossary, address: str = "") -> str:
    """What replies fail for, most frequent first: what they say, and what they lack."""
    if not survey.reasons:
        return ""
    ranked = sorted(survey.reasons.items(), key=lambda item: (-item[1], item[0]))
    rows = [_reason(reason, number, ranked[0][1], glossary, address) for reason, number in ranked]
    return (
        '<section class="chart" aria-label="Why replies fail"><h2>Why replies fail</h2>'
        '<p class="quiet">By number of cases. ∅ is a failure by absence: something that the reply does not say.</p>\n'
        f'<ul class="rules">{"".join(rows)}</ul></section>\n'
    )


def _reason(reason: Reason, number: int, most: int, glossary: Glossary, address: str) -> str:
    kind, sign = ("absent", "∅") if reason.is_absence else (AGAINST, SIGNS[AGAINST])
    said = shown(reason.words(glossary))
    link = f'<a href="{escape(address + quote(reason.key, safe=""))}#cases">{said}</a>' if address else said
    words = f"<code>{shown(reason.check)}</code> {link}"
    return _bar(kind, sign, words, number, most)


def rule_frequency(survey: Survey, shown_rules: int = MOST_RULES) -> str:
    """The rules that fired in most cases, those that speak against replies first."""
    if not survey.rules:
        return ""
    ranked = sorted(survey.rules.items(), key=lambda item: (item[0][1] != AGAINST, -item[1], item[0]))
    most = max(number for _, number in ranked[:shown_rules])
    rows = [_rule(rule, mark, number, most) for (rule, mark), number in ranked[:shown_rules]]
    which = f"{shown_rules} of {len(ranked)}" if len(ranked) > shown_rules else f"all {len(ranked)}"
    return (
        f'<details class="chart"><summary>Rules that fired ({which})</summary>'
        '<p class="quiet">By number of cases, those against a reply first.</p>\n'
        f'<ul class="rules">{"".join(rows)}</ul></details>\n'
    )


def _rule(rule: str, mark: str, number: int, most: int) -> str:
    return _bar(mark, SIGNS[mark], f"<code>{shown(rule)}</code>", number, most)


def _bar(kind: str, sign: str, words: str, number: int, most: int) -> str:
    return (
        f'<li class="{kind}"><span class="rule"><span class="sign">{sign}</span><span>{words}</span></span>'
        f'<svg width="100%" height="10" aria-hidden="true"><rect width="{100 * number / most:.2f}%" height="10"/></svg>'
        f"<span>{count(number, 'case')}</span></li>\n"
    )


# Conversations over time: a strip of turns for each check, and a bar for what all conversations say about drift.


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
    rows = "".join(_drift_row(name, found) for name, found in drift["by_check"].items())
    return (
        '<section class="chart" aria-label="Drift over the conversation"><h2>Over the conversation</h2>'
        f'<p class="quiet">How often replies fail in the first and in the second half of '
        f"{count(drift['conversations'], 'conversation')} of several turns; a half has at least {LEAST_IN_HALF} "
        f'assessed turns. 95 % intervals.</p>\n<div class="charts">{rows}</div></section>\n'
    )


def _drift_row(name: str, found: Mapping[str, Any]) -> str:
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
