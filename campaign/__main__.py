"""python -m campaign [--full] [--seed N] [--only KIND] [--number N]: all kinds on two workers, then a table.

Exit codes: 0 nothing failed, 2 something did.
"""

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from campaign.kinds import KINDS
from campaign.processes import CACHE
from campaign.tally import Budget, Failure, Tally, run_kind

WORKERS = 2
GRACE = 300.0  # seconds beyond its budget after which a kind is ended: its last try was begun in time
EVERY = 20.0  # seconds between two lines of progress of a kind
SHOWN = 5  # failures of a kind that are printed; the count is always whole


def main(args: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(args)
    names = options.only or list(KINDS)
    if options.inside:
        print(_as_json(_work(names[0], options)))
        return 0
    began = time.monotonic()
    # A cache of its own: hostile packs must not push the user's out of theirs.
    with tempfile.TemporaryDirectory(prefix="campaign-cache-") as cache, ThreadPoolExecutor(WORKERS) as pool:
        os.environ[CACHE] = cache
        order = _longest_first(names, options)
        tallies = dict(zip(order, pool.map(partial(_in_a_process, options=options), order), strict=True))
    for line in table([tallies[name] for name in names], options, time.monotonic() - began):
        print(line)
    return 2 if any(tally.failures for tally in tallies.values()) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    parser.add_argument("--full", action="store_true", help="everything, which takes hours")
    parser.add_argument("--seed", type=int, default=1, help="chooses the tries [default: 1]")
    parser.add_argument("--only", action="append", choices=list(KINDS), metavar="KIND", help="repeatable")
    parser.add_argument("--number", type=int, help="only the try with this number, to see a failure again")
    parser.add_argument("--share", type=float, default=1.0, help="of tries and time, for a first look [default: 1]")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)  # this process does one kind
    return parser


def _budget(name: str, options: argparse.Namespace) -> Budget:
    budget = KINDS[name].budget(options.full)
    return Budget(max(1, round(budget.tries * options.share)), budget.seconds * options.share)


def _longest_first(names: list[str], options: argparse.Namespace) -> list[str]:
    return sorted(names, key=lambda name: -_budget(name, options).seconds)


def _work(name: str, options: argparse.Namespace) -> Tally:
    last = time.monotonic()

    def progress(tally: Tally) -> None:
        nonlocal last
        if time.monotonic() - last > EVERY:
            last = time.monotonic()
            _say(f"{name}: {tally.tries} of {tally.planned}, {len(tally.failures)} failed")

    budget = _budget(name, options)
    tally = run_kind(KINDS[name], options.seed, budget, full=options.full, number=options.number, progress=progress)
    _say(f"{name}: done, {tally.tries} of {tally.planned}, {len(tally.failures)} failed, {tally.seconds:.0f} s")
    return tally


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _in_a_process(name: str, options: argparse.Namespace) -> Tally:
    """A kind in a process of its own: should it die or hang, the other kinds still count."""
    number = [] if options.number is None else ["--number", str(options.number)]
    settings = ["--seed", str(options.seed), "--share", str(options.share), *number, *(["--full"] * options.full)]
    command = [sys.executable, "-m", "campaign", "--inside", "--only", name, *settings]
    seconds = _budget(name, options).seconds + GRACE
    try:
        root = Path(__file__).parent.parent
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=seconds, check=True, cwd=root)
        return _from_json(done.stdout)
    except (subprocess.SubprocessError, ValueError) as error:
        return Tally(name, 0, failures=[Failure(name, options.seed, -1, f"its process failed: {error}")])


def _as_json(tally: Tally) -> str:
    return json.dumps(dataclasses.asdict(tally))


def _from_json(text: str) -> Tally:
    fields = json.loads(text)
    return Tally(**{**fields, "failures": [Failure(**failure) for failure in fields["failures"]]})


def table(tallies: Sequence[Tally], options: argparse.Namespace, seconds: float) -> list[str]:
    """Markdown, so that it can stand in the documentation as it is."""
    lines = ["| kind | tries | planned | failures | seconds |", "| --- | ---: | ---: | ---: | ---: |"]
    for tally in tallies:
        figures = (tally.tries, tally.planned, len(tally.failures), round(tally.seconds))
        lines.append(f"| `{tally.kind}` | {' | '.join(f'{figure:,}' for figure in figures)} |")
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    what = "full" if options.full else "quick"
    share = "" if options.share == 1 else f", {options.share:g} of its tries and time"
    lines.append(f"\n{what} campaign, seed {options.seed}{share}: {seconds / 60:.0f} minutes; {machine}.")
    return [*lines, *(line for tally in tallies for line in _failures(tally))]


def _failures(tally: Tally) -> list[str]:
    if not tally.failures:
        return []
    lines = [f"\n{tally.kind}: python -m campaign --only {tally.kind} --seed {tally.failures[0].seed} --number N"]
    lines += [f"  {failure}" for failure in tally.failures[:SHOWN]]
    more = len(tally.failures) - SHOWN
    return [*lines, f"  and {more} more"] if more > 0 else lines


if __name__ == "__main__":
    sys.exit(main())
