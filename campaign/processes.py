"""The command line as a real process: started, signalled, waited for, and searched for what it left behind."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign.tally import Broken, expect

PATIENCE = 90.0  # seconds; a process that takes longer hangs
TRACEBACK = "Traceback (most recent call last)"
CACHE = "SYNTHESIS_CACHE"  # of prepared rule packs
MARK = "SYNTHESIS_CAMPAIGN_MARK"
KEY = "a-key-that-must-never-be-written-down"
STRAYS = ("*.part", "*.tmp", ".synthesis-*")


def environment(**extra: str) -> dict[str, str]:
    """Ours, with a key for the judge on loopback; without settings that would lead elsewhere."""
    ours = {name for name in os.environ if name.startswith("SYNTHESIS_") and name != CACHE}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, "OPENAI_API_KEY": KEY, "PYTHONFAULTHANDLER": "", **extra}


class Run:
    """`synthesis ARGS` in a process and a process group of its own; what it prints goes to files."""

    def __init__(self, folder: Path, *args: object) -> None:
        self.mark = uuid.uuid4().hex
        self._logs = [folder.parent / f"{folder.name}.{self.mark}.{stream}" for stream in ("out", "err")]
        with self._logs[0].open("wb") as out, self._logs[1].open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "synthesis", *map(str, args)],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment(**{MARK: self.mark}),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def out(self) -> str:
        return self._logs[0].read_text(encoding="utf-8", errors="replace")

    @property
    def err(self) -> str:
        return self._logs[1].read_text(encoding="utf-8", errors="replace")

    def send(self, number: signal.Signals) -> bool:
        """Signal the process itself, not its group; whether it was still there."""
        if self.process.poll() is not None:
            return False
        self.process.send_signal(number)
        return True

    def wait(self, seconds: float = PATIENCE) -> int:
        """The exit code; Broken if it does not end or prints a traceback."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Broken(f"had not ended after {seconds:g} s; it said: {self.err[-200:]!r}") from None
        refuse_tracebacks(self.out + self.err)
        return code

    def family(self) -> list[int]:
        """The processes of this run that are alive, found by the mark in their environment (Linux only)."""
        return [pid for pid in _pids() if self._is_mine(pid)]

    def _is_mine(self, pid: int) -> bool:
        try:
            return f"{MARK}={self.mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False

    def close(self) -> None:
        """End what is left of it; these are processes that this object started."""
        for pid in self.family():
            _end(pid)
        self.process.wait()
        for log in self._logs:
            log.unlink(missing_ok=True)


@contextmanager
def started(folder: Path, *args: object) -> Iterator[Run]:
    """A run that is ended with the block, whatever happens."""
    run = Run(folder, *args)
    try:
        yield run
    finally:
        run.close()


def completed(folder: Path, *args: object, codes: tuple[int, ...] = (0, 2, 3)) -> str:
    """Run to the end, which must be one of these exit codes; what it printed on stdout."""
    with started(folder, *args) as run:
        code = run.wait()
        expect(code in codes, f"exit code {code}, not one of {codes}: {run.err[-300:]!r}")
        return run.out


def refuse_tracebacks(text: str) -> None:
    """Broken with the last line of a traceback where there is one."""
    _, found, rest = text.partition(TRACEBACK)
    last = next((line for line in rest.splitlines()[1:] if line and not line.startswith(" ")), "")
    expect(not found, f"traceback: {last[:200]}")


def wait_until(holds: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Look again and again until it holds or the time is up."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def strays(folder: Path) -> list[str]:
    """Temporary files and folders that were left behind."""
    return sorted(str(path.relative_to(folder)) for name in STRAYS for path in folder.rglob(name))


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
