"""Text in, hits out: all rules of one language over one message, in time that grows with the text alone.

The literals of all patterns are looked for in one pass; only where they stand are the patterns tried, and only
where a pattern matches are its guards asked.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import ahocorasick_rs

from synthesis.rules.guards import GuardWords, ReadyGuard, Surroundings
from synthesis.rules.pattern import Pattern, PreparedPattern
from synthesis.rules.schema import Guard, Rule, Sentence
from synthesis.rules.text import Text

Span = tuple[int, int]


class Hit(NamedTuple):
    """A rule that fired, at a place of the normal form, by one of its wordings."""

    rule: Rule
    start: int
    end: int
    source: str


class _Ready(NamedTuple):
    """A rule with its patterns by number, and its guards."""

    rule: Rule
    patterns: tuple[int, ...]
    sentence: "_ReadySentence | None"
    guards: tuple[ReadyGuard, ...]


class _ReadySentence(NamedTuple):
    form: str
    starts: tuple[int, ...]
    has: tuple[int, ...]
    also: tuple[int, ...]
    lacks: tuple[int, ...]

    @property
    def necessary(self) -> tuple[int, ...]:
        """Patterns of which one must be found for the sentence to fit."""
        return self.has or self.starts


class Matcher:
    """All rules of one language for one side of the conversation."""

    def __init__(
        self,
        rules: Iterable[Rule],
        guards: Mapping[str, Guard],
        prepared: Mapping[str, PreparedPattern],
        *,
        spaced: bool = True,
    ) -> None:
        self._prepared = prepared
        self._spaced = spaced
        self._patterns: list[Pattern] = []
        self._numbers: dict[str, int] = {}
        self._guards: dict[Guard, ReadyGuard] = {}
        self._guard_words = GuardWords()
        self._rules = [self._ready(rule, guards) for rule in rules]
        self._list_rules = [index for index, ready in enumerate(self._rules) if ready.rule.list_items]
        self._build_automaton()

    def scan(self, text: Text) -> list[Hit]:
        """Every unguarded hit, in the order of the text."""
        spans = self._spans(text.normal)
        awake = set(self._list_rules).union(*(self._awakened[number] for number in spans))
        around = Surroundings(text, self._guard_words)
        hits = [hit for index in awake for hit in self._hits(self._rules[index], spans, around)]
        hits.sort(key=lambda hit: (hit.start, -hit.end, hit.rule.id))
        return hits

    def _ready(self, rule: Rule, guards: Mapping[str, Guard]) -> _Ready:
        asked = [guards[name] for name in rule.guards]
        asked += [rule.unless] if rule.unless else []
        ready_guards = tuple(map(self._guard, asked))
        sentence = self._ready_sentence(rule.sentence) if rule.sentence else None
        return _Ready(rule, self._number_all(rule.patterns), sentence, ready_guards)

    def _guard(self, guard: Guard) -> ReadyGuard:
        """A guard that many rules share is made once."""
        if guard not in self._guards:
            self._guards[guard] = ReadyGuard(guard, self._prepared, self._guard_words)
        return self._guards[guard]

    def _ready_sentence(self, sentence: Sentence) -> _ReadySentence:
        parts = (sentence.starts, sentence.has, sentence.also, sentence.lacks)
        return _ReadySentence(sentence.form, *map(self._number_all, parts))

    def _number_all(self, sources: Iterable[str]) -> tuple[int, ...]:
        return tuple(self._number(source) for source in sources)

    def _number(self, source: str) -> int:
        """Equal patterns are looked for once, whichever rules they belong to."""
        if source not in self._numbers:
            self._numbers[source] = len(self._patterns)
            self._patterns.append(Pattern(self._prepared[source]))
        return self._numbers[source]

    def _build_automaton(self) -> None:
        owners: dict[str, list[int]] = defaultdict(list)
        self._everywhere = [n for n, pattern in enumerate(self._patterns) if pattern.literals is None]
        for number, pattern in enumerate(self._patterns):
            for literal in pattern.literals.texts if pattern.literals else ():
                owners[literal].append(number)
        self._owners = list(owners.values())
        self._at_start = [all(map(self._begins_a_word, numbers)) for numbers in self._owners]
        self._awakened: list[list[int]] = [[] for _ in self._patterns]
        for index, ready in enumerate(self._rules):
            for number in {*ready.patterns, *(ready.sentence.necessary if ready.sentence else ())}:
                self._awakened[number].append(index)
        self._automaton = ahocorasick_rs.AhoCorasick(list(owners))

    def _begins_a_word(self, number: int) -> bool:
        literals = self._patterns[number].literals
        return self._spaced and literals is not None and literals.lead == 0

    def _spans(self, normal: str) -> dict[int, list[Span]]:
        spans = {number: self._patterns[number].spans(normal, None) for number in self._everywhere}
        places: dict[int, list[int]] = {}
        for literal, start, _ in self._automaton.find_matches_as_indexes(normal, overlapping=True):
            if start and self._at_start[literal] and normal[start - 1].isalnum() and normal[start].isalnum():
                continue  # inside a word, where none of its patterns can begin
            for number in self._owners[literal]:
                if number in places:
                    places[number].append(start)
                else:
                    places[number] = [start]
        for number, starts in places.items():
            found = self._patterns[number].spans(normal, starts)
            if found:
                spans[number] = found
        return spans

    def _hits(self, ready: _Ready, spans: Mapping[int, list[Span]], around: Surroundings) -> list[Hit]:
        text = around.text
        hits = [
            Hit(ready.rule, start, end, self._patterns[number].source)
            for number in ready.patterns
            for start, end in spans.get(number, ())
        ]
        if ready.sentence:
            found = _sentences(ready.sentence, spans, text)
            hits += [Hit(ready.rule, start, end, ready.rule.source) for start, end in found]
        if ready.rule.list_items and len(text.list_items) >= ready.rule.list_items:
            hits.append(Hit(ready.rule, text.list_items[0][0], text.list_items[-1][1], ready.rule.source))
        if not hits:
            return hits
        free = [hit for hit in hits if not any(guard.holds(around, hit.start, hit.end) for guard in ready.guards)]
        return _outermost(free)


def _sentences(wanted: _ReadySentence, spans: Mapping[int, list[Span]], text: Text) -> list[Span]:
    return [(start, end) for start, end in text.sentences if _fits(wanted, spans, text.normal, start, end)]


def _fits(wanted: _ReadySentence, spans: Mapping[int, list[Span]], normal: str, start: int, end: int) -> bool:
    def within(numbers: tuple[int, ...]) -> bool:
        return any(_one_within(spans[number], start, end) for number in numbers if number in spans)

    if wanted.form != "any" and (wanted.form == "question") != normal[start:end].rstrip("\"')").endswith("?"):
        return False
    if wanted.starts and not any(_one_at(spans[n], start) for n in wanted.starts if n in spans):
        return False
    return all(within(group) for group in (wanted.has, wanted.also) if group) and not within(wanted.lacks)


def _one_within(ordered: list[Span], start: int, end: int) -> bool:
    first = bisect_left(ordered, (start, 0))
    return first < len(ordered) and ordered[first][1] <= end


def _one_at(ordered: list[Span], start: int) -> bool:
    first = bisect_left(ordered, (start, 0))
    return first < len(ordered) and ordered[first][0] == start


def _outermost(hits: list[Hit]) -> list[Hit]:
    """Without the hits that lie inside another hit of the same rule."""
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
        if not kept or hit.end > kept[-1].end:
            kept.append(hit)
    return kept
