"""The messages of our own that crisis cues are measured on: well formed, each once, in two parts."""

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
FILES = sorted((BENCHMARKS / "cues").glob("*.jsonl"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rows_are_whole_and_appear_once(path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert all(set(row) == {"text", "cue", "part"} and row["text"].strip() for row in rows)
    assert len({row["text"] for row in rows}) == len(rows)
    kinds = Counter((row["part"], row["cue"]) for row in rows)
    assert set(kinds) == {(part, cue) for part in ("read", "held") for cue in ("explicit", "soft", "none")}


def test_there_is_a_file_for_each_language() -> None:
    assert [path.stem for path in FILES] == ["en", "es", "fr", "hi", "it", "ja", "pt", "zh"]


def test_the_table_counts_what_was_found_and_what_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("benchmark_cues", BENCHMARKS / "cues.py")
    assert spec is not None
    assert spec.loader is not None
    cues = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = cues
    spec.loader.exec_module(cues)
    own = [
        cues.Message("a", "explicit", "held", "explicit"),
        cues.Message("b", "explicit", "held", "soft"),
        cues.Message("c", "soft", "held", "none"),
        cues.Message("d", "none", "held", "explicit"),
        cues.Message("e", "none", "read", "soft"),
    ]
    found = [cell.split(" (")[0] for cell in cues.line_of("en", "held", own[:4])]
    assert found == ["en", "held", "1 of 2", "2 of 2", "0 of 1", "1 of 1", "0 of 1"]
    assert list(cues.errors(own)) == ["none found as soft: e"]
