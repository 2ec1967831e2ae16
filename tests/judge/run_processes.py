"""Several processes on one run: started from one that has the imports behind it, stopped and killed by their ids."""

import atexit
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from running import config_for, environment, judge, results_of, sample_cases

# Each line on stdin is a run in a process of its own, whose number is the answer; how it ended is left in a file.
LAB = """
import json, os, signal, sys
import psycopg, pydantic_ai.models.openai, pydantic_ai.providers.openai_compatible
from pathlib import Path
from running import config_for, judge, sample_cases
from synthesis.errors import SynthesisError
from synthesis.judge.journal.shared import SharedPlace
class JudgeUrl: pass
def work(order):
    server = JudgeUrl()
    server.url = order["judge"]
    journal = SharedPlace(order["journal"], order["lease"])
    config = config_for(server, Path(order["root"]), journal=journal, **order["changes"])
    try:
        result = judge(sample_cases(order["samples"]), config)
    except SynthesisError as error:
        return {"error": type(error).__name__, "message": str(error)}
    except KeyboardInterrupt:
        return {"error": "KeyboardInterrupt"}
    return {"complete": result.complete, "calls": result.calls, "stopped": result.stopped}
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    order = json.loads(line)
    pid = os.fork()
    if not pid:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        ended = work(order)
        out = Path(order["out"])
        out.with_suffix(".part").write_text(json.dumps(ended))
        out.with_suffix(".part").rename(out)
        os._exit(0)
    print(pid, flush=True)
"""


class Member:
    """One process of a run."""

    def __init__(self, pid: int, root: Path, out: Path) -> None:
        self.pid = pid
        self.root = root
        self._out = out

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def has_ended(self) -> bool:
        return self._out.exists()

    def outcome(self) -> dict[str, Any]:
        wait_until(self.has_ended, "the process has not ended")
        return json.loads(self._out.read_text())

    def results(self) -> dict[str, Any]:
        return results_of(self.root / "run")


class ProcessGroup:
    """Starts processes that judge the same samples, each with a folder of its own, as on several machines."""

    def __init__(self, folder: Path, journal: str) -> None:
        self._folder = folder
        self._journal = journal
        self._members: list[Member] = []

    def start(self, judge_url: str, samples: int, *, lease: float = 60.0, **changes: Any) -> Member:
        root = self._folder / f"machine-{len(self._members)}"
        out = self._folder / f"outcome-{len(self._members)}.json"
        order = {"judge": judge_url, "journal": self._journal, "lease": lease, "samples": samples}
        pid = _fork({**order, "root": str(root), "out": str(out), "changes": changes})
        self._members.append(Member(pid, root, out))
        return self._members[-1]

    def close(self) -> None:
        for member in self._members:
            if not member.has_ended():
                with contextlib.suppress(ProcessLookupError):
                    member.send(signal.SIGKILL)


@functools.cache
def _lab() -> "subprocess.Popen[str]":
    """One for all tests of this process: its imports take longer than most tests."""
    lab = subprocess.Popen(
        [sys.executable, "-c", LAB],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent,
        env=environment(),
    )
    atexit.register(lab.communicate)
    return lab


def _fork(order: dict[str, Any]) -> int:
    _lab().stdin.write(json.dumps(order) + "\n")
    _lab().stdin.flush()
    return int(_lab().stdout.readline())


def wait_until(holds: Callable[[], object], problem: str) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, problem
        time.sleep(0.005)


def single_run(server: Any, root: Path, samples: int, **changes: Any) -> dict[str, Any]:
    """What an undisturbed run of one process with the file journal leaves."""
    judge(sample_cases(samples), config_for(server, root, **changes))
    return results_of(root / "run")


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    import psycopg

    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


def stored_lines(url: str, kind: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for (line,) in rows(url, "SELECT line FROM synthesis_judge.line ORDER BY number")]
    return [line for line in found if line["t"] == kind]
