"""Documents as they looked when a person last read them; `UPDATE_SNAPSHOTS=1 pytest` writes them again."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "report" / "snapshots"


def assert_unchanged(name: str, text: str) -> None:
    path = FOLDER / name
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8", newline="")
    with path.open(encoding="utf-8", newline="") as file:
        assert text == file.read(), f"{name} has changed: read it, then run with UPDATE_SNAPSHOTS=1"
