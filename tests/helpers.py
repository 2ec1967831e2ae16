"""What several tests need: cases in short, case files, and the command line in this process."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest

from synthesis.cli.main import call, main
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


def every_command(command: click.Command = main, path: str = "") -> dict[str, click.Command]:
    """`judge run` -> the command, for all that are not groups of others."""
    if not isinstance(command, click.Group):
        return {path.strip(): command}
    context, found = click.Context(command), {}
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        found |= every_command(below, f"{path} {name}")
    return found


def options(command: click.Command) -> list[click.Option]:
    """Those that help shows."""
    return [option for option in command.params if isinstance(option, click.Option) and not option.hidden]


def long_name(option: click.Option) -> str:
    return next(name for name in option.opts if name.startswith("--"))
