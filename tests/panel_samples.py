"""A history with judged runs for a panel: two judges, one of them also on a changed set, and another rubric."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from saved_samples import SAMPLES

from synthesis.api import run_all_cases
from synthesis.history import Provenance, open_history
from synthesis.judge import EvaluationConfig, load_rubric, run_evaluation
from synthesis.judge.testset import parse_test_cases

HOSTILE = '"><script>alert(1)</script>'
VERDICTS = {
    "right": {"faithfulness": {"score": 5, "reasoning": "fine"}, "completeness": {"score": 4, "reasoning": "fine"}},
    "wrong <i>": {"faithfulness": {"score": 5, "reasoning": HOSTILE}, "completeness": {"score": 5, "reasoning": "ok"}},
}


def fill_panel(folder: Path) -> dict[str, str]:
    """The ids of what was saved in `history.db`, by what it is."""
    recording = folder / "mild.json"
    recording.write_text(json.dumps(VERDICTS))
    changed = [SAMPLES[0], {**SAMPLES[1], "answer": "There is none on Sundays."}]
    replay = {"judge_provider": "replay", "judge_model": str(recording)}
    runs = {
        "offline": _judged(folder, "offline"),
        "mild": _judged(folder, "mild", **replay),
        "changed": _judged(folder, "changed", changed, **replay),
        "course": _judged(folder, "course", rubric=load_rubric("course")),
    }
    with open_history(folder / "history.db") as history:
        ids = {
            name: history.add_judged(path, Provenance(with_text=True, name=f"{name} {HOSTILE}"))
            for name, path in runs.items()
        }
        ids["checks"] = history.add_report(run_all_cases([]), Provenance(name="checks"))
    return ids


def _judged(folder: Path, name: str, samples: list[dict[str, Any]] = SAMPLES, **settings: Any) -> Path:
    config = EvaluationConfig(output_dir=name, root=folder, **settings)
    work = run_evaluation(parse_test_cases(samples, "set.json"), config)
    with ThreadPoolExecutor(1) as beside:  # a browser's driver may have a loop in this thread
        beside.submit(asyncio.run, work).result()
    return folder / name
