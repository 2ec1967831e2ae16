"""What a journal in PostgreSQL costs against one in a file, and what a second process brings.

    python benchmarks/shared_journal.py postgresql://USER@HOST/DATABASE [--quick]

Overhead is measured with recorded verdicts, which cost next to nothing themselves. Speed is measured against the
scripted judge of the tests: at once, and after 200 ms, which is still quick for a real one. Processes have their
imports behind them and start together; the time is from then to the end of the last.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import msgspec
from judge import cases, replay_config, server

from synthesis.judge.config import EvaluationConfig
from synthesis.judge.journal import SharedPlace
from synthesis.judge.run import run_evaluation

ROUNDS = 3
WORKER = """
import json, sys
sys.path.insert(0, sys.argv[1])
import psycopg, pydantic_ai.models.openai, pydantic_ai.providers.openai_compatible
from shared_journal import work
print("ready", flush=True)
for line in sys.stdin:
    print(work(json.loads(line)), flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("url", help="a database that may be written to")
    parser.add_argument("--quick", action="store_true", help="smaller numbers, for a first look")
    arguments = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = "unused"
    overhead(arguments.url, 300 if arguments.quick else 2000)
    speed(arguments.url, 200 if arguments.quick else 1000, delay=0.0, concurrency=64)
    speed(arguments.url, 100 if arguments.quick else 400, delay=0.2, concurrency=5)


def overhead(url: str, samples: int) -> None:
    """Milliseconds per sample of a whole run, files included."""
    print(f"\nrecorded verdicts, {samples} samples, median of {ROUNDS}: whole run, ms per sample")
    for concurrency in (1, 5, 64):
        took: dict[str, list[float]] = {"file": [], "PostgreSQL": []}
        for _ in range(ROUNDS):
            for name, journal in (("file", None), ("PostgreSQL", SharedPlace(url))):
                took[name].append(replayed(samples, concurrency, journal) / samples * 1000)
        file, shared = (statistics.median(took[name]) for name in took)
        print(
            f"  {concurrency:>2} at a time: file {file:6.2f}, PostgreSQL {shared:6.2f}, difference {shared - file:6.2f}"
        )


def replayed(samples: int, concurrency: int, journal: SharedPlace | None) -> float:
    with tempfile.TemporaryDirectory() as root:
        config = replay_config(Path(root), samples)
        changes = {"output_dir": f"run-{uuid.uuid4()}", "concurrency": concurrency, "journal": journal}
        began = time.perf_counter()
        result = asyncio.run(run_evaluation(cases(samples), msgspec.structs.replace(config, **changes)))
        took = time.perf_counter() - began
    if not result.complete:
        raise SystemExit("the run did not end well; the figures would mean nothing")
    return took


def speed(url: str, samples: int, delay: float, concurrency: int) -> None:
    """Samples per second of one process with either journal and of two that share one, taking turns."""
    print(f"\njudge answers after {delay * 1000:g} ms, {samples} samples, {concurrency} at a time and process")
    kinds = [("file", 1), ("PostgreSQL", 1), ("PostgreSQL", 2)]
    rates: dict[tuple[str, int], list[float]] = {kind: [] for kind in kinds}
    crew = [worker() for _ in range(2)]
    try:
        with server(delay) as judge_url:
            for _ in range(ROUNDS):
                for kind in kinds:
                    journal = url if kind[0] == "PostgreSQL" else None
                    rates[kind].append(together(crew[: kind[1]], journal, judge_url, samples, concurrency))
    finally:
        for process in crew:
            process.communicate()
    for (name, size), found in rates.items():
        spread = f"({min(found):.1f} to {max(found):.1f})"
        print(f"  {name:<11} {size} process(es): {statistics.median(found):7.1f} samples/s {spread}")


def worker() -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WORKER, str(Path(__file__).parent)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    answer(process)
    return process


def together(
    crew: "list[subprocess.Popen[str]]", journal: str | None, judge_url: str, samples: int, concurrency: int
) -> float:
    order = {
        "journal": journal,
        "judge": judge_url,
        "samples": samples,
        "concurrency": concurrency,
        "name": f"run-{uuid.uuid4()}",
    }
    began = time.perf_counter()
    for process in crew:
        if process.stdin is not None:
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
    if any(answer(process) != "True" for process in crew):
        raise SystemExit("a run did not end well; the figures would mean nothing")
    return samples / (time.perf_counter() - began)


def answer(process: "subprocess.Popen[str]") -> str:
    return process.stdout.readline().strip() if process.stdout is not None else ""


def work(order: dict[str, str | int | None]) -> bool:
    """One process's part of a run, in the process that was asked."""
    with tempfile.TemporaryDirectory() as root:
        config = EvaluationConfig(
            output_dir=str(order["name"]),
            root=Path(root),
            judge_provider="openai",
            base_url=str(order["judge"]),
            concurrency=int(order["concurrency"] or 1),
            journal=SharedPlace(str(order["journal"])) if order["journal"] else None,
        )
        return asyncio.run(run_evaluation(cases(int(order["samples"] or 0)), config)).complete


if __name__ == "__main__":
    main()
