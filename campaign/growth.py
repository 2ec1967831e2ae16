"""Texts made from the rules' own words at 10k, 100k and 1M characters: ten times the text, about ten times the time.

Processor time of this process, so that a busy machine does not count; a ratio that is too high is measured again.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign.forked import in_child
from campaign.spelling import repeated, spelled
from campaign.tally import Attempt, Budget, Kind, Setting, expect
from synthesis.checks.registry import rules_in_force, signals
from synthesis.rules.detection import Detected
from synthesis.rules.reading import Message
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Rule
from synthesis.rules.syntax import WordLists, parse

SIZES = (10_000, 100_000, 1_000_000)
STEEPEST = 16.0  # times the processor time for ten times the text; 10 is linear, caches and noise cost the rest
TOO_SHORT = 0.02  # seconds; below it a ratio says nothing
LIMIT = 200  # seconds for one text
QUICK_SHARE, MILLION_SHARE = 10, 3  # quick: every tenth rule, and of these every third with a million characters


@contextmanager
def prepare(setting: Setting) -> Iterator[Attempt]:
    rules = rules_in_force()
    chosen = [rule for rule in rules.rules if _sources(rule)]
    random.Random(setting.seed).shuffle(chosen)
    for language in rules.languages:  # compiled once here, not in every child
        for where in ("user", "assistant"):
            rules.read([Message("Some words.", where, None, Detected(language, "declared"))])

    def attempt(chance: random.Random, number: int, folder: Path) -> None:  # noqa: ARG001
        rule = chosen[number % len(chosen)]
        unit = _unit(rule, rules, chance)
        whole = setting.full or number % MILLION_SHARE == 0
        _, megabytes = in_child(lambda: _expect_linear(rule, rules, unit, whole), LIMIT)
        expect(megabytes < 1000, f"{rule.language} {rule.id}: takes {megabytes:.0f} MB for a million characters")

    yield attempt


def _sources(rule: Rule) -> list[str]:
    sentence = rule.sentence.patterns if rule.sentence else ()
    unless = rule.unless.patterns if rule.unless else ()
    return [*rule.patterns, *sentence, *unless]


def _unit(rule: Rule, rules: RuleSet, chance: random.Random) -> str:
    """The words of all patterns of a rule in a seeded order; sometimes as sentences, sometimes as one long line."""
    lists = WordLists(rules.packs[rule.language].lists)
    words = [spelled(parse(source, lists), chance, longest=chance.random() < 0.1) for source in _sources(rule)]
    chance.shuffle(words)
    between = chance.choice([" ", " ", ". ", ", ", "\n"])
    return between.join(words) + between


def _expect_linear(rule: Rule, rules: RuleSet, unit: str, whole: bool) -> None:
    sizes = SIZES if whole else SIZES[:2]
    _seconds(rule, rules, unit, sizes[0])  # compiles the patterns that these words need
    before = _seconds(rule, rules, unit, sizes[0])
    for size in sizes[1:]:
        took = _seconds(rule, rules, unit, size)
        if before > TOO_SHORT and took / before > STEEPEST:
            before = min(before, _seconds(rule, rules, unit, size // 10))
            took = min(took, _seconds(rule, rules, unit, size))
            steep = f"{took / before:.1f} times the time ({took:.2f} s) for ten times the text ({size:,} characters)"
            expect(took / max(before, 0.001) <= STEEPEST, f"{rule.language} {rule.id}: {steep}: {unit[:60]!r}")
        before = took


def _seconds(rule: Rule, rules: RuleSet, unit: str, size: int) -> float:
    text = repeated(unit, size)
    began = time.process_time()
    rules.read([Message(text, signals()[rule.signal].where, None, Detected(rule.language, "declared"))])
    return time.process_time() - began


KIND = Kind(
    "growth",
    "texts of a rule's own words at 10k, 100k and 1M characters: time grows with the length",
    prepare,
    quick=Budget(260, 360),
    full=Budget(2600, 4 * 3600),
)
