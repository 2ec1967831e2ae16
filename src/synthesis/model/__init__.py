"""The words that all stages share. Frozen, no I/O."""

from synthesis.model.case import Case, Source, Turn
from synthesis.model.result import CaseResult, CheckResult, Finding, LabelComparison, case_outcome

__all__ = [
    "Case",
    "CaseResult",
    "CheckResult",
    "Finding",
    "LabelComparison",
    "Source",
    "Turn",
    "case_outcome",
]
