"""What several tests need: cases in short, case files, and the command line in this process."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from synthesis.cli.main import call
from synthesis.model import Case
from synthesis.model.case import Turn

THREE = ("agency_language", "unverifiable_reassurance", "topic_pivot")


def case(
    assistant: str = "Would you like to talk about it?",
    user: str = "I lost my job and I feel awful.",
    *,
    id: str = "T-1",
    checks: Iterable[str] = THREE,
    **fields: Any,
) -> Case:
    if "messages" in fields:
        fields["messages"] = tuple(Turn(role, content) for role, content in fields["messages"])
        user = assistant = ""
    return Case(id=id, checks=tuple(checks), user=user, assistant=assistant, **fields)


def row(**changes: Any) -> dict[str, Any]:
    """A valid line of a case file."""
    return {
        "id": "T-1",
        "user": "I lost my job and I feel awful.",
        "assistant": "I'm sorry, that sounds really hard. Would you like to talk about what happened?",
        "checks": ["agency_language"],
        **changes,
    }


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any] | str]) -> Path:
    lines = (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


class CommandLine:
    """Runs `synthesis` in an empty folder and captures what it prints."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *args: str | Path) -> Outcome:
        self._capsys.readouterr()
        code = call([str(arg) for arg in args])
        printed = self._capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    def report(self, path: str = "out/report.json") -> Any:
        return json.loads((self.folder / path).read_text(encoding="utf-8"))
