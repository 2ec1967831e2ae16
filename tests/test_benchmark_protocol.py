"""The laws behind the figures: the split, the intervals, the base of a rate, and the log of looks."""

import hashlib
import importlib.util
import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from helpers import write_jsonl
from hypothesis import given
from hypothesis import strategies as st

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


protocol = load("protocol")
TOLD = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def split_as_agreed(row: dict[str, Any]) -> str:
    """The split as it is written down beside the data: the two must never part."""
    group = row.get("group") or row.get("conversation") or re.sub(r"\W+", "", row["user"].lower())
    return "read" if int(hashlib.sha256(group.encode()).hexdigest(), 16) % 3 == 0 else "scored"


@given(
    st.fixed_dictionaries({"user": st.text()}, optional={"group": st.text(), "conversation": st.text()}),
)
def test_the_split_is_the_agreed_one(row: dict[str, Any]) -> None:
    assert protocol.part_of(row) == split_as_agreed(row)


def test_the_split_never_changes() -> None:
    parts = [protocol.part_of({"group": str(number)}) for number in range(12)]
    assert [number for number, part in enumerate(parts) if part == "read"] == [0, 1, 2, 4, 11]


def test_rows_that_belong_together_stay_together() -> None:
    assert protocol.group_of({"user": "I can't sleep!"}) == protocol.group_of({"user": "i can't   sleep"})
    assert protocol.group_of({"context": ["A fact.", "Another."]}) == protocol.group_of({"context": "A fact. Another."})


def test_a_third_is_read() -> None:
    read = sum(protocol.part_of({"group": f"group {number}"}) == "read" for number in range(3000))
    assert 900 < read < 1100


@given(st.integers(0, 400), st.integers(0, 400), st.integers(1, 300))
def test_an_interval_holds_its_rate(hits: int, others: int, base: int) -> None:
    share = protocol.Share(hits, hits + others, base)
    low, high = share.interval
    assert 0 <= low <= high <= 1
    if share.total:
        assert low - 1e-9 <= hits / share.total <= high + 1e-9


def test_below_its_base_a_share_is_a_count() -> None:
    assert str(protocol.Share(9, 12, 100)) == "9 of 12 (0.428-0.945)"
    assert str(protocol.Share(90, 100, 100)).startswith("0.900 (")
    assert str(protocol.Share(0, 0, 100)) == "-"


@pytest.mark.parametrize(
    ("table", "recall", "precision", "false_alarms"),
    [
        ((100, 0, 0, 300), True, True, True),
        ((99, 0, 0, 300), False, False, True),
        ((50, 50, 50, 249), True, True, False),
    ],
)
def test_each_rate_needs_its_own_base(table: Any, recall: bool, precision: bool, false_alarms: bool) -> None:
    confusion = protocol.Confusion(*table)
    assert confusion.recall.is_rate is recall
    assert confusion.precision.is_rate is precision
    assert confusion.false_alarms.is_rate is false_alarms
    assert (confusion.balanced_accuracy is not None) is (recall and false_alarms)


def test_sets_that_were_read_stay_read() -> None:
    assert protocol.was_read("verdicts", "T1_ACK")
    assert protocol.was_read("safety", "S3_PRESSURE")
    assert protocol.was_read("faithfulness", "qags_dev")
    assert not protocol.was_read("faithfulness", "wice_dev")
    assert not protocol.was_read("crisis", "C1_CHAT")


def test_a_look_is_logged_without_texts(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    for rows in (3, 4):
        protocol.log_look(log, TOLD, sets=["C1_CHAT"], profiles=["one"], rows=rows)
    first, second = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    assert first == second | {"rows": 3}
    assert first.keys() == {"date", "revision", "sets", "profiles", "rows"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Made-up rows: some of either part, one family that was read and one that is scored."""
    (tmp_path / "crisis").mkdir()
    (tmp_path / "verdicts").mkdir()
    cues = [(f"I want to kill myself, {number}", 1) for number in range(6)]
    calm = [(f"The traffic was slow, {number}", 0) for number in range(6)]
    crisis = [{"id": user, "user": user, "gold": gold, "source": "made up"} for user, gold in cues + calm]
    write_jsonl(tmp_path / "crisis" / "C1_CHAT.jsonl", crisis)
    promise = {"user": "I failed.", "assistant": "I promise it will all work out.", "gold": 1}
    rows = [
        promise | {"id": str(number), "group": str(number), "source": f"source {number % 2}"} for number in range(8)
    ]
    write_jsonl(tmp_path / "verdicts" / "T7_REASSURE.jsonl", rows)
    return tmp_path


def quality(data: Path, *options: str) -> str:
    command = [sys.executable, BENCHMARKS / "quality.py", data, "--log", data / "looks.jsonl", *options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_command_prints_everything_and_logs_the_look(data: Path) -> None:
    printed = quality(data, "--out", str(data / "now.json"))
    assert "| T7_REASSURE | all | both | all | read | 8 | 8 | - | 8 of 8 (0.631-1.000) | - | - |" in printed
    assert "| T7_REASSURE | source 1 | both | all | read | 4 |" in printed
    assert re.search(r"\| C1_CHAT \| all \| both \| read \| read \|", printed)
    assert re.search(r"\| C1_CHAT \| all \| both \| scored \| scored \|", printed)
    assert "P2_SELF: not there: no file P2_SELF.jsonl" in printed
    look = json.loads((data / "looks.jsonl").read_text(encoding="utf-8"))
    assert look["sets"] == ["C1_CHAT"]
    assert "0 of" in quality(data, "--part", "read", "--against", str(data / "now.json")).rpartition("Compared")[2]


def test_the_part_that_may_be_read_needs_no_log(data: Path) -> None:
    rules = data / "rules.json"
    printed = quality(data, "--part", "read", "--rules", str(rules), "--errors", "1")
    assert "scored" not in printed
    assert not (data / "looks.jsonl").exists()
    assert all(right <= fired for fired, right in json.loads(rules.read_text(encoding="utf-8"))["en"].values())
