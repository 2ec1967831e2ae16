"""`judge run` is killed at seeded moments and started again: nothing is lost, doubled, or paid for twice."""

import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign import judged_runs
from campaign.judge_server import Act, Answer, JudgeServer
from campaign.lab import JUDGE, Lab
from campaign.processes import wait_until
from campaign.tally import Attempt, Budget, Kind, Setting, expect

SAMPLES = 40
CONCURRENCY = 4
INTERRUPTED = 130


async def _busy(answer: Answer) -> bool:
    return await answer.send(b'{"error": {"message": "later"}}', 429, "retry-after: 0")


FAULTS: dict[str, list[Act]] = {"sample-3": [_busy], "sample-11": [_busy], "sample-24": [_busy, _busy]}


class _Series:
    """One run that is interrupted several times, with the judge that counts its calls."""

    def __init__(self, lab: Lab, test_set: Path, folder: Path, server: JudgeServer) -> None:
        self._lab = lab
        self._command = judged_runs.command(server, test_set, "--concurrency", CONCURRENCY)
        self._folder = folder
        self._server = server
        self.allowed = SAMPLES + sum(map(len, FAULTS.values()))  # calls

    def interrupt(self, chance: random.Random) -> None:
        """Start it, let some calls pass, and send a signal."""
        safe, before = judged_runs.stored(self._folder / "run"), len(self._server.calls)
        number = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
        run = self._lab.start(self._folder, *self._command)
        wanted = before + chance.randint(1, min(12, max(1, SAMPLES - len(safe))))
        wait_until(lambda: len(self._server.calls) >= wanted, 20)
        time.sleep(chance.random() * 0.03)
        run.kill(number)
        ended = run.wait()
        again = set(safe) & set(self._server.calls[before:])
        expect(not again, f"asked again for verdicts that were stored: {sorted(again)[:3]}")
        if number == signal.SIGKILL:
            self.allowed += CONCURRENCY
        else:
            # The first signal waits for the calls that are under way and stores them: none is paid for twice.
            expect(ended.code in (0, INTERRUPTED), f"{number.name} ends with {ended.code}: {ended.text[-200:]!r}")

    def finish(self) -> None:
        ended = self._lab.start(self._folder, *self._command).wait()
        expect(ended.code == 0, f"the last run ends with {ended.code}: {ended.text[-300:]!r}")
        sent = len(self._server.calls)
        expect(sent <= self.allowed, f"{sent} calls were sent, at most {self.allowed} are accounted for")


@contextmanager
def prepare(setting: Setting) -> Iterator[Attempt]:
    test_set = judged_runs.write_set(setting.folder / "set.json", SAMPLES)
    with Lab.opened(*JUDGE) as lab:
        undisturbed = setting.folder / "whole"
        undisturbed.mkdir()
        with JudgeServer(FAULTS) as server:
            _Series(lab, test_set, undisturbed, server).finish()
        whole = judged_runs.results(undisturbed / "run")

        def attempt(chance: random.Random, number: int, folder: Path) -> None:  # noqa: ARG001
            with JudgeServer(FAULTS, delay=0.01) as server:
                series = _Series(lab, test_set, folder, server)
                for _ in range(chance.randint(1, 5)):
                    series.interrupt(chance)
                series.finish()
            judged_runs.expect_each_once(judged_runs.stored(folder / "run"), SAMPLES)
            judged_runs.expect_same(judged_runs.results(folder / "run"), whole)

        yield attempt


KIND = Kind(
    "judge-kills",
    "`judge run` interrupted 1 to 5 times (SIGKILL, SIGTERM, SIGINT), then finished",
    prepare,
    quick=Budget(60, 150),
    full=Budget(400, 2400),
)
