"""What speaks against a reply, in words: the check, the very words, the rule, why it matters, what would be better.

Every output shows these remarks, and decides nothing: a check has said what counted and what is missing.
"""

from collections.abc import Sequence

import msgspec

from synthesis.errors import shorten
from synthesis.model import CaseResult, CheckResult, Finding
from synthesis.model.result import FAIL
from synthesis.report.glossary import ENGLISH, Glossary

NOT_MET = "The reply does not meet this check."
NOT_RECORDED = "Not recorded: this report does not say which findings counted. Evaluate the cases again to see it."


class Remark(msgspec.Struct, frozen=True, omit_defaults=True):
    """One reason against a reply. Without `rule` it is about something that is `missing`, by the check's name for it.

    `elements` says of everything that a check asks for what is missing, and which words met the rest.
    """

    check: str
    why: str
    instead: str = ""
    rule: str = ""
    words: str = ""
    turn: int = 0
    missing: str = ""
    elements: str = ""

    @property
    def reason(self) -> str:
        """Why, and what of all that was asked for is missing."""
        return f"{self.why} [{self.elements}]" if self.elements else self.why

    def __str__(self) -> str:
        said = f"“{shorten(self.words)}” ({self.rule}): " if self.rule else ""
        return f"{self.check}: {said}{self.reason} {self.instead}".rstrip()


def remarks_on(result: CaseResult, glossary: Glossary, told_in: str = ENGLISH) -> tuple[Remark, ...]:
    """What speaks against the reply, check by check, in the order of the text."""
    found = (remarks_on_check(result, name, glossary, told_in) for name in result.failed_checks)
    return tuple(remark for remarks in found for remark in remarks)


def remarks_on_check(result: CaseResult, name: str, glossary: Glossary, told_in: str = ENGLISH) -> list[Remark]:
    """Each wording of each rule once, then what is missing; nothing on a check that did not fail."""
    return remarks_about(result, result.checks[name], glossary, told_in)


def remarks_about(result: CaseResult, check: CheckResult, glossary: Glossary, told_in: str = ENGLISH) -> list[Remark]:
    """The same for one of its verdicts, or its alert."""
    if check.outcome != FAIL:
        return []
    found: dict[tuple[str, str], Finding] = {}
    for finding in check.against:
        found.setdefault((finding.rule, finding.text), finding)
    remarks = [
        on_finding(check.check, finding, result.language_of(finding.where), glossary, told_in)
        for finding in found.values()
    ]
    remarks += _absences(check, glossary, told_in)
    unrecorded = any(finding.role is None for finding in result.findings)
    return remarks or [Remark(check.check, NOT_RECORDED if unrecorded else NOT_MET)]


def on_finding(check: str, finding: Finding, language: str, glossary: Glossary, told_in: str = ENGLISH) -> Remark:
    advice = glossary.on_rule(language, finding.rule, told_in)
    return Remark(check, advice.why, advice.instead, finding.rule, finding.text, finding.turn)


def _absences(check: CheckResult, glossary: Glossary, told_in: str) -> list[Remark]:
    names = dict.fromkeys(name for turn in check.failed_turns for name in turn.missing)
    told = [(name, glossary.on_absence(check.check, name, told_in)) for name in names]
    remarks = [
        Remark(check.check, advice.why or f"missing: {name}", advice.instead, missing=name) for name, advice in told
    ]
    if remarks:
        remarks[0] = msgspec.structs.replace(remarks[0], elements=_elements(check.failed_turns))
    return remarks


def _elements(turns: Sequence[CheckResult]) -> str:
    """What is missing, and the words that met the rest, of the first reply that lacks something."""
    lacking = next(turn for turn in turns if turn.missing)
    if not isinstance(lacking.evidence.get("found"), dict):
        return ""
    words = [f"{name} “{shorten(said[0])}”" for name, said in lacking.evidence["found"].items() if said]
    missing = f"missing: {', '.join(lacking.missing)}"
    return f"{missing}; found: {', '.join(words)}" if words else missing
