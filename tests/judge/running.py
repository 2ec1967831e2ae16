"""Runs for the tests: samples that the scripted server knows, quick retries, the command as a process."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from synthesis.judge.calls import Patience
from synthesis.judge.model import TestCase
from synthesis.judge.run import EvaluationConfig, EvaluationResult, run_evaluation

KEY = "sk-a-key-that-must-never-be-written-down"
QUICK = Patience(first_wait=0.01)


def sample_case(number: int, answer: str = "The ferry leaves at nine.") -> TestCase:
    return TestCase(
        f"log-{number}", f"When does the ferry leave, sample-{number}?", answer, ("The ferry leaves at nine.",)
    )


def sample_cases(count: int) -> list[TestCase]:
    return [sample_case(number) for number in range(count)]


def config_for(server: Any, root: Path, **changes: Any) -> EvaluationConfig:
    settings: dict[str, Any] = {
        "output_dir": "run",
        "root": root,
        "judge_provider": "openai",
        "judge_model": "gpt-4o-mini",
        "base_url": server.url,
        "patience": QUICK,
        "seed": 7,
        "timeout": 10.0,
    }
    return EvaluationConfig(**{**settings, **changes})


def judge(cases: list[TestCase], config: EvaluationConfig) -> EvaluationResult:
    os.environ["OPENAI_API_KEY"] = KEY
    return asyncio.run(run_evaluation(cases, config))


def write_set(path: Path, cases: list[TestCase]) -> Path:
    path.write_text(
        json.dumps(
            [
                {
                    "queryLogId": case.query_log_id,
                    "question": case.question,
                    "answer": case.answer,
                    "context": list(case.context),
                }
                for case in cases
            ]
        )
    )
    return path


def synthesis(*args: object, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*args), cwd=cwd, capture_output=True, text=True, env=environment(), **options)


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "synthesis", *(str(arg) for arg in args)]


def environment(**extra: str) -> dict[str, str]:
    return {**os.environ, "OPENAI_API_KEY": KEY, **extra}


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def files_under(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def without_times(value: Any) -> Any:
    """A result file without what may differ between an interrupted run and another."""
    free = {"timestamp", "lastUpdated", "completedAt", "failedAt", "startedAt", "unaccountedCalls"}
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in free}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def results_of(folder: Path) -> dict[str, Any]:
    """All result files of a run folder by their relative path."""
    paths = [path for path in files_under(folder) if path.suffix == ".json"]
    return {str(path.relative_to(folder)): without_times(read(path)) for path in paths}


def wait_until(holds: Callable[[], object], problem: str) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, problem
        time.sleep(0.005)
