"""`eval` and `--out-table` are interrupted at seeded moments: earlier files stay whole, and the next run mends all."""

import hashlib
import json
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from campaign.processes import completed, started, strays, wait_until
from campaign.tally import Attempt, Budget, Kind, Setting, expect
from synthesis.io import CASES

INTERRUPTED = 130
END = 2.0  # seconds in which an interrupted run must end
SLACK = 4.0  # seconds more, since other kinds keep the machine busy
PREVIOUS = '{"an": "earlier report"}\n'
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM]


def _cases(path: Path, count: int) -> Path:
    """The bundled cases over and over, each time with other ids."""
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            row = rows[number % len(rows)]
            file.write(json.dumps({**row, "id": f"CASE-{number}"}) + "\n")
    return path


def _log(path: Path, count: int) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    replies = ("You should just relax.", "Would you like to tell me more?", "Everything will work out, I promise.")
    rows = [
        {"prompt": "I lost my job and I feel awful.", "reply": f"{replies[number % 3]} Number {number}."}
        for number in range(count)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=200)
    return path


def _content(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@contextmanager
def prepare(setting: Setting, *, table: bool) -> Iterator[Attempt]:
    source = _log(setting.folder / "log.parquet", 3000) if table else _cases(setting.folder / "cases.jsonl", 3000)
    output = ["--out-table", "out/table", "--map", "user=prompt,assistant=reply"] if table else []
    output += [] if table else ["--results", "out/results.jsonl.gz", "--format", "csv"]
    command = ["--cases", "input" + source.suffix, "--fail-on", "999999", *output]
    whole = setting.folder / "whole"
    (whole / "out").mkdir(parents=True)
    (whole / command[1]).symlink_to(source)
    began = time.monotonic()
    completed(whole, *command, "--workers", 2)
    seconds, expected = time.monotonic() - began, _content(whole / "out")

    def attempt(chance: random.Random, number: int, folder: Path) -> None:  # noqa: ARG001
        (folder / "out").mkdir()
        (folder / command[1]).symlink_to(source)
        (folder / "out/report.json").write_text(PREVIOUS)
        for _ in range(chance.randint(1, 2)):
            _interrupt(chance, folder, command, seconds)
            report = (folder / "out/report.json").read_bytes()
            finished = hashlib.sha256(report).hexdigest() == expected["report.json"]
            expect(report.decode() == PREVIOUS or finished, "the earlier report is neither whole nor replaced")
        completed(folder, *command, "--workers", chance.randint(1, 2))
        expect(not strays(folder), f"strays after the next run: {strays(folder)[:3]}")
        different = {name for name, _ in _content(folder / "out").items() ^ expected.items()}
        expect(not different, f"differs from an undisturbed run: {sorted(different)[:3]}")

    yield attempt


def _interrupt(chance: random.Random, folder: Path, command: list[str], seconds: float) -> None:
    """One run with a signal at a seeded moment; a worker must not outlive it."""
    with started(folder, *command, "--workers", chance.randint(1, 3)) as run:
        time.sleep(chance.random() * seconds)
        number = chance.choice(SIGNALS)
        was_running = run.send(number)
        code = run.wait(END + SLACK)
        expect(wait_until(lambda: not run.family(), END + SLACK), f"{number.name}: workers outlive their parent")
        if was_running and number != signal.SIGKILL:
            _expect_polite_end(code, run.err, number)


def _expect_polite_end(code: int, said: str, number: signal.Signals) -> None:
    """130 and a word about it; a signal in the first moments, before the command runs, may end it by itself."""
    by_itself = code == -number and not said
    late = code in (0, 2, 3)
    expect(code == INTERRUPTED or by_itself or late, f"{number.name} ends with {code}: {said[-200:]!r}")
    expect(code != INTERRUPTED or said.strip(), f"{number.name}: ends without a word")


EVAL = Kind(
    "eval-kills",
    "`eval` with 1 to 3 workers interrupted once or twice, then run to the end",
    partial(prepare, table=False),
    quick=Budget(24, 130),
    full=Budget(200, 2400),
)
TABLE = Kind(
    "table-kills",
    "`eval --out-table` interrupted once or twice, then resumed",
    partial(prepare, table=True),
    quick=Budget(20, 130),
    full=Budget(200, 2400),
)
