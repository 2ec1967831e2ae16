"""Text in, hits out: all rules of one language over one message, in time that grows with the text alone.

The literals of all patterns are looked for in one pass; only where they stand are the patterns tried, and only
where a pattern matches are its guards asked.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import ahocorasick_rs

from synthesis.rules.guards import ReadyGuard
from synthesis.rules.pattern import Pattern, PreparedPattern
from synthesis.rules.schema import Guard, Rule
from synthesis.rules.sentences import ReadySentence, Span
from synthesis.rules.text import Text


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
    sentence: ReadySentence | None
    triggers: tuple[int, ...]
    guards: tuple[ReadyGuard, ...]


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
        self._rules = [self._ready(rule, guards) for rule in rules]
        self._list_rules = [index for index, ready in enumerate(self._rules) if ready.rule.list_items]
        self._build_automaton()

    def scan(self, text: Text) -> list[Hit]:
        """Every unguarded hit, in the order of the text."""
        spans = self._spans(text.normal)
        awake = set(self._list_rules).union(*(self._awakened[number] for number in spans))
        hits = [hit for index in awake for hit in self._hits(self._rules[index], spans, text)]
        hits.sort(key=lambda hit: (hit.start, -hit.end, hit.rule.id))
        return hits

    def _ready(self, rule: Rule, guards: Mapping[str, Guard]) -> _Ready:
        asked = [guards[name] for name in rule.guards]
        asked += [rule.unless] if rule.unless else []
        ready_guards = tuple(map(self._guard, asked))
        sentence = ReadySentence.of(rule.sentence, self._prepared) if rule.sentence else None
        triggers = self._number_all(sentence.trigger) if sentence else ()
        return _Ready(rule, self._number_all(rule.patterns), sentence, triggers, ready_guards)

    def _guard(self, guard: Guard) -> ReadyGuard:
        """A guard that many rules share is made once."""
        if guard not in self._guards:
            self._guards[guard] = ReadyGuard(guard, self._prepared)
        return self._guards[guard]

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
        self._whole_words = [self._spaced and all(map(self._begins_word, numbers)) for numbers in self._owners]
        self._awakened: list[list[int]] = [[] for _ in self._patterns]
        for index, ready in enumerate(self._rules):
            for number in {*ready.patterns, *ready.triggers}:
                self._awakened[number].append(index)
        self._automaton = ahocorasick_rs.AhoCorasick(list(owners))

    def _begins_word(self, number: int) -> bool:
        literals = self._patterns[number].literals
        return literals is not None and literals.begins_word

    def _spans(self, normal: str) -> dict[int, list[Span]]:
        spans = {number: self._patterns[number].spans(normal, None) for number in self._everywhere}
        places: dict[int, list[int]] = {}
        whole_words = self._whole_words
        for literal, start, _ in self._automaton.find_matches_as_indexes(normal, overlapping=True):
            if start and whole_words[literal] and normal[start - 1].isalnum() and normal[start].isalnum():
                continue  # inside a word, where it means nothing
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

    def _hits(self, ready: _Ready, spans: Mapping[int, list[Span]], text: Text) -> list[Hit]:
        hits = [
            Hit(ready.rule, start, end, self._patterns[number].source)
            for number in ready.patterns
            for start, end in spans.get(number, ())
        ]
        if ready.sentence:
            triggers = (span for number in ready.triggers for span in spans.get(number, ()))
            found = ready.sentence.found(text, triggers)
            hits += [Hit(ready.rule, start, end, ready.rule.source) for start, end in found]
        if ready.rule.list_items and len(text.list_items) >= ready.rule.list_items:
            hits.append(Hit(ready.rule, text.list_items[0][0], text.list_items[-1][1], ready.rule.source))
        if not hits:
            return hits
        free = [hit for hit in hits if not any(guard.holds(text, hit.start, hit.end) for guard in ready.guards)]
        return _outermost(free)


def _outermost(hits: list[Hit]) -> list[Hit]:
    """Without the hits that lie inside another hit of the same rule."""
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
        if not kept or hit.end > kept[-1].end:
            kept.append(hit)
    return kept
