"""What the learned reader adds to rules: scores of a message and its reply become hits of the signals `learned.*`.

    learned.engagement_pressure    there where the score of the head is at or above `alone`
    backed(hits, 'pressure')       hits of rules; those that are often wrong only where the score is at or above `agree`

`reader/decisions.yaml` has the two numbers of each head and language, measured on rows that the weights were not
trained on. Where it names no number for a language, the reader has no say there, and rules decide as before.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from synthesis.errors import OptionError, did_you_mean
from synthesis.reader.engines import engine
from synthesis.reader.weights import BUNDLED, MESSAGE, REPLY, Weights, load
from synthesis.rules.cache import cached_values
from synthesis.rules.reading import Hit, Reading
from synthesis.rules.schema import Rule
from synthesis.settings import LEARNED, READERS, RULES

SWITCH = "SYNTHESIS_LEARNED"  # 0: rules alone, whatever is asked for
PREFIX = "learned."  # of the signals that it finds
DECISIONS = BUNDLED.with_name("decisions.yaml")
MOST_SPANS = 3
LEAST_OWN = 0.1  # of what speaks for a finding: below it, no words of its side are marked
ENOUGH = 0.6  # of what speaks for a finding on its side: then no further words are marked
USER, ASSISTANT = "user", "assistant"
SEGMENTS = {USER: (MESSAGE,), ASSISTANT: (REPLY,)}  # whose words a finding of a side marks


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one head is used; numbers are logits, by language."""

    side: str  # of the words that a finding marks
    why: str
    instead: str
    group: str = "learned"
    alone: dict[str, float] = {}  # from here on the score decides by itself
    agree: dict[str, float] = {}  # below it, rules that are often wrong do not count
    precise: tuple[str, ...] = ()  # groups and ids of rules that count whatever the score


class LearnedHit(Hit):
    """Words that carried a score: which part of what speaks for the finding they are, and how far it is sure."""

    reader: str
    score: float
    threshold: float
    share: float


class Scores(NamedTuple):
    """The scores of an exchange by head, in the whole numbers of the weights."""

    reader: "LearnedReader"
    values: tuple[int, ...]
    languages: Mapping[str, str]  # by side


class LearnedReader:
    """Weights, an engine that runs them, and the decisions that they are used by."""

    def __init__(self, weights: Weights, decisions: Mapping[str, Decision]) -> None:
        self.weights = weights
        self.decisions = decisions
        self.name = weights.name
        self._number = {head: number for number, head in enumerate(weights.heads)}
        self._rules = {head: _rule(head, decision) for head, decision in decisions.items()}

    @cached_property
    def engine(self) -> Any:
        return engine(self.weights)

    @cached_property
    def hash(self) -> str:
        """Changes when a weight or a decision does; texts for people are left out."""
        deciding = {
            head: (each.side, each.group, each.alone, each.agree, each.precise)
            for head, each in sorted(self.decisions.items())
        }
        content = msgspec.json.encode((self.weights.hash, deciding), order="deterministic")
        return hashlib.sha256(content).hexdigest()[:16]

    @property
    def rules(self) -> list[Rule]:
        """A finding of the reader shown like one of a rule: why, and what would be better."""
        return list(self._rules.values())

    def read(self, readings: Sequence[Reading], sides: Sequence[str]) -> None:
        """Add to each reading what its text says by itself."""
        texts = [reading.original for reading in readings]
        for reading, scores in zip(readings, self.engine.scores(texts, sides), strict=True):
            reading.learned = scores

    def scores(self, user: Reading, assistant: Reading, earlier: Reading | None) -> Scores:
        """The scores of an exchange: the sum of its parts."""
        count = len(self.weights.heads)
        parts = [self.weights.bias, user.learned[:count], assistant.learned]
        if earlier is not None:
            parts.append(earlier.learned[count:])
        languages = {USER: user.language.code, ASSISTANT: assistant.language.code}
        return Scores(self, tuple(map(sum, zip(*parts, strict=True))), languages)

    def logit(self, value: int) -> float:
        return value / (1 << self.weights.header.unit)

    def score(self, scores: Scores, head: str) -> float:
        return self.logit(scores.values[self._number[head]])

    def decision(self, head: str) -> Decision:
        if head not in self.decisions:
            raise OptionError(f"the learned reader has no head '{head}'", hint=did_you_mean(head, self.decisions))
        return self.decisions[head]

    def threshold(self, scores: Scores, head: str) -> float | None:
        """From where on a score decides alone in the language at hand; None: never."""
        decision = self.decision(head)
        return decision.alone.get(scores.languages[decision.side])

    def is_backed(self, scores: Scores, head: str) -> bool:
        """Whether the score lets rules count that are often wrong."""
        decision = self.decision(head)
        least = decision.agree.get(scores.languages[decision.side])
        return least is None or self.score(scores, head) >= least

    def hits(self, scores: Scores, head: str, texts: Mapping[int, str]) -> list[Hit]:
        """The words that carried a score that decides alone; none where it does not."""
        threshold = self.threshold(scores, head)
        if threshold is None or (score := self.score(scores, head)) < threshold:
            return []
        decision, number = self.decision(head), self._number[head]
        said = {segment: self.engine.contributions(text, segment, number) for segment, text in texts.items()}
        total = sum(one.amount for own in said.values() for one in own if one.amount > 0) or 1
        found: list[Hit] = []
        for segment in SEGMENTS[decision.side]:
            for start, end, amount in _spans(said.get(segment, ()), texts.get(segment, ""), total):
                hit = LearnedHit(self._rules[head], self.name, start, end, texts[segment][start:end])
                hit.reader, hit.score, hit.threshold = self.name, round(score, 3), threshold
                hit.share = round(amount / total, 3)
                found.append(hit)
        return sorted(found, key=lambda hit: (hit.start, -hit.end))


