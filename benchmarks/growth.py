"""How time grows with the length of a text: ten times the text should take about ten times the time.

    python benchmarks/growth.py [--language ja zh] [--text hits line prose] [--reader python] [--largest 100000]

Each text is read, then evaluated with all checks in traffic up to the finished verdict, at 10,000 characters, ten times
as many, and so on. Both sides of the exchange have that length. The texts:

    hits    the example sentences of the rules that are hit most densely in them, again and again
    line    the same without any mark that ends a sentence
    prose   the bundled cases of the language

Every language, text and reader runs in a process of its own. Times are of the processor; the verdicts of both readers
are compared by their hash.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count, pairwise, takewhile
from typing import Any, TypeVar

from synthesis.checks.registry import rules_in_force, signals
from synthesis.io import CASES
from synthesis.model import Case
from synthesis.rules.detection import Detected
from synthesis.rules.reading import Message
from synthesis.rules.ruleset import RuleSet, bundled_languages
from synthesis.rules.schema import Rule
from synthesis.verdict import ReplyEvaluator

T = TypeVar("T")
SMALLEST = 10_000
DENSEST = 5  # rules of each side
SAMPLE = 2_000  # characters in which the hits of a rule's examples are counted
SIDES = ("user", "assistant")
READERS = {"compiled": "1", "python": "0"}  # and what SYNTHESIS_NATIVE says
# Rules whose examples once took 29 to 36 times the time for ten times the text.
NAMED = {
    "ja": {"pivot.acknowledgment.your-call", "pivot.vulnerability.crying", "pivot.vulnerability.worrying"},
    "zh": {"crisis.harmful.dare"},
}
_SENTENCE_ENDS = re.compile(r"[.!?。！？।…\n]+")


def repeated(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def hits_of(rules: RuleSet, language: str) -> dict[str, str]:
    """For each side, the examples of the rules that are hit most densely."""
    return {side: " ".join(_dense(rules, language, side)) + " " for side in SIDES}


def _dense(rules: RuleSet, language: str, side: str) -> Iterator[str]:
    own = [rule for rule in rules.packs[language].rules if signals()[rule.signal].where == side]
    examples = {rule.id: min(_sentences(rule), key=len) for rule in own}
    texts = [repeated(f"{examples[rule.id]} ", SAMPLE) for rule in own]
    read = rules.read([Message(text, side, None, Detected(language, "declared")) for text in texts])
    counted = sorted(zip(own, read, strict=True), key=lambda pair: -len(pair[1].hits))
    chosen = {rule.id for rule, _ in counted[:DENSEST]} | NAMED.get(language, set())
    yield from (examples[rule.id] for rule in own if rule.id in chosen)


def _sentences(rule: Rule) -> list[str]:
    return [str(example) for example in rule.match]


def line_of(rules: RuleSet, language: str) -> dict[str, str]:
    """The same words in one sentence without an end."""
    return {side: _SENTENCE_ENDS.sub(" ", text) for side, text in hits_of(rules, language).items()}


def prose_of(_: RuleSet, language: str) -> dict[str, str]:
    """For each side, what the bundled cases of the language say there."""
    said: dict[str, list[str]] = {side: [] for side in SIDES}
    path = CASES if language == "en" else CASES.with_name(f"evals.{language}.jsonl")
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for turn in row.get("messages") or [{"role": side, "content": row[side]} for side in SIDES]:
            if turn["role"] in said and turn["content"]:
                said[turn["role"]].append(turn["content"])
    return {side: "\n".join(texts) + "\n" for side, texts in said.items()}


TEXTS: dict[str, Callable[[RuleSet, str], dict[str, str]]] = {"hits": hits_of, "line": line_of, "prose": prose_of}


def measured(language: str, text: str, largest: int) -> list[dict[str, Any]]:
    """One row for each size: seconds to read and to evaluate, hits, and the hash of the verdict."""
    rules = rules_in_force()
    units = TEXTS[text](rules, language)
    replies = ReplyEvaluator("all", rules=rules)
    sizes = list(takewhile(lambda size: size <= largest, (SMALLEST * 10**power for power in count())))
    _row(rules, replies, language, units, SMALLEST)  # compiles the patterns that these words need
    return [_row(rules, replies, language, units, size) for size in sizes]


def _row(rules: RuleSet, replies: ReplyEvaluator, language: str, units: dict[str, str], size: int) -> dict[str, Any]:
    texts = {side: repeated(unit, size) for side, unit in units.items()}
    messages = [Message(text, side, None, Detected(language, "declared")) for side, text in texts.items()]
    reading, readings = _quickest(lambda: rules.read(messages), size)
    hits = sum(len(one.hits) for one in readings)
    del readings
    case = Case("", replies.checks, texts["user"], texts["assistant"])
    evaluation, verdict = _quickest(lambda: replies.case(case).to_dict(), size)
    digest = hashlib.sha256(json.dumps(verdict, sort_keys=True).encode()).hexdigest()[:16]
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"size": size, "hits": hits, "read": reading, "evaluate": evaluation, "sha": digest, "megabytes": megabytes}


def _quickest(work: Callable[[], T], size: int) -> tuple[float, T]:
    """Processor seconds of the quickest of some runs, fewer for a long text, and what the last one gave."""
    times = []
    for _ in range(5 if size < 100_000 else 2 if size < 1_000_000 else 1):
        began = time.process_time()
        result = work()
        times.append(time.process_time() - began)
    return min(times), result


def in_process(language: str, text: str, reader: str, largest: int) -> list[dict[str, Any]]:
    command = [sys.executable, __file__, "--one", language, text, str(largest)]
    found = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, "SYNTHESIS_NATIVE": READERS[reader]}
    )
    rows: list[dict[str, Any]] = json.loads(found.stdout)
    return rows


def table(languages: list[str], texts: list[str], readers: list[str], largest: int) -> float:
    """Prints a line for each language, text and reader; the steepest ratio of all."""
    print(f"{'':<4}{'text':<7}{'reader':<10}{'hits':>9}{'read':>9}{'evaluate':>10}{'MB':>7}   ratios read; evaluate")
    steepest = 0.0
    for language in languages:
        for text in texts:
            verdicts: dict[int, set[str]] = {}
            for reader in readers:
                rows = in_process(language, text, reader, largest)
                for row in rows:
                    verdicts.setdefault(row["size"], set()).add(row["sha"])
                ratios = {stage: _ratios(rows, stage) for stage in ("read", "evaluate")}
                steepest = max(steepest, *ratios["read"], *ratios["evaluate"])
                last = rows[-1]
                shown = "; ".join(" ".join(f"{ratio:5.1f}" for ratio in ratios[stage]) for stage in ratios)
                differ = "" if all(len(found) == 1 for found in verdicts.values()) else "   VERDICTS DIFFER"
                print(
                    f"{language:<4}{text:<7}{reader:<10}{last['hits']:>9,}{last['read']:>7.2f} s"
                    f"{last['evaluate']:>8.2f} s{last['megabytes']:>7,}   {shown}{differ}",
                    flush=True,
                )
    return steepest


def _ratios(rows: list[dict[str, Any]], stage: str) -> list[float]:
    return [after[stage] / before[stage] for before, after in pairwise(rows)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", nargs="+", default=bundled_languages(), choices=bundled_languages())
    parser.add_argument("--text", nargs="+", default=list(TEXTS), choices=list(TEXTS))
    parser.add_argument("--reader", nargs="+", default=list(READERS), choices=list(READERS))
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        language, text, largest = asked.one
        print(json.dumps(measured(language, text, int(largest))))
        return
    print(f"steepest: {table(asked.language, asked.text, asked.reader, asked.largest):.1f}")


if __name__ == "__main__":
    main()
