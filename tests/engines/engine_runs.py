"""The same work on every engine; each in a process of its own, as a user would start it."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from helpers import row, write_jsonl

PROGRESS = re.compile(r"(?: so far| left)$")


class Run:
    """`synthesis eval` in a folder, on one engine after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def command(self, engine: str, *options: str) -> list[str]:
        return [sys.executable, "-m", "synthesis", "--engine", engine, "--workers", "2", "--fail-on", "99999", *options]

    def start(self, engine: str, *options: str) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        return subprocess.Popen(self.command(engine, *options), cwd=self.folder, stdout=pipe, stderr=pipe, text=True)

    def __call__(self, engine: str, *options: str) -> "subprocess.CompletedProcess[str]":
        return self._done(self.command(engine, *options))

    def audit(self, engine: str, *options: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "synthesis", "audit", "--engine", engine, "--workers", "2", *options]
        return self._done(command)

    def _done(self, command: list[str]) -> "subprocess.CompletedProcess[str]":
        """Without the lines of progress, which are as many as an engine takes tens of seconds to start."""
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        done.stderr = "".join(line for line in done.stderr.splitlines(True) if not PROGRESS.search(line))
        return done


def descendants(pid: int) -> Iterator[tuple[int, str]]:
    """The processes below one, with their command lines."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in _read(task).split():
            yield int(child), _read(Path(f"/proc/{child}/cmdline")).replace("\0", " ")
            yield from descendants(int(child))


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it has ended meanwhile
        return ""


def write_cases(path: Path, count: int) -> Path:
    """A case file of several blocks, with labels and negative examples; long notes make it large and quick."""
    lines = [
        row(
            id=f"T-{number}",
            assistant=f"{'You should just move on.' if number % 3 else 'Would you like to talk?'} Number {number}.",
            tags=["agency-fail"] if number % 3 else [],
            expected={"agency_language": number % 3 == 0},
            notes="long " * 600,
        )
        for number in range(count)
    ]
    return write_jsonl(path, lines)
