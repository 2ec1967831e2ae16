"""What a report counts, what its cases can be filtered by, and its charts: every figure is also written out."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from synthesis.model import CaseResult
from synthesis.model.result import (
    AGAINST,
    ERROR,
    LEAST_IN_HALF,
    MOST_SURE,
    NOT_APPLICABLE,
    OUTCOME_WORDS,
    PASS,
    SEVERITIES,
    Timeline,
)
from synthesis.report.drift import BETTER, LEAST_CONVERSATIONS, TOO_FEW, WORSE, curve_points
from synthesis.report.findings import (
    EXPECTED,
    KINDS,
    MISSED,
    NAMED,
    SIGNS,
    TURN_SIGNS,
    UNEXPECTED,
    Glossary,
    Reason,
    check_kind,
    kind_of,
    marks_of,
    reading_order,
    reasons_of,
)
from synthesis.report.html.curves import CHARTS, Figure, curve
from synthesis.report.stored import Record, StoredReport
from synthesis.report.templates import macro

MOST_OTHERS = 5_000
MOST_TAGS = 60
MOST_ALERTS = 100  # that a page of a run leads to
_ALL = "all"
_SURENESSES = MOST_SURE + 1
_LETTERS = dict(zip(KINDS, "uemxnp", strict=True))  # kinds in the classes of thousands of cases


@dataclass
class Survey:
    """Counts over all results."""

    kinds: Counter[str] = field(default_factory=Counter)
    severities: Counter[str] = field(default_factory=Counter)  # of failures that nobody expected
    checks: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    rules: Counter[tuple[str, str]] = field(default_factory=Counter)  # (rule, mark) -> cases
    reasons: Counter[Reason] = field(default_factory=Counter)  # why checks fail -> cases
    tags: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    without_text: int = 0
    alerts: list[tuple[int, str]] = field(default_factory=list)  # position and id of the first ones
    ranks: bytearray = field(default_factory=bytearray)  # by position: its place in reading order, need before sureness
    worst: list[CaseResult] = field(default_factory=list)  # those that are read first
    places: dict[tuple[str, str], "array[int]"] = field(default_factory=dict)  # ("tag", name) -> positions

    def need(self, position: int) -> int:
        """How much a case needs a look, as a place in NEEDS."""
        return self.ranks[position] // _SURENESSES

    def add_rank(self, result: CaseResult) -> None:
        need, sureness = reading_order(result)
        self.ranks.append(need * _SURENESSES + sureness + MOST_SURE)
        if len(self.worst) < NAMED or reading_order(self.worst[-1]) > (need, sureness):
            self.worst = sorted([*self.worst, result], key=reading_order)[:NAMED]

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

    @property
    def unexpected(self) -> int:
        return self.kinds[UNEXPECTED]

    def ranked_reasons(self) -> list[tuple[Reason, int]]:
        """Why replies fail, most frequent first."""
        return sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))


def survey_of(report: StoredReport) -> Survey:
    survey = Survey()
    for position, result in enumerate(report.results()):
        survey.kinds[kind_of(result)] += 1
        survey.severities[alarm_of(result)] += 1
        survey.languages[result.language] += 1
        survey.tags.update(result.tags)
        survey.without_text += not result.has_texts
        for name in result.checks:
            survey.checks[name][check_kind(result, name)] += 1
        survey.rules.update({(one.rule, mark) for one, mark in zip(result.findings, marks_of(result), strict=True)})
        reasons = reasons_of(result)
        survey.reasons.update(reasons)
        survey.add_rank(result)
        found = [("language", result.language), *(("tag", tag) for tag in dict.fromkeys(result.tags))]
        for place in (*found, *(("reason", reason.key) for reason in reasons)):
            survey.places.setdefault(place, array("q")).append(position)
        if result.alert is not None and len(survey.alerts) < MOST_ALERTS:
            survey.alerts.append((position, result.name))
    return survey


def alarm_of(result: CaseResult) -> str:
    """How bad a failure is that nobody expected; empty for every other case, and where a report does not say it."""
    return (result.severity or "") if kind_of(result) == UNEXPECTED else ""


class Choice(NamedTuple):
    """A list to filter by; without options there is nothing to choose, but the style sheet asks."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]


