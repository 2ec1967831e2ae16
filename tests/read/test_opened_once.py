"""A file is looked at once and read once, whatever it is and whichever options are given."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from synthesis.read.inputs import Input
from synthesis.run.files import evaluate_files
from synthesis.run.spec import RunSpec

_opened: Counter[str] = Counter()
_hooks: list[object] = []


def _count(event: str, args: tuple[object, ...]) -> None:
    if event == "open" and isinstance(args[0], str | bytes | Path):
        _opened[str(args[0])] += 1


@pytest.fixture
def counts() -> Counter[str]:
    """How often each path was opened in this process."""
    if not _hooks:  # a hook stays for as long as the process lives
        sys.addaudithook(_count)
        _hooks.append(_count)
    return _opened


EXCHANGE = {"user": "I feel stuck.", "assistant": "You decide what helps."}
CASE = {"id": "A-1", "checks": ["agency_language"], **EXCHANGE}
FILES = {
    "chat.jsonl": json.dumps(EXCHANGE),
    "cases.jsonl": json.dumps(CASE),
    "chat.csv": "user,assistant\nI feel stuck.,You decide what helps.\n",
    "chat.json": json.dumps([EXCHANGE]),
    "turns.jsonl": json.dumps({"chat": "c", **EXCHANGE}),
}


@pytest.mark.parametrize("name", FILES)
def test_a_one_line_file_is_opened_at_most_twice(tmp_path: Path, counts: Counter[str], name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name])
    counts.clear()
    columns = {"conversation": "chat"} if name == "turns.jsonl" else {}
    outcome = evaluate_files(RunSpec(inputs=(Input.of(path),), columns=columns))
    assert outcome.report.summary["cases"] == 1
    assert 1 <= counts[str(path)] <= 2
