"""What rules, signals and checks mean, in plain words. The caller who draws a report passes it in."""

from collections.abc import Mapping

import msgspec


class Advice(msgspec.Struct, frozen=True):
    """Why something matters, and what would be better."""

    why: str = ""
    instead: str = ""


ByLanguage = Mapping[str, Advice]  # the language of the words; English is always there
ENGLISH = "en"
_NO_ADVICE = Advice()


class Glossary(msgspec.Struct, frozen=True):
    """The words for what a report names. Anything that is not in it is shown by its name alone."""

    rules: Mapping[tuple[str, str], ByLanguage] = {}  # (language, rule id)
    absences: Mapping[tuple[str, str], ByLanguage] = {}  # (check, name of what is missing)
    signals: Mapping[str, str] = {}  # name -> title
    checks: Mapping[str, str] = {}  # name -> title
    failure_evidence: Mapping[str, Mapping[str, str]] = {}  # check -> key in `failures` -> key of its evidence
    rules_hash: str = ""

    def on_rule(self, language: str, rule: str, told_in: str = ENGLISH) -> Advice:
        """Advice on the rule of a language; `told_in` is the language of the words, English where they lack it."""
        return _told(self.rules.get((language, rule), {}), told_in)

    def on_absence(self, check: str, name: str, told_in: str = ENGLISH) -> Advice:
        return _told(self.absences.get((check, name), {}), told_in)


def _told(words: ByLanguage, language: str) -> Advice:
    return words.get(language) or words.get(ENGLISH, _NO_ADVICE)
