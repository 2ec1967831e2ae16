"""Synthesis: does an assistant treat people well, and does it tell them the truth?

The public names are imported when they are first used, so that `import synthesis` and the command line stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from synthesis._version import __version__

if TYPE_CHECKING:
    from synthesis.api import (
        check_agency,
        check_clinical,
        check_crisis,
        check_disclosure,
        check_flattery,
        check_identity,
        check_pivot,
        check_pressure,
        check_reassurance,
        evaluate,
        evaluate_chat,
        evaluate_conversation,
        evaluate_files,
        load_cases,
        run_all_cases,
        run_case,
        validate_case,
    )
    from synthesis.chats import SpeakerQuestion
    from synthesis.checks.exchange import Exchange
    from synthesis.checks.registry import check
    from synthesis.checks.similarity import EmbeddingAdapter, set_embedding_adapter
    from synthesis.errors import (
        CaseError,
        DamagedRunError,
        HistoryError,
        InputError,
        JudgeError,
        LanguageError,
        MissingExtraError,
        NotInHistoryError,
        OptionError,
        OutputError,
        RuleError,
        RunFolderError,
        SchemaError,
        SettingsError,
        SimilarityError,
        SynthesisError,
        TestSetError,
        WeightsError,
    )
    from synthesis.guard import Guard
    from synthesis.model import Case, CaseResult, CheckResult, Finding, Turn
    from synthesis.model.report import Failure, Report
    from synthesis.report.stored import write_report
    from synthesis.rules.schema import Signal
    from synthesis.run.spec import RunSpec
    from synthesis.run.table import BatchEvaluator, evaluate_table
    from synthesis.verdict import ReplyEvaluator, Verdict

__all__ = [
    "BatchEvaluator",
    "Case",
    "CaseError",
    "CaseResult",
    "CheckResult",
    "DamagedRunError",
    "EmbeddingAdapter",
    "Exchange",
    "Failure",
    "Finding",
    "Guard",
    "HistoryError",
    "InputError",
    "JudgeError",
    "LanguageError",
    "MissingExtraError",
    "NotInHistoryError",
    "OptionError",
    "OutputError",
    "ReplyEvaluator",
    "Report",
    "RuleError",
    "RunFolderError",
    "RunSpec",
    "SchemaError",
    "SettingsError",
    "Signal",
    "SimilarityError",
    "SpeakerQuestion",
    "SynthesisError",
    "TestSetError",
    "Turn",
    "Verdict",
    "WeightsError",
    "__version__",
    "check",
    "check_agency",
    "check_clinical",
    "check_crisis",
    "check_disclosure",
    "check_flattery",
    "check_identity",
    "check_pivot",
    "check_pressure",
    "check_reassurance",
    "evaluate",
    "evaluate_chat",
    "evaluate_conversation",
    "evaluate_files",
    "evaluate_table",
    "load_cases",
    "run_all_cases",
    "run_case",
    "set_embedding_adapter",
    "validate_case",
    "write_report",
]

_HOMES = {
    "synthesis.chats": ("SpeakerQuestion",),
    "synthesis.checks.exchange": ("Exchange",),
    "synthesis.checks.registry": ("check",),
    "synthesis.checks.similarity": ("EmbeddingAdapter", "set_embedding_adapter"),
    "synthesis.guard": ("Guard",),
    "synthesis.model": ("Case", "CaseResult", "CheckResult", "Finding", "Turn"),
    "synthesis.model.report": ("Failure", "Report"),
    "synthesis.report.stored": ("write_report",),
    "synthesis.rules.schema": ("Signal",),
    "synthesis.run.table": ("BatchEvaluator", "evaluate_table"),
    "synthesis.run.spec": ("RunSpec",),
    "synthesis.verdict": ("ReplyEvaluator", "Verdict"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def _home_of(name: str) -> str:
    """The module of a public name; the many errors and functions share two."""
    return _HOME_OF.get(name) or ("synthesis.errors" if name.endswith("Error") else "synthesis.api")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'synthesis' has no attribute '{name}'")
    return getattr(import_module(_home_of(name)), name)


def __dir__() -> list[str]:
    return __all__
