"""Both readers on real messages, where the labelled data is at hand; only rows that anyone may read."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from both_readers import BothReaders, needs_library

from synthesis.checks import rules_in_force
from synthesis.rules.reading import Message

ROOT = Path(__file__).parent.parent.parent
NAMED = os.environ.get("SYNTHESIS_LABELLED_DATA")  # a folder as benchmarks/quality.py takes it
DATA = Path(NAMED) if NAMED else None
BATCH = 200


def texts() -> Iterator[Message]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from protocol import READ, part_of  # type: ignore[import-not-found]

    assert DATA is not None
    for path in sorted(DATA.glob("*/*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if isinstance(row.get("user"), str) and part_of(row) == READ:
                yield Message(row["user"], "user")
                if isinstance(row.get("assistant"), str):
                    yield Message(row["assistant"], "assistant")


@pytest.mark.slow
@needs_library
@pytest.mark.skipif(DATA is None, reason="SYNTHESIS_LABELLED_DATA names no folder")
def test_on_real_messages() -> None:
    both = BothReaders(rules_in_force())
    messages = list(texts())
    for start in range(0, len(messages), BATCH):
        part = messages[start : start + BATCH]
        both.read(part)
        both.languages([[message.text for message in part[at : at + 2]] for at in range(0, len(part), 2)])
    assert len(messages) > 1000
