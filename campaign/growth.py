"""Texts made from the rules' own words at 10k, 100k and 1M characters: ten times the text, about ten times the time.

Every second try repeats the examples of a rule, which are hits throughout, and goes on to the finished verdict of all
checks; the others repeat the words of its patterns, and only read.

Processor time of this process, so that a busy machine does not count; a ratio that is too high is measured again.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign.forked import in_child
from campaign.spelling import repeated, spelled
from campaign.tally import Attempt, Budget, Kind, Setting, expect
from synthesis.checks.registry import rules_in_force, signals
from synthesis.model import Case
from synthesis.rules.detection import Detected
from synthesis.rules.reading import Message
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Rule
from synthesis.rules.syntax import WordLists, parse
from synthesis.verdict import ReplyEvaluator

SIZES = (10_000, 100_000, 1_000_000)
STEEPEST = 16.0  # times the processor time for ten times the text; 10 is linear, caches and noise cost the rest
TOO_SHORT = 0.02  # seconds; below it a ratio says nothing
LIMIT = 200  # seconds for one text
MOST_READING, MOST_EVALUATING = 1000, 2500  # megabytes; a verdict explains every one of up to a million findings
Work = Callable[[str], object]
QUICK_SHARE, MILLION_SHARE = 10, 3  # quick: every tenth rule, and of these every third with a million characters


@contextmanager
def prepare(setting: Setting) -> Iterator[Attempt]:
    rules = rules_in_force()
    replies = ReplyEvaluator("all", rules=rules)
    chosen = [rule for rule in rules.rules if _sources(rule)]
    random.Random(setting.seed).shuffle(chosen)
    for language in rules.languages:  # compiled once here, not in every child
        for where in ("user", "assistant"):
            rules.read([Message("Some words.", where, None, Detected(language, "declared"))])

    def attempt(chance: random.Random, number: int, folder: Path) -> None:  # noqa: ARG001
        rule = chosen[number % len(chosen)]
        evaluates = number % 2 == 1 and bool(rule.match)
        unit = _examples(rule, chance) if evaluates else _unit(rule, rules, chance)
        work = _evaluation(rule, replies) if evaluates else _reading(rule, rules)
        whole = setting.full or number % MILLION_SHARE == 0
        _, megabytes = in_child(lambda: _expect_linear(rule, work, unit, whole), LIMIT)
        most = MOST_EVALUATING if evaluates else MOST_READING
        expect(megabytes < most, f"{rule.language} {rule.id}: takes {megabytes:.0f} MB for a million characters")

    yield attempt


def _sources(rule: Rule) -> list[str]:
    sentence = rule.sentence.patterns if rule.sentence else ()
    exception = rule.exception.patterns if rule.exception else ()
    return [*rule.patterns, *sentence, *exception]


def _unit(rule: Rule, rules: RuleSet, chance: random.Random) -> str:
    """The words of all patterns of a rule in a seeded order; sometimes as sentences, sometimes as one long line."""
    lists = WordLists(rules.packs[rule.language].lists)
    words = [spelled(parse(source, lists), chance, longest=chance.random() < 0.1) for source in _sources(rule)]
    chance.shuffle(words)
    between = chance.choice([" ", " ", ". ", ", ", "\n"])
    return between.join(words) + between


def _examples(rule: Rule, chance: random.Random) -> str:
    """The sentences that the rule must match; sometimes as sentences, sometimes as one long line."""
    between = chance.choice([" ", "\n"])
    said = between.join(rule.match)
    return (
        said if chance.random() < 0.5 else "".join(" " if char in ".!?。！？।\n" else char for char in said)
    ) + between


def _reading(rule: Rule, rules: RuleSet) -> Work:
    where = signals()[rule.signal].where
    return lambda text: rules.read([Message(text, where, None, Detected(rule.language, "declared"))])


def _evaluation(rule: Rule, replies: ReplyEvaluator) -> Work:
    """All checks, in traffic, to the fields of the verdict; what the other side says is short."""

    def evaluate(text: str) -> object:
        user, reply = (text, "…") if signals()[rule.signal].where == "user" else ("…", text)
        return replies.case(Case("", replies.checks, user, reply, lang=rule.language)).to_dict()

    return evaluate


def _expect_linear(rule: Rule, work: Work, unit: str, whole: bool) -> None:
    sizes = SIZES if whole else SIZES[:2]
    _seconds(work, unit, sizes[0])  # compiles the patterns that these words need
    before = _seconds(work, unit, sizes[0])
    for size in sizes[1:]:
        took = _seconds(work, unit, size)
        if before > TOO_SHORT and took / before > STEEPEST:
            before = min(before, _seconds(work, unit, size // 10))
            took = min(took, _seconds(work, unit, size))
            steep = f"{took / before:.1f} times the time ({took:.2f} s) for ten times the text ({size:,} characters)"
            expect(took / max(before, 0.001) <= STEEPEST, f"{rule.language} {rule.id}: {steep}: {unit[:60]!r}")
        before = took


def _seconds(work: Work, unit: str, size: int) -> float:
    text = repeated(unit, size)
    began = time.process_time()
    work(text)
    return time.process_time() - began


KIND = Kind(
    "growth",
    "texts of a rule's own words and examples at 10k, 100k and 1M characters: time grows with the length",
    prepare,
    quick=Budget(260, 360),
    full=Budget(2600, 4 * 3600),
)
