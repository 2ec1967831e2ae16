"""One process that has the imports behind it and forks a run for each order: a try then takes milliseconds to start.

Orders and answers are lines of JSON. A run is the command line itself, in a process group of its own, with limits on
memory and processor time; it leaves by the interpreter's own way out, as a real one does.
"""

import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign.processes import environment, refuse_tracebacks
from campaign.tally import Broken

JUDGE = ("synthesis.cli.judge", "pydantic_ai.models.openai", "pydantic_ai.providers.openai_compatible", "psycopg")
EVALUATION = ("synthesis.cli.evaluate", "synthesis.api", "pyarrow.parquet", "zstandard")
LIMIT = 4 << 30  # of address space: stops a run before it harms the machine, far above what is allowed


@dataclass(frozen=True)
class Ended:
    """How a forked run ended: its exit code (negative: the signal), its highest memory in MB, what it printed."""

    code: int
    megabytes: float
    text: str


class Forked:
    """A run that the lab has forked."""

    def __init__(self, lab: "Lab", pid: int, log: Path) -> None:
        self._lab = lab
        self.pid = pid
        self._log = log

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Signal it; one that has ended is still known to the lab, so its number cannot mean another process."""
        os.kill(self.pid, number)

    def wait(self, seconds: float = 90.0) -> Ended:
        """How it ended; Broken if it does not end in time or shows a traceback."""
        answer = self._lab.ask({"wait": self.pid, "seconds": seconds})
        text = self._log.read_text(encoding="utf-8", errors="replace")
        refuse_tracebacks(text)
        if answer["hung"]:
            raise Broken(f"had not ended after {seconds:g} s; it said: {text[-200:]!r}")
        return Ended(answer["code"], answer["kilobytes"] / 1024, text)


class Lab:
    """Starts forked runs: `with Lab.opened(*EVALUATION) as lab: lab.start(folder, "--cases", ...).wait()`."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "campaign.lab", *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
            env=environment(),
        )
        self._runs = 0

    @classmethod
    @contextmanager
    def opened(cls, *modules: str) -> Iterator["Lab"]:
        lab = cls(modules)
        try:
            yield lab
        finally:
            lab.close()

    def ask(self, order: dict[str, Any]) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def warm(self, *args: object) -> None:
        """Run `synthesis ARGS` in the lab itself, so that forked runs find rules and schemas loaded."""
        self.ask({"warm": [str(arg) for arg in args]})

    def start(self, folder: Path, *args: object, seconds: int = 120) -> Forked:
        """Fork `synthesis ARGS` in a folder, with so many seconds of processor time."""
        self._runs += 1
        log = folder.parent / f"{folder.name}.{self._runs}.log"
        order = {"args": [str(arg) for arg in args], "folder": str(folder), "log": str(log), "seconds": seconds}
        return Forked(self, int(self.ask(order)), log)

    def close(self) -> None:
        """The lab ends the runs that it has not been asked about, then itself."""
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()


def main(modules: list[str]) -> None:
    from synthesis.cli.main import call

    for module in modules:
        importlib.import_module(module)
    running: set[int] = set()
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            answer: Any = _waited(order["wait"], order["seconds"])
            running.discard(order["wait"])
        elif "warm" in order:
            answer = call([*order["warm"], "--quiet"])
        else:
            answer = os.fork()
            if not answer:
                _become(order)
                return
            running.add(answer)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    for pid in running:
        _end_group(pid)


def _become(order: dict[str, Any]) -> None:
    """The rest of this process is the run."""
    from synthesis.cli.main import run

    os.setpgid(0, 0)
    os.chdir(order["folder"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(order["log"], os.O_CREAT | os.O_RDWR, 0o600), 1)
    os.dup2(1, 2)
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    resource.setrlimit(resource.RLIMIT_CPU, (order["seconds"], order["seconds"] + 1))
    run(order["args"])


def _waited(pid: int, seconds: float) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            return {"hung": False, "code": os.waitstatus_to_exitcode(status), "kilobytes": usage.ru_maxrss}
        if time.monotonic() > deadline:
            _end_group(pid)
            return {"hung": True}
        time.sleep(0.002)


def _end_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return


if __name__ == "__main__":
    main(sys.argv[1:])
