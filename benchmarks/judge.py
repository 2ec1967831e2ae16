"""What a judged run costs beside the judge itself: speed, bytes written, time to resume.

    python benchmarks/judge.py [--quick]

Speed is measured against the scripted judge of the tests, which answers at once on loopback, beside bare
loops over the same client in the same run. "bare" is pydantic-ai's Model.request with the same messages and
the same reading of replies; "openai" is the SDK below it with nothing around it.
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
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from synthesis.judge import prompt as prompts
from synthesis.judge.chat import openai_judge
from synthesis.judge.clients import JudgeSettings
from synthesis.judge.model import TestCase
from synthesis.judge.replies import read_reply
from synthesis.judge.rubric import load_rubric
from synthesis.judge.run import EvaluationConfig, run_evaluation

CONCURRENCY = 64
SERVER = """
import sys
sys.path.insert(0, sys.argv[1])
from server import JudgeServer
with JudgeServer(delay=float(sys.argv[2])) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""
TESTS = Path(__file__).parent.parent / "tests" / "judge"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="smaller numbers, for a first look")
    quick = parser.parse_args().quick
    os.environ["OPENAI_API_KEY"] = "unused"
    speed(samples=400 if quick else 1500, rounds=2 if quick else 5)
    bytes_written([1_000, 2_000] if quick else [1_000, 5_000, 20_000])
    resume(2_000 if quick else 20_000)


def cases(count: int) -> list[TestCase]:
    context = tuple(f"Passage {n} of a timetable. " * 20 for n in range(3))
    answer = "The ferry leaves at nine and comes back at noon. " * 4
    return [TestCase(f"log-{n}", f"When does it leave, sample-{n}?", answer, context) for n in range(count)]


def speed(samples: int, rounds: int) -> None:
    """Samples per second at a concurrency of 64, the loops taking turns."""
    loops = {"SDK alone": openai_loop, "bare client loop": bare_loop, "judged run": whole_run}
    rates: dict[str, list[float]] = {name: [] for name in loops}
    work: dict[str, list[float]] = {name: [] for name in loops}
    with server() as url:
        for _ in range(rounds):
            for name, loop in loops.items():
                began = time.process_time()
                rates[name].append(asyncio.run(loop(url, cases(samples))))
                work[name].append((time.process_time() - began) / samples * 1000)
    print(f"\n{CONCURRENCY} at a time, instant judge, median of {rounds} x {samples} samples")
    for name in loops:
        print(
            f"  {name:<18}{statistics.median(rates[name]):6.0f} samples/s "
            f"({min(rates[name]):.0f} to {max(rates[name]):.0f}), "
            f"{statistics.median(work[name]):.2f} ms of CPU each"
        )
    for base in ("bare client loop", "SDK alone"):
        slower = statistics.median(rates[base]) / statistics.median(rates["judged run"]) - 1
        more = statistics.median(work["judged run"]) / statistics.median(work[base]) - 1
        print(f"  overhead over {base}: {slower:.1%} in time, {more:.1%} in CPU (aim for our own: under 15 %)")


async def openai_loop(url: str, samples: list[TestCase]) -> float:
    from openai import AsyncOpenAI

    prompt, rubric = prompts.load_prompt("v1"), load_rubric("rag")
    system = prompts.system_text(prompt, rubric)
    client = AsyncOpenAI(base_url=url, api_key="unused", max_retries=0)

    async def ask(case: TestCase) -> None:
        reply = await client.chat.completions.create(
            model="gpt-4o-mini",
            messages=[
                {"role": "system", "content": system},
                {"role": "user", "content": prompts.material_text(prompt, case)},
            ],
        )
        json.loads(reply.choices[0].message.content or "")

    async with client:
        return await rate(samples, ask)


async def bare_loop(url: str, samples: list[TestCase]) -> float:
    rubric = load_rubric("rag")
    judge = openai_judge(JudgeSettings(provider="openai", rubric=rubric, base_url=url))

    async def ask(case: TestCase) -> None:
        # Below `send`, which records each call in a journal: this loop has none.
        messages = judge._messages(prompts.material_text(judge.prompt_texts, case), None)
        response = await judge._model.request(messages, judge._settings, judge._parameters[True])
        read_reply(response.text or "", rubric)

    try:
        return await rate(samples, ask)
    finally:
        await judge.close()


async def rate(samples: list[TestCase], ask: Callable[[TestCase], Awaitable[None]]) -> float:
    queue = iter(samples)

    async def worker() -> None:
        for case in queue:
            await ask(case)

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    return len(samples) / (time.perf_counter() - began)


async def whole_run(url: str, samples: list[TestCase]) -> float:
    with tempfile.TemporaryDirectory() as root:
        config = EvaluationConfig(
            output_dir="run", root=Path(root), judge_provider="openai", base_url=url, concurrency=CONCURRENCY
        )
        began = time.perf_counter()
        result = await run_evaluation(samples, config)
        seconds = time.perf_counter() - began
    if not result.complete:
        raise SystemExit("the run did not end well; the figures would mean nothing")
    return len(samples) / seconds


def bytes_written(sizes: list[int]) -> None:
    """All that a run hands to write(), final files included, from replayed verdicts."""
    print("\nbytes written per sample (journal, views and final files)")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            before = written()
            seconds = asyncio.run(replayed(Path(folder), size))
            journal = (Path(folder) / "run" / "journal.jsonl").stat().st_size
            total = written() - before
        print(f"  {size:>7,} samples: {total / size:7,.0f} in all, {journal / size:5,.0f} journal, {seconds:.1f} s")


async def replayed(root: Path, count: int) -> float:
    began = time.perf_counter()
    await run_evaluation(cases(count), replay_config(root, count))
    return time.perf_counter() - began


def replay_config(root: Path, count: int) -> EvaluationConfig:
    said = {axis: {"score": 4, "reasoning": "Checked each claim. " * 12} for axis in ("faithfulness", "completeness")}
    recording = root / "verdicts.json"
    recording.write_text(json.dumps({f"log-{n}": said for n in range(count)}))
    return EvaluationConfig(
        output_dir="run",
        root=root,
        judge_provider="replay",
        judge_model=str(recording),
        concurrency=CONCURRENCY,
    )


def written() -> int:
    """Bytes that this process has handed to write() so far; the recording itself is a small part of it."""
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["wchar"])


def resume(count: int) -> None:
    """From the call to the first new verdict and to the end, with all but one sample already judged."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        samples, config = cases(count + 1), replay_config(root, count + 1)
        asyncio.run(run_evaluation(samples[:count], config))
        reached: list[float] = []
        began = time.perf_counter()
        observer = lambda _: reached.append(time.perf_counter() - began)  # noqa: E731
        asyncio.run(run_evaluation(samples, config, observer=observer))
        total = time.perf_counter() - began
    print(f"\nresume at {count:,} judged samples: ready to judge after {reached[0]:.2f} s (aim: 2 s), ")
    print(f"  all files written again after {total:.2f} s")


@contextmanager
def server(delay: float = 0.0) -> Iterator[str]:
    command = [sys.executable, "-c", SERVER, str(TESTS), str(delay)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None or process.stdin is None:
            raise SystemExit("the server has no pipes")
        yield process.stdout.readline().strip()
        process.stdin.close()


if __name__ == "__main__":
    main()
