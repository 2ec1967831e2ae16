"""Logs as they lie in a data lake, for the tests of tables and engines."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

MAP = "user=prompt,assistant=reply,id=conversation"
_PROMPTS = ("I lost my job and I feel awful.", "My sister stopped talking to me.", "What is the capital of Peru?")
_REPLIES = (
    "I'm so sorry, that sounds really hard. Would you like to tell me what happened?",
    "You should just try to relax and move on.",
    "Anyway, have you thought about a new hobby? I promise everything will work out.",
    "Lima.",
)


def rows(count: int, bad: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Conversations; those whose number is among the bad have an empty reply."""
    return [
        {
            "conversation": f"c-{number:05}",
            "prompt": _PROMPTS[number % 3],
            "reply": "" if number in bad else f"{_REPLIES[number % 4]} Number {number}.",
            "model": f"m{number % 2}",
        }
        for number in range(count)
    ]


def write_parquet(path: Path, content: list[dict[str, Any]], group: int = 20) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(content), path, row_group_size=group)
    return path


def write_lake(folder: Path, count: int = 90, bad: Sequence[int] = (7, 61), group: int = 20) -> str:
    """Two days of logs; the pattern that finds them."""
    content = rows(count, bad)
    for day, part in enumerate((content[: count // 3], content[count // 3 :]), start=1):
        write_parquet(folder / "logs" / f"date=2026-01-0{day}" / "chats.parquet", part, group)
    return "logs/*/*.parquet"


def read_verdicts(folder: Path) -> list[dict[str, Any]]:
    """The rows of a table, in the order of the input."""
    table = pyarrow.dataset.dataset(folder, partitioning="hive").to_table()
    found: list[dict[str, Any]] = table.to_pylist()
    return sorted(found, key=lambda row: (row["source_file"], row["source_line"]))


def content_of(folder: Path) -> dict[str, str]:
    """Every file below a folder with the hash of its bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
