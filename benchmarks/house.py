"""How large the house is: modules, lines, files that one reply passes through, and Python calls that it takes.

python benchmarks/house.py        counts, not times: the same on every machine
"""

import contextlib
import io
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import synthesis
from synthesis.cli.main import main as command

PACKAGE = Path(synthesis.__file__).parent
SAD = ("My husband left me last week and I cannot sleep.", "That sounds so painful. What are the nights like for you?")
PLAIN = (
    "How do I boil eggs? I bought them last week.",
    "Put them in cold water, bring it to the boil, wait 7 minutes.",
)
REPLIES = 200  # of the longer log: calls that every run makes are taken off


class Calls:
    """Python functions of the package that are called, by file."""

    def __init__(self) -> None:
        self.by_file: Counter[str] = Counter()

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            self.by_file[frame.f_code.co_filename] += 1


@contextlib.contextmanager
def counted() -> Iterator[Calls]:
    calls = Calls()
    sys.setprofile(calls)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def log_of(exchange: tuple[str, str], replies: int) -> str:
    """Distinct exchanges, since a message that was seen before could be cached."""
    user, reply = exchange
    rows = [{"user": user.replace("last week", f"{number} days ago"), "assistant": reply} for number in range(replies)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def calls_of(exchange: tuple[str, str], replies: int) -> Counter[str]:
    """Calls of `synthesis eval chat.jsonl --checks all` in this process, on distinct replies."""
    with TemporaryDirectory() as folder:
        log = Path(folder, "chat.jsonl")
        log.write_text(log_of(exchange, replies), encoding="utf-8")
        arguments = ["eval", str(log), "--checks", "all", "--workers", "1", "--out", str(Path(folder, "report.json"))]
        with contextlib.redirect_stdout(io.StringIO()), counted() as calls, contextlib.suppress(SystemExit):
            command(arguments)
        return calls.by_file


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def calls_per_reply(exchange: tuple[str, str]) -> float:
    many, one = calls_of(exchange, REPLIES), calls_of(exchange, 1)
    return (sum(many.values()) - sum(one.values())) / (REPLIES - 1)


def main() -> None:
    calls_of(SAD, 1)  # packs are prepared and modules imported: what remains is the reply's own
    lines = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in modules())
    print(f"modules                                {len(lines):7,}")
    print(f"lines                                  {sum(lines):7,}  median {lines[len(lines) // 2]}")
    print(f"files visited by a run of one reply    {len(calls_of(SAD, 1)):7,}")
    print(f"Python calls for each further reply    {calls_per_reply(SAD):7.0f}  somebody in distress")
    print(f"                                       {calls_per_reply(PLAIN):7.0f}  a plain question")


if __name__ == "__main__":
    main()
