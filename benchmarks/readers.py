"""Both readers in one run: how much faster whole commands, batches and single cases are with the compiled one.

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
from typing import NamedTuple

import corpora
from throughput import CORPORA

from synthesis.checks import rules_in_force
from synthesis.model import Case
from synthesis.rules.native.library import library
from synthesis.rules.native.reader import NativeReader
from synthesis.rules.python_reader import PythonReader
from synthesis.rules.reading import Message, Reader
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.evaluator import Evaluator

BATCH = 256
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
    print(
        f"{'whole command':<14}{'cases':>8}{'workers':>9}{'Python':>10}{'native':>10}{'cases/s':>9}{'MB/s':>7}{'ratio':>7}"
    )
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
    rows = list(CORPORA[name](count))
    cases = [Case(row["id"], tuple(row["checks"]), row["user"], row["assistant"]) for row in rows]
    texts = [[row["user"], row["assistant"]] for row in rows]
    compiled = library()
    assert compiled is not None
    readers: tuple[Reader, ...] = (PythonReader(rules), NativeReader(rules, compiled))
    found: dict[str, list[float]] = {}
    for reader in readers:
        languages = reader.languages(texts)
        pairs = zip(texts, languages, strict=True)
        messages = [
            Message(pair[n], side, None, told[n])
            for pair, told in pairs
            for n, side in enumerate(("user", "assistant"))
        ]
        rules.__dict__["reader"] = reader
        evaluator = Evaluator(rules)
        evaluator.evaluate(cases)
        work: dict[str, Callable[[], object]] = {
            "languages": lambda reader=reader: reader.languages(texts),
            "read, all rules": lambda reader=reader, messages=messages: in_batches(reader.read, messages, 2 * BATCH),
            "evaluate": lambda evaluator=evaluator: in_batches(evaluator.evaluate, cases, BATCH),
            "evaluate one": lambda evaluator=evaluator: in_batches(evaluator.evaluate, cases, 1),
        }
        for stage, run in work.items():
            found.setdefault(stage, []).append(quickest(run) / count * 1e6)
    for stage, (python, native) in found.items():
        print(f"{name:<11}{stage:<17}{python:>10,.1f}{native:>10,.1f}{python / native:>8.1f}", flush=True)


def in_batches(work: Callable[[Sequence[object]], object], items: Sequence[object], size: int) -> None:
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
