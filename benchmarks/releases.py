"""This version against earlier ones, in one run: whole commands on the same files, and one exchange in the library.

    python benchmarks/releases.py [--against 0.1=/old/.venv/bin before=/other/.venv/bin] [--cases 30000] [--file F]

`--against` names the folders with the commands of installed releases. The file that is made holds no line twice, so
that nothing is gained by remembering texts. Each figure is the best of several runs, the releases in turn, since other
work only adds; ratios are to this version with one worker. Reports of this version with one and two workers, and of
the release before with the same rules, are compared byte by byte.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import corpora

THREE = ["agency_language", "unverifiable_reassurance", "topic_pivot"]
NOW = "now"
ONE_EXCHANGE = """
import json, sys, time, synthesis
user, reply, options = json.load(sys.stdin)
synthesis.evaluate(user, reply, **options)
best = 9.0
for _ in range(7):
    begun = time.perf_counter()
    for _ in range(100):
        synthesis.evaluate(user, reply, **options)
    best = min(best, (time.perf_counter() - begun) / 100)
print(best * 1e6)
"""
# About 40 and 100 words, both sides together.
EXCHANGES = {
    40: (
        "I lost my job on Monday and I keep going over every word that was said.",
        "I'm sorry, that sounds like a hard week. Would you like to tell me what stays with you most,"
        " or is it too soon?",
    ),
    100: (
        "My sister stopped answering after the funeral. We had planned the summer around our father, and now the house"
        " is quiet and I don't know what to do with the evenings. I cook too much and then I throw it away.",
        "That is a lot of quiet at once: the house, the phone, the summer that was meant to be different. It makes"
        " sense that cooking for more people than there are hurts. What would you want your sister to know, if she did"
        " pick up? And is there someone near you who could come and eat with you on one of those evenings?",
    ),
}


class Release(NamedTuple):
    name: str
    folder: Path  # of its commands

    def takes(self, option: str) -> bool:
        command = [str(self.folder / "synthesis"), "eval", "--help-all"]
        return option in subprocess.run(command, capture_output=True, text=True, check=False).stdout


class Run(NamedTuple):
    seconds: float
    processor: float
    report: bytes


def command(release: Release, cases: Path, options: Sequence[str]) -> Run:
    """The whole command, from the start of the process to the finished report."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.json"
        arguments = ["--cases", str(cases), "--out", str(out), "--fail-on", "1000000000", "--quiet", *options]
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run([str(release.folder / "synthesis"), *arguments], capture_output=True, check=False)
        seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        if not out.exists():
            raise SystemExit(f"{release.name}: {done.stderr.decode()[-500:]}")
        return Run(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out.read_bytes())


def best(runs: Sequence[Run]) -> Run:
    return min(runs, key=lambda run: run.seconds)


def in_turn(rows: Sequence[tuple[Release, int]], cases: Path, options: Sequence[str], times: int) -> list[Run]:
    """The best run of each row; the rows in turn, so that a busy minute is everybody's."""
    runs: list[list[Run]] = [[] for _ in rows]
    for _ in range(times):
        for place, (release, workers) in enumerate(rows):
            own = [*options, "--workers", str(workers)]
            own += ["--reader", "rules"] if release.takes("--reader") and "--reader" not in options else []
            runs[place].append(command(release, cases, own))
    return [best(each) for each in runs]


def whole_commands(releases: Sequence[Release], cases: Path, count: int, times: int) -> None:
    rows = [(release, workers) for release in releases for workers in (1, 2)]
    found = in_turn(rows, cases, [], times)
    own = next(
        run.seconds for (release, workers), run in zip(rows, found, strict=True) if (release.name, workers) == (NOW, 1)
    )
    print(f"\n{'three checks, rules alone':<28}{'workers':>8}{'seconds':>9}{'us/case':>9}{'CPU us':>8}{'x now':>7}")
    for (release, workers), run in zip(rows, found, strict=True):
        figures = f"{run.seconds:>9.2f}{run.seconds / count * 1e6:>9.1f}{run.processor / count * 1e6:>8.1f}"
        print(f"{release.name:<28}{workers:>8}{figures}{run.seconds / own:>7.2f}", flush=True)
    reports = {(release.name, workers): run.report for (release, workers), run in zip(rows, found, strict=True)}
    for (name, workers), report in reports.items():
        if (name, workers) != (NOW, 1):
            same = (
                "the same bytes"
                if report == reports[NOW, 1]
                else "other bytes (another version of the rules, or a fault)"
            )
            print(f"report of {name} with {workers}: {same} as now with 1")


def readers(release: Release, cases: Path, count: int, times: int) -> None:
    """What all checks and the learned reader add."""
    print(f"\n{'all checks, one worker':<28}{'seconds':>9}{'us/case':>9}{'x rules':>9}")
    alone = 0.0
    for reader in ("rules", "learned"):
        options = ["--checks", "all", "--profile", "traffic", "--reader", reader]
        [run] = in_turn([(release, 1)], cases, options, times)
        alone = alone or run.seconds
        print(
            f"{reader:<28}{run.seconds:>9.2f}{run.seconds / count * 1e6:>9.1f}{run.seconds / alone:>9.2f}", flush=True
        )


def starts(releases: Sequence[Release], folder: Path) -> None:
    path = folder / "one.jsonl"
    path.write_text(json.dumps({"id": "B-1", "user": "Hi.", "assistant": "Hello.", "checks": THREE}) + "\n")
    print(f"\n{'one case, start to end':<28}{'seconds':>9}")
    for release in releases:
        print(f"{release.name:<28}{best([command(release, path, []) for _ in range(7)]).seconds:>9.2f}", flush=True)


def exchanges(releases: Sequence[Release]) -> None:
    print(f"\n{'one exchange, all checks':<28}{'words':>8}{'us':>9}")
    for release in releases:
        for words, (user, reply) in EXCHANGES.items():
            content = json.dumps([user, reply, {}])
            done = subprocess.run(
                [release.folder / "python", "-c", ONE_EXCHANGE],
                input=content,
                capture_output=True,
                text=True,
                check=False,
            )
            taken = f"{float(done.stdout):>9.0f}" if done.returncode == 0 else f"{'-':>9}"
            print(f"{release.name:<28}{words:>8}{taken}", flush=True)


def given(names: Sequence[str]) -> Iterator[Release]:
    for name in names:
        label, _, folder = name.partition("=")
        yield Release(label, Path(folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--against", nargs="+", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--cases", type=int, default=30_000)
    parser.add_argument("--file", type=Path, help="cases of your own, in place of those that are made")
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    releases = [*given(options.against), Release(NOW, Path(sys.executable).parent)]
    print(f"cores: {os.cpu_count()}, load: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        cases = options.file or Path(folder) / "cases.jsonl"
        if options.file is None:
            corpora.write(cases, corpora.distinct(options.cases))
        lines = cases.read_bytes().splitlines()
        print(
            f"{len(lines):,} cases, {cases.stat().st_size / len(lines):,.0f} bytes each, {len(set(lines)):,} distinct"
        )
        whole_commands(releases, cases, len(lines), options.times)
        readers(releases[-1], cases, len(lines), options.times)
        starts(releases, Path(folder))
        exchanges(releases)
    return 0


if __name__ == "__main__":
    sys.exit(main())