class CaseFilters:
    """The choices that a report offers, and the classes by which cases answer to them."""

    def __init__(self, survey: Survey) -> None:
        self._checks = {name: f"k{number}" for number, name in enumerate(sorted(survey.checks))}
        present = survey.kinds + sum(survey.checks.values(), Counter())
        self._kinds = [kind for kind in KINDS if present[kind]]
        self._severities = [severity for severity in SEVERITIES if survey.severities[severity]]
        frequent = sorted(survey.tags, key=lambda tag: (-survey.tags[tag], tag))[:MOST_TAGS]
        self._tags = {tag: f"t{number}" for number, tag in enumerate(sorted(frequent))}
        self._all_tags = len(survey.tags)
        ranked = enumerate(survey.ranked_reasons())
        self._reasons = {reason: (f"r{number}", cases) for number, (reason, cases) in ranked}
        self._languages = {code: f"l{number}" for number, code in enumerate(sorted(survey.languages))}

    def classes(self, result: CaseResult) -> str:
        """What a case is, for the style sheet."""
        kind = kind_of(result)
        names = [f"o-{kind}", self._languages[result.language]]
        names += [f"s-{severity}"] if (severity := alarm_of(result)) else []
        names += [self._tags[tag] for tag in result.tags if tag in self._tags]
        names += [self._reasons[reason][0] for reason in reasons_of(result)]
        for name in result.checks:
            own = self._checks[name]
            names += [own, own + _LETTERS[check_kind(result, name)]]
            names += [own + _LETTERS[MISSED]] if kind == MISSED else []
        return " ".join(names)

    def css(self) -> Markup:
        """Hides what is not chosen. With a check chosen, the outcome means the outcome of that check."""
        rules = [_hide((("check", own),), own) for own in self._checks.values()]
        rules += [_hide((("check", _ALL), ("outcome", kind)), f"o-{kind}") for kind in self._kinds]
        rules += [
            _hide((("check", own), ("outcome", kind)), own + _LETTERS[kind])
            for own in self._checks.values()
            for kind in self._kinds
        ]
        rules += [_hide((("severity", severity),), f"s-{severity}") for severity in self._severities]
        rules += [_hide((("tag", own),), own) for own in self._tags.values()]
        rules += [_hide((("reason", own),), own) for own, _ in self._reasons.values()]
        rules += [_hide((("language", own),), own) for own in self._languages.values()]
        return Markup("\n".join(rules))

    def choices(self, glossary: Glossary, kinds: Mapping[str, str]) -> list[Choice]:
        """The lists, in their order; `kinds` says what the kinds of results are called."""
        checks = [(own, _titled(name, glossary.checks.get(name, ""))) for name, own in self._checks.items()]
        reasons = [
            (own, f"{reason.check}: {reason.words(glossary)} ({cases:,})")
            for reason, (own, cases) in self._reasons.items()
        ]
        languages = [(own, code or "unknown") for code, own in self._languages.items()]
        return [
            Choice("severity", "Severity", [(severity, severity) for severity in self._severities]),
            Choice("check", "Check", _several(checks)),
            Choice("outcome", "Outcome", _several([(kind, kinds[kind]) for kind in self._kinds])),
            Choice("reason", "Fails because", reasons),
            Choice(
                "tag",
                "Tag" if self._all_tags <= MOST_TAGS else f"Tag ({MOST_TAGS} of {self._all_tags})",
                [(own, tag) for tag, own in self._tags.items()],
            ),
            Choice("language", "Language", _several(languages)),
        ]


