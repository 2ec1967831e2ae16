"""How fast case files are evaluated, beside a yardstick measured in the same run.

    python benchmarks/throughput.py [--cases 10000 100000 1000000] [--workers 1 2]

The yardstick is a plain loop of `re.search` over 147 frozen patterns (yardstick_patterns.txt) on the same short cases,
in one process. Ratios to it mean more than absolute figures: machines differ, and shared ones are noisy. A run is the
whole command, from the start of the process to the finished report.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import corpora

from synthesis.model import Case
from synthesis.run.evaluator import Evaluator

PATTERNS = Path(__file__).with_name("yardstick_patterns.txt")
CORPORA: dict[str, Callable[[int], Iterator[dict[str, Any]]]] = {
    "short": corpora.short,
    "realistic": corpora.realistic,
    "distinct": corpora.distinct,
    "mixed": corpora.mixed,
}


class Run(NamedTuple):
    seconds: float
    peak_mb: float


def yardstick(count: int) -> float:
    """Cases per second of the plain loop."""
    patterns = [re.compile(line) for line in PATTERNS.read_text(encoding="utf-8").splitlines()]
    rows = list(corpora.short(count))
    begun = time.perf_counter()
    for row in rows:
        user, reply = row["user"].lower(), row["assistant"].lower()
        for pattern in patterns:
            pattern.search(user)
            pattern.search(reply)
    return count / (time.perf_counter() - begun)


def run(cases: Path, workers: int) -> Run:
    """The whole command, with the greatest memory of it and its workers together."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.json"
        command = [sys.executable, "-m", "synthesis", "--cases", str(cases), "--out", str(out), "--quiet"]
        command += ["--workers", str(workers), "--fail-on", "1000000000", "--max-line", str(16 << 20)]
        begun = time.perf_counter()
        process = subprocess.Popen(command)
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, memory_of(process.pid))
            time.sleep(0.05)
        if process.returncode:
            raise SystemExit(f"the command failed with {process.returncode}")
        return Run(time.perf_counter() - begun, peak)


def memory_of(pid: int) -> float:
    """Resident megabytes of a process and its children (Linux); elsewhere 0."""
    total = 0
    for family in [pid, *children_of(pid)]:
        try:
            total += int(Path(f"/proc/{family}/statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
    return total * resource.getpagesize() / 1e6


def children_of(pid: int) -> list[int]:
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [grandchild for child in map(int, found) for grandchild in (child, *children_of(child))]


def one_by_one(count: int = 300) -> float:
    """Microseconds of one evaluation through the library, a batch of one short case."""
    evaluator = Evaluator()
    cases = [Case(r["id"], tuple(r["checks"]), r["user"], r["assistant"]) for r in corpora.short(count)]
    evaluator.evaluate(cases)
    begun = time.perf_counter()
    for case in cases:
        evaluator.evaluate([case])
    return (time.perf_counter() - begun) / count * 1e6


def start_up(arguments: list[str], times: int = 5) -> float:
    """The quickest of several starts of the interpreter, in seconds."""
    seconds = []
    for _ in range(times):
        begun = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--corpus", nargs="+", default=list(CORPORA), choices=list(CORPORA))
    options = parser.parse_args()
    print(f"cores: {os.cpu_count()}, load: {os.getloadavg()[0]:.1f}")
    base = yardstick(1_500)
    print(f"yardstick: {base:,.0f} cases/s\n")
    print(f"{'corpus':<10}{'cases':>10}{'workers':>9}{'cases/s':>10}{'MB/s':>7}{'x yardstick':>13}{'peak MB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.corpus:
            for count in options.cases:
                path = Path(folder) / "cases.jsonl"
                size = corpora.write(path, CORPORA[name](count))
                for workers in options.workers:
                    done = run(path, workers)
                    speed = count / done.seconds
                    print(
                        f"{name:<10}{count:>10,}{workers:>9}{speed:>10,.0f}{size / done.seconds / 1e6:>7.1f}"
                        f"{speed / base:>13.1f}{done.peak_mb:>9.0f}",
                        flush=True,
                    )
    print(f"\none case through the library: {one_by_one():,.0f} us")
    bare = start_up(["-c", "pass"])
    for label, arguments in (
        ("import synthesis", ["-c", "import synthesis"]),
        ("--help", ["-m", "synthesis", "--help"]),
    ):
        seconds = start_up(arguments)
        print(f"{label}: {seconds:.3f} s ({seconds / bare:.1f} x `python -c pass`, {bare:.3f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
