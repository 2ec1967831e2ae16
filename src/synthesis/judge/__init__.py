"""Judged evaluation of generated answers. `await run_evaluation(cases, config)` is the whole of it; every
stage is usable alone. Names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synthesis.judge.calibration import calibrate, load_labels
    from synthesis.judge.clients import Judge, JudgeSettings, create_judge
    from synthesis.judge.journal import read_ledger
    from synthesis.judge.metrics import failure_analysis, iteration_metrics
    from synthesis.judge.model import Rubric, TestCase, Verdict
    from synthesis.judge.offline import OfflineJudge
    from synthesis.judge.records import make_record
    from synthesis.judge.results import Results, derive, write_results
    from synthesis.judge.rubric import load_rubric
    from synthesis.judge.run import (
        Estimate,
        EvaluationConfig,
        EvaluationResult,
        Progress,
        estimate_evaluation,
        run_evaluation,
    )
    from synthesis.judge.testset import join_files, load_test_set

_HOMES = {
    "Estimate": "run",
    "EvaluationConfig": "run",
    "EvaluationResult": "run",
    "Judge": "clients",
    "JudgeSettings": "clients",
    "OfflineJudge": "offline",
    "Progress": "run",
    "Results": "results",
    "Rubric": "model",
    "TestCase": "model",
    "Verdict": "model",
    "calibrate": "calibration",
    "create_judge": "clients",
    "derive": "results",
    "estimate_evaluation": "run",
    "failure_analysis": "metrics",
    "iteration_metrics": "metrics",
    "join_files": "testset",
    "load_labels": "calibration",
    "load_rubric": "rubric",
    "load_test_set": "testset",
    "make_record": "records",
    "read_ledger": "journal",
    "run_evaluation": "run",
    "write_results": "results",
}

__all__ = [
    "Estimate",
    "EvaluationConfig",
    "EvaluationResult",
    "Judge",
    "JudgeSettings",
    "OfflineJudge",
    "Progress",
    "Results",
    "Rubric",
    "TestCase",
    "Verdict",
    "calibrate",
    "create_judge",
    "derive",
    "estimate_evaluation",
    "failure_analysis",
    "iteration_metrics",
    "join_files",
    "load_labels",
    "load_rubric",
    "load_test_set",
    "make_record",
    "read_ledger",
    "run_evaluation",
    "write_results",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
