"""Kernel and Python in one run: how much faster whole commands, batches and single cases are with the compiled library.

    python benchmarks/readers.py [--cases 5000] [--corpus short distinct]

Each line measures both makers one after the other, the reports are compared byte by byte, and the ratio is what carries
over to other machines. Processor time is that of the command and its workers.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import corpora
from throughput import CORPORA

from synthesis.checks import rules_in_force
from synthesis.model import Case
from synthesis.rules.matcher import PythonReader
from synthesis.rules.native.library import library
from synthesis.rules.native.reader import NativeReader
from synthesis.rules.reading import Message, Reader
from synthesis.rules.ruleset import RuleSet
from synthesis.run.evaluator import Evaluator

BATCH = 256
T = TypeVar("T")
TIMES = 3  # of each measurement in a process; the quickest counts, since other work only adds


class Run(NamedTuple):
    seconds: float
    processor: float
    report: bytes


def command(cases: Path, workers: int, *, native: bool) -> Run:
    """The whole command, from the start of the process to the finished report."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.json"
        arguments = [sys.executable, "-m", "synthesis", "--cases", str(cases), "--out", str(out), "--quiet"]
        arguments += ["--workers", str(workers), "--fail-on", "1000000000"]
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(arguments, check=True, env={**os.environ, "SYNTHESIS_NATIVE": "1" if native else "0"})
        after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begun
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Run(seconds, processor, out.read_bytes())


def whole_commands(names: Sequence[str], count: int, workers: Sequence[int]) -> None:
    columns = f"{'Python':>10}{'native':>10}{'cases/s':>9}{'MB/s':>7}{'ratio':>7}"
    print(f"{'whole command':<14}{'cases':>8}{'workers':>9}{columns}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path = Path(folder) / "cases.jsonl"
            size = corpora.write(path, CORPORA[name](count))
            for number in workers:
                python, native = (command(path, number, native=native) for native in (False, True))
                same = "" if python.report == native.report else "  REPORTS DIFFER"
                print(
                    f"{name:<14}{count:>8,}{number:>9}{python.processor:>8.1f} s{native.processor:>8.1f} s"
                    f"{count / native.seconds:>9,.0f}{size / native.seconds / 1e6:>7.1f}"
                    f"{python.processor / native.processor:>7.1f}{same}",
                    flush=True,
                )


def quickest(work: Callable[[], object]) -> float:
    """Processor seconds of the quickest of some runs."""
    times = []
    for _ in range(TIMES):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def stages(name: str, count: int, rules: RuleSet) -> None:
    """Microseconds per case of the stages that both readers have, and of a batch of one."""
    compiled = library()
    assert compiled is not None
    rows = list(CORPORA[name](count))
    python, native = (times_of(rows, rules, reader) for reader in (PythonReader(rules), NativeReader(rules, compiled)))
    for stage, time_in_python in python.items():
        ratio = time_in_python / native[stage]
        print(f"{name:<11}{stage:<17}{time_in_python:>10,.1f}{native[stage]:>10,.1f}{ratio:>8.1f}", flush=True)


def times_of(rows: Sequence[dict[str, Any]], rules: RuleSet, reader: Reader) -> dict[str, float]:
    """Microseconds per case of each stage with one reader."""
    cases = [Case(row["id"], tuple(row["checks"]), row["user"], row["assistant"]) for row in rows]
    texts = [[row["user"], row["assistant"]] for row in rows]
    sides = ("user", "assistant")
    messages = [
        Message(text, side, None, told)
        for pair, languages in zip(texts, reader.languages(texts), strict=True)
        for text, side, told in zip(pair, sides, languages, strict=True)
    ]
    rules.__dict__["reader"] = reader
    rules.__dict__["native"] = reader if isinstance(reader, NativeReader) else None  # with the kernel or without
    evaluator = Evaluator(rules)
    evaluator.evaluate(cases)  # Python compiles expressions when they are first needed
    seconds = {
        "languages": quickest(lambda: reader.languages(texts)),
        "read, all rules": quickest(lambda: in_batches(reader.read, messages, 2 * BATCH)),
        "evaluate": quickest(lambda: in_batches(evaluator.evaluate, cases, BATCH)),
        "evaluate one": quickest(lambda: in_batches(evaluator.evaluate, cases, 1)),
    }
    return {stage: taken / len(rows) * 1e6 for stage, taken in seconds.items()}


def in_batches(work: Callable[[Sequence[T]], object], items: Sequence[T], size: int) -> None:
    for start in range(0, len(items), size):
        work(items[start : start + size])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=int, default=5_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1])
    parser.add_argument("--corpus", nargs="+", default=list(CORPORA), choices=list(CORPORA))
    options = parser.parse_args()
    if library() is None:
        raise SystemExit("the compiled reader is not built: run `make dev` with cargo at hand")
    print(f"cores: {os.cpu_count()}, load: {os.getloadavg()[0]:.1f}")
    whole_commands(options.corpus, options.cases, options.workers)
    print(f"\n{'corpus':<11}{'us per case':<17}{'Python':>10}{'native':>10}{'ratio':>8}")
    for name in options.corpus:
        stages(name, min(options.cases, 1000), rules_in_force())
    return 0


if __name__ == "__main__":
    sys.exit(main())
