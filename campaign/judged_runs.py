"""Judged runs for several kinds: the test set, the command, what a run folder holds, and how two are compared."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from campaign.judge_server import JudgeServer
from campaign.tally import expect

FREE = {"timestamp", "lastUpdated", "completedAt", "failedAt", "startedAt", "unaccountedCalls"}  # differ between runs


def write_set(path: Path, samples: int) -> Path:
    """Samples that the judge on loopback recognises."""
    rows = [
        {
            "queryLogId": f"log-{number}",
            "question": f"When does the ferry leave, sample-{number}?",
            "answer": "The ferry leaves at nine.",
            "context": ["A timetable."],
        }
        for number in range(samples)
    ]
    path.write_text(json.dumps(rows))
    return path


def command(server: JudgeServer, test_set: Path, *more: object) -> list[object]:
    """The arguments of `synthesis` for a run called `run` in the current folder."""
    judge = ["--judge-provider", "openai", "--judge-model", "gpt-4o-mini", "--base-url", server.url]
    return ["judge", "run", test_set, *judge, "--root", ".", "--output-dir", "run", "--timeout", "10", *more]


def stored(folder: Path) -> Counter[str]:
    """How many verdicts the journal of a run folder holds of each sample."""
    path = folder / "journal.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return Counter(
        json.loads(line)["record"]["question"].split()[-1].rstrip("?") for line in lines if b'"t":"verdict"' in line
    )


def results(folder: Path) -> dict[str, Any]:
    """All result files of a run by name, without what may differ between an interrupted run and another."""
    paths = sorted(path for path in folder.rglob("*.json") if path.is_file())
    return {str(path.relative_to(folder)): _same_each_time(json.loads(path.read_text())) for path in paths}


def expect_same(found: dict[str, Any], whole: dict[str, Any]) -> None:
    """Broken with the name of the first file that differs from an undisturbed run's."""
    missing = sorted(set(whole) ^ set(found))
    expect(not missing, f"result files differ: {missing[:3]}")
    different = [name for name in whole if found[name] != whole[name]]
    expect(not different, f"differs from an undisturbed run: {different[:3]}")


def expect_each_once(verdicts: Counter[str], samples: int) -> None:
    doubled = [sample for sample, count in verdicts.items() if count > 1]
    expect(not doubled, f"doubled verdicts: {doubled[:5]}")
    expect(len(verdicts) == samples, f"{samples - len(verdicts)} verdicts are lost")


def _same_each_time(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _same_each_time(item) for key, item in value.items() if key not in FREE}
    return [_same_each_time(item) for item in value] if isinstance(value, list) else value
