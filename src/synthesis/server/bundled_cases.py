"""The cases that travel with the package: examples to click, and a ground to try rules on."""

from functools import cache

from synthesis import bundled
from synthesis.cases.jsonl import load_cases
from synthesis.cases.schema import CaseValidator
from synthesis.checks.registry import checks
from synthesis.model import Case
from synthesis.rules.language import detect


@cache
def cases_by_language() -> dict[str, tuple[Case, ...]]:
    """All bundled cases, by the language of their reply, in the order of their files."""
    validator = CaseValidator(checks())
    found: dict[str, list[Case]] = {}
    for path in sorted(bundled.CASES.parent.glob("evals*.jsonl")):
        named = path.suffixes[0].lstrip(".")
        for case in load_cases(path, validator):
            found.setdefault(case.lang or _language(named, case), []).append(case)
    return {language: tuple(cases) for language, cases in sorted(found.items())}


def find_case(case_id: str) -> Case | None:
    return next((case for cases in cases_by_language().values() for case in cases if case.id == case_id), None)


def _language(named: str, case: Case) -> str:
    """The language that the file is named after, else that of the last reply."""
    return named if len(named) == 2 else detect(case.exchanges[-1][1])[0]