def _several(options: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return options if len(options) > 1 else []


def _hide(chosen: Sequence[tuple[str, str]], wanted: str) -> str:
    # Asked of the form and not of the whole page: otherwise every new element would have the browser ask again.
    conditions = "".join(f':has(#by-{name} option[value="{value}"]:checked)' for name, value in chosen)
    return f".filters{conditions}~.cases .case:not(.{wanted}){{display:none}}"


def _titled(name: str, title: str) -> str:
    return f"{name}: {title}" if title else name


# Charts, drawn as bars beside words: every figure is also written out, and no bar differs by colour alone.


MOST_RULES = 20


class Share(NamedTuple):
    """A part of a bar: its kind, what it counts, and where it is, in percent."""

    kind: str
    number: int
    words: str
    start: float
    width: float


class Bar(NamedTuple):
    """A line of a chart: a name, what it means, how many cases, and its share of the longest, in percent."""

    kind: str
    sign: str
    name: str
    words: str
    link: str
    number: int
    width: float


def by_check(summary: Record, survey: Survey, glossary: Glossary) -> Markup:
    """How each check came out."""
    outcomes = [
        (name, glossary.checks.get(name, ""), _outcomes(counts, survey.checks[name][UNEXPECTED]))
        for name, counts in summary["by_check"].items()
    ]
    return macro(CHARTS, "outcomes_by_check")(outcomes)


def reasons_and_rules(
    survey: Survey, glossary: Glossary, most_rules: int = MOST_RULES, reason_address: str = ""
) -> Markup:
    """Why replies fail, then the rules that fired; with an address, a reason leads to its cases."""
    reasons = list(_reason_bars(survey, glossary, reason_address))
    rules = list(_rule_bars(survey, most_rules))
    return macro(CHARTS, "reasons_and_rules")(reasons, rules, len(survey.rules))


def charts(
    summary: Record, survey: Survey, glossary: Glossary, most_rules: int = MOST_RULES, reason_address: str = ""
) -> Markup:
    """All of them, and what conversations say together."""
    return (
        by_check(summary, survey, glossary)
        + reasons_and_rules(survey, glossary, most_rules, reason_address)
        + drift_per_check(summary)
    )


def _outcomes(counts: Record, unexpected: int) -> list[Share]:
    return _shares(
        (PASS, counts["passed"], "passed"),
        (UNEXPECTED, unexpected, "failed"),
        (EXPECTED, counts["failed"] - unexpected, "failed, as expected"),
        (NOT_APPLICABLE, counts["not_applicable"], "not applicable"),
        (ERROR, counts.get("errors", 0), "in error"),
    )


def _shares(*parts: tuple[str, int, str]) -> list[Share]:
    total = sum(number for _, number, _ in parts) or 1
    start, found = 0.0, []
    for kind, number, words in parts:
        if number:
            found.append(Share(kind, number, words, start, 100 * number / total))
            start += found[-1].width
    return found


def _reason_bars(survey: Survey, glossary: Glossary, address: str) -> Iterable[Bar]:
    """What replies fail for, most frequent first: what they say, and what they lack."""
    ranked = survey.ranked_reasons()
    for reason, number in ranked:
        kind, sign = ("absent", "∅") if reason.is_absence else (AGAINST, SIGNS[AGAINST])
        link = f"{address}{quote(reason.key, safe='')}#cases" if address else ""
        width = 100 * number / ranked[0][1]
        yield Bar(kind, sign, reason.check, reason.words(glossary), link, number, width)


def _rule_bars(survey: Survey, most: int) -> Iterable[Bar]:
    """The rules that fired in most cases, those that speak against replies first."""
    ranked = sorted(survey.rules.items(), key=lambda item: (item[0][1] != AGAINST, -item[1], item[0]))[:most]
    longest = max((number for _, number in ranked), default=1)
    for (rule, mark), number in ranked:
        yield Bar(mark, SIGNS[mark], rule, "", "", number, 100 * number / longest)


# Conversations over time: a strip of turns for each check, and a bar for what all conversations say about drift.


MOST_TURNS = 200  # of one strip
_TONES = {WORSE: "unexpected", BETTER: "pass"}


class Strip(NamedTuple):
    """One check over the turns of a conversation: a sign and words for each turn."""

    check: str
    words: str
    turns: list[tuple[str, str, str]]  # outcome, sign, words
    left_out: int


class TurnByTurn(NamedTuple):
    """A strip for each check that failed or has no verdict in some turn, and the names of the others.

    `address` is where turns are, without their number; empty where there is nothing to open. Checks that never applied
    are not shown as good.
    """

    address: str
    strips: list[Strip]
    passed: list[str]
    idle: list[str]


def timelines_of(result: CaseResult, address: str) -> TurnByTurn | None:
    """None for a single exchange."""
    lines = list(result.timelines.values())
    if not lines:
        return None
    calm = [line for line in lines if {PASS, NOT_APPLICABLE}.issuperset(line.outcomes)]
    return TurnByTurn(
        address,
        [_strip(line) for line in lines if line not in calm],
        [line.check for line in calm if PASS in line.outcomes],
        [line.check for line in calm if PASS not in line.outcomes],
    )


def turn_by_turn(result: CaseResult, turn_address: str) -> Markup:
    """The strips of a conversation and what else the checks say about it; nothing for a single exchange."""
    return macro(CHARTS, "turn_by_turn")(timelines_of(result, turn_address))


def strips(result: CaseResult, turn_address: str) -> Markup:
    """The strips alone."""
    found = timelines_of(result, turn_address)
    return macro(CHARTS, "strips")(found) if found else Markup()


def _strip(timeline: Timeline) -> Strip:
    turns = [(outcome, TURN_SIGNS[outcome], OUTCOME_WORDS[outcome]) for outcome in timeline.outcomes[:MOST_TURNS]]
    return Strip(timeline.check, _in_words(timeline), turns, max(len(timeline.outcomes) - MOST_TURNS, 0))


def _in_words(timeline: Timeline) -> str:
    parts = []
    if timeline.first_failure is not None:
        parts.append(f"fails first in turn {timeline.first_failure + 1} of {len(timeline.outcomes)}")
    if timeline.longest_run > 1:
        parts.append(f"{timeline.longest_run} assessed turns in a row")
    if timeline.rates:
        first, second = (f"{100 * rate:.0f} %" for rate in timeline.rates)
        parts.append(f"first half {first}, second half {second}")
    return ", ".join(parts)


def drift_per_check(summary: Mapping[str, Any]) -> Markup:
    """What all conversations say together; nothing for a run without conversations of several turns."""
    drift = summary.get("drift")
    if drift is None:
        return Markup()
    rows = [
        (name, found, _TONES.get(found["verdict"], NOT_APPLICABLE), _drifts(found), _over_turns(name, found))
        for name, found in drift["by_check"].items()
        if found["usable"]
    ]
    short = [name for name, found in drift["by_check"].items() if not found["usable"]]
    return macro(CHARTS, "drift")(rows, short, drift["conversations"], LEAST_IN_HALF, LEAST_CONVERSATIONS)


def _over_turns(name: str, found: Mapping[str, Any]) -> Markup:
    """How often replies fail, turn by turn; nothing for a check that never fails."""
    points = curve_points(found.get("curve", ()))
    if not any(point.failed for point in points):
        return Markup()
    figures = [
        Figure(
            point.turns,
            "turn" if number == len(points) - 1 else "",
            100 * point.rate,
            (100 * point.interval[0], 100 * point.interval[1]),
            f"{point.failed:,} of {point.assessed:,} replies fail",
        )
        for number, point in enumerate(points)
    ]
    return curve(f"{name} over the turns", figures, " %", least_top=1.0)


def _drifts(found: Mapping[str, Any]) -> list[Share]:
    """Nothing where too few conversations say nothing together: a bar of one would look like a finding."""
    if found["verdict"] == TOO_FEW:
        return []
    return _shares(
        (UNEXPECTED, found["worse"], "got worse"),
        (NOT_APPLICABLE, found["same"], "stayed"),
        (PASS, found["better"], "got better"),
    )
