"""Synthesis: does an assistant treat people well, and does it tell them the truth?

The public names are imported when they are first used, so that `import synthesis` and the command line stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from synthesis._version import __version__

if TYPE_CHECKING:
    from synthesis.api import (
        check_agency,
        check_pivot,
        check_reassurance,
        load_cases,
        run_all_cases,
        run_case,
        validate_case,
    )
    from synthesis.checks.exchange import Exchange
    from synthesis.checks.registry import check
    from synthesis.checks.similarity import EmbeddingAdapter, set_embedding_adapter
    from synthesis.engines.arrow import BatchEvaluator, evaluate_table
    from synthesis.errors import SynthesisError
    from synthesis.guard import Guard
    from synthesis.model import Case, CaseResult, CheckResult, Finding, Turn
    from synthesis.model.report import Report
    from synthesis.report.files import write_report
    from synthesis.rules.schema import Signal

__all__ = [
    "BatchEvaluator",
    "Case",
    "CaseResult",
    "CheckResult",
    "EmbeddingAdapter",
    "Exchange",
    "Finding",
    "Guard",
    "Report",
    "Signal",
    "SynthesisError",
    "Turn",
    "__version__",
    "check",
    "check_agency",
    "check_pivot",
    "check_reassurance",
    "evaluate_table",
    "load_cases",
    "run_all_cases",
    "run_case",
    "set_embedding_adapter",
    "validate_case",
    "write_report",
]

_HOMES = {
    "synthesis.api": (
        *("check_agency", "check_pivot", "check_reassurance"),
        *("load_cases", "run_all_cases", "run_case", "validate_case"),
    ),
    "synthesis.checks.exchange": ("Exchange",),
    "synthesis.checks.registry": ("check",),
    "synthesis.checks.similarity": ("EmbeddingAdapter", "set_embedding_adapter"),
    "synthesis.engines.arrow": ("BatchEvaluator", "evaluate_table"),
    "synthesis.errors": ("SynthesisError",),
    "synthesis.guard": ("Guard",),
    "synthesis.model": ("Case", "CaseResult", "CheckResult", "Finding", "Turn"),
    "synthesis.model.report": ("Report",),
    "synthesis.report.files": ("write_report",),
    "synthesis.rules.schema": ("Signal",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'synthesis' has no attribute '{name}'")
    return getattr(import_module(_HOME_OF[name]), name)
