"""What a first reading of the results tells: how much there is of everything, and what will be shown."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from synthesis.report.reading import StoredReport
from synthesis.report.verdicts import KINDS, UNEXPECTED, check_kind, has_texts, kind_of, tone_of

MOST_OTHERS = 2_000


@dataclass
class Survey:
    """Counts over all results."""

    kinds: Counter[str] = field(default_factory=Counter)
    checks: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    rules: Counter[tuple[str, str]] = field(default_factory=Counter)  # (rule, tone) -> cases
    signals: dict[str, str] = field(default_factory=dict)  # name -> tone
    tags: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    without_text: int = 0

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
    for result in report.results():
        survey.kinds[kind_of(result)] += 1
        survey.languages[result["language"]] += 1
        survey.tags.update(result.get("tags", ()))
        survey.without_text += not has_texts(result)
        for name in result["checks"]:
            survey.checks[name][check_kind(result, name)] += 1
        survey.rules.update({(finding["rule"], tone_of(finding)) for finding in result["findings"]})
        survey.signals.update((finding["signal"], tone_of(finding)) for finding in result["findings"])
    return survey