def _rule(head: str, decision: Decision) -> Rule:
    name = f"{PREFIX}{head}"
    return Rule(name, "", decision.group, {"en": decision.why}, {"en": decision.instead}, label=f"learned: {head}")


def _spans(tokens: Sequence[Any], text: str, total: int) -> Iterator[tuple[int, int, int]]:
    """The words that add most, with their neighbours, until enough of what speaks for it is marked."""
    own = sum(one.amount for one in tokens if one.amount > 0)
    if own < LEAST_OWN * total:  # what decided stands on the other side: this text as a whole is what it is about
        yield 0, len(text), 0
        return
    chosen = _strongest(tokens)
    # A word is read with those around it: alone, it would seldom say why.
    marked = sorted({near for place in chosen for near in range(max(0, place - 1), min(len(tokens), place + 2))})
    run: list[int] = []
    for place in [*marked, -1]:
        if run and place != run[-1] + 1:
            first, last = _trimmed(tokens, text, run, chosen)
            yield tokens[first].start, tokens[last].end, sum(tokens[each].amount for each in run if each in chosen)
            run = []
        run.append(place)


def _strongest(tokens: Sequence[Any]) -> set[int]:
    """The places of the tokens that add most, in a few runs, up to the share that is enough."""
    order = sorted(range(len(tokens)), key=lambda place: (-tokens[place].amount, place))
    wanted, reached, chosen = sum(one.amount for one in tokens if one.amount > 0) * ENOUGH, 0, set[int]()
    for place in order:
        if tokens[place].amount <= 0 or reached >= wanted:
            break
        if _runs(chosen | {place}) <= MOST_SPANS:
            chosen.add(place)
            reached += tokens[place].amount
    return chosen


def _trimmed(tokens: Sequence[Any], text: str, run: list[int], chosen: set[int]) -> tuple[int, int]:
    """A run without marks and spaces at its ends, unless one of them is what counted."""
    kept = [place for place in run if place in chosen or text[tokens[place].start].isalnum()]
    return kept[0], kept[-1]


def _runs(places: set[int]) -> int:
    """How many runs these places and their neighbours make."""
    return sum(not {place - 1, place - 2, place - 3} & places for place in places)


@cache
def learned_reader(name: str = LEARNED) -> LearnedReader | None:
    """The reader of this name: None is rules alone, also where it is switched off or a package has no weights."""
    if name not in READERS:
        raise OptionError(f"there is no reader '{name}'", hint=did_you_mean(name, READERS))
    is_off = name == RULES or os.environ.get(SWITCH) == "0" or not BUNDLED.is_file()
    return None if is_off else LearnedReader(load(BUNDLED), decisions(DECISIONS))


@cache
def decisions(path: Path = DECISIONS) -> dict[str, Decision]:
    return msgspec.convert(cached_values(path), dict[str, Decision])
