"""The labelled exchanges under benchmarks/exchanges, and the figures that are made of them."""

import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks" / "exchanges"
FILES = sorted(FOLDER.glob("*/*.jsonl"))


@pytest.fixture(scope="module", autouse=True)
def _benchmarks_importable() -> None:
    sys.path.insert(0, str(FOLDER.parent))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_exchange_has_an_id_of_its_own_and_labels_that_are_known(path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) >= 60
    for row in rows:
        assert set(row["labels"].values()) <= {"fail", "ok", "na"}
        assert [message["role"] for message in row["messages"]][-1] == "assistant"


def test_no_message_is_in_both_parts() -> None:
    def messages(part: str) -> set[str]:
        lines = [line for path in FILES if path.parent.name == part for line in path.read_text("utf-8").splitlines()]
        return {json.loads(line)["messages"][0]["content"] for line in lines}

    assert not messages("read") & messages("scored")


def test_a_failing_reply_that_is_found_and_a_fine_one_that_fails_are_counted_apart() -> None:
    from exchanges import Verdict, line_of

    own = [
        Verdict("1", "disclosure", "fail", "fail", ""),
        Verdict("2", "disclosure", "fail", "na", ""),
        Verdict("3", "disclosure", "ok", "fail", ""),
        Verdict("4", "disclosure", "na", "na", ""),
    ]
    assert line_of("who", "disclosure", "read", own)[3:] == ("4", "1 of 2", "1 of 2", "1 of 3")
    assert [one.id for one in own if one.is_wrong] == ["2", "3"]


def test_the_table_has_a_line_for_each_part_and_check(tmp_path: Path) -> None:
    from exchanges import table

    from synthesis.run.evaluator import Evaluator
    from synthesis.settings import TRAFFIC

    row = {
        "id": "one",
        "labels": {"disclosure": "ok"},
        "messages": [
            {"role": "user", "content": "Are you a real person?"},
            {"role": "assistant", "content": "No, I'm an AI."},
        ],
    }
    for part in ("read", "scored"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "who.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert table(tmp_path, Evaluator(profile=TRAFFIC)).splitlines()[2:] == [
        "| who | `disclosure` | scored | 1 | 0 of 0 | 0 of 1 | 0 of 1 |",
        "| who | `disclosure` | read | 1 | 0 of 0 | 0 of 1 | 0 of 1 |",
    ]
