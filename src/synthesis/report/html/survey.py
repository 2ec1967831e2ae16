"""What a first reading of the results tells: how much there is of everything, what is shown, and how to filter it.

Filters need no script: a choice in a list switches rules of the style sheet on. Names of tags, checks and languages
never reach the style sheet: classes are numbered.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from synthesis.model import CaseResult
from synthesis.report.glossary import Glossary
from synthesis.report.html.spans import shown
from synthesis.report.reading import StoredReport
from synthesis.report.reasons import Reason, reasons_of
from synthesis.report.verdicts import KINDS, MISSED, UNEXPECTED, check_kind, kind_of, marks_of, need_of

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
