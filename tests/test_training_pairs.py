"""What was written for training is well formed, and shares nothing with rows that measure."""

import json
from pathlib import Path

import pytest

from corpus.rows import CHECKS, READ, SCORED, SEALED, rows_in
from corpus.validate import (
    RUN,
    RUN_WITHOUT_SPACES,
    WITHOUT_SPACES,
    Text,
    fold,
    shared_runs,
    standard_sentences,
    texts_of,
)

PAIRS = Path(__file__).parent.parent / "training" / "pairs"
KINDS = (
    {"check", "user", "fail", "ok"},
    {"cue", "user"},
    {"cue", "kind", "user"},
    {"signal", "value", "assistant"},
    {"good", "user", "assistant"},
)
FILES = sorted(PAIRS.glob("*.jsonl"))


def rows_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_row_is_of_a_known_kind(path: Path) -> None:
    for number, row in enumerate(rows_of(path), 1):
        assert set(row) in KINDS, number
        assert row.get("check", CHECKS[0]) in CHECKS, number
        assert row.get("cue", "none") in ("explicit", "soft", "none"), number
        assert row.get("value", "yes") in ("yes", "no"), number
        assert all(value for value in row.values()), number


@pytest.mark.slow
def test_no_row_shares_a_run_with_a_row_that_measures() -> None:
    held = [(part, row) for part in (READ, SCORED, SEALED) for row in rows_in(part)]
    standard = standard_sentences()
    measuring = [text._replace(part="measures") for text in texts_of(held, standard)]
    trains = []
    for path in FILES:
        run = RUN_WITHOUT_SPACES if path.stem[:2] in WITHOUT_SPACES else RUN
        for number, row in enumerate(rows_of(path), 1):
            for name in {"user", "fail", "ok", "assistant"} & row.keys():
                words = fold(row[name])
                for sentence in standard:
                    words = words.replace(sentence, "\n")
                trains.append(Text(f"{path.stem}:{number}", "trains", run, words))
    assert list(shared_runs(trains + measuring)) == []
