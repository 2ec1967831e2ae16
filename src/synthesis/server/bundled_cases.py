"""The cases that come with the package: examples to click, and texts to try rules on."""

from functools import cache

from synthesis import io
from synthesis.checks.registry import checks, rules_in_force
from synthesis.model import Case
from synthesis.read.cases import CaseValidator, load_cases


@cache
def cases_by_language() -> dict[str, tuple[Case, ...]]:
    """All of them by language, in file order: the one that the case or its file names, else that of the last reply."""
    validator, detector = CaseValidator(checks()), rules_in_force().detector
    found: dict[str, list[Case]] = {}
    for path in sorted(io.CASES.parent.glob("evals*.jsonl")):
        named = path.suffixes[0].lstrip(".")
        for case in load_cases(path, validator):
            language = case.lang or (named if len(named) == 2 else detector.detect(case.exchanges[-1][1]).language)
            found.setdefault(language, []).append(case)
    return {language: tuple(cases) for language, cases in sorted(found.items())}


def find_case(case_id: str) -> Case | None:
    return next((case for cases in cases_by_language().values() for case in cases if case.id == case_id), None)
