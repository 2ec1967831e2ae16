"""Text in, hits out: all rules of one language over one message, in time that grows with the text alone.

The words of a line tell which patterns it can match; only these are tried, and only where a pattern matches are the
guards of its rule asked.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from synthesis.rules.conditions import PreparedGuard, PreparedSentence
from synthesis.rules.index import NormalLine, PatternIndex, members
from synthesis.rules.pattern import PreparedPattern
from synthesis.rules.schema import GuardRule, Rule
from synthesis.rules.text import Text


class Hit(NamedTuple):
    """A rule that fired, at a place of the normal form, by one of its wordings."""

    rule: Rule
    start: int
    end: int
    source: str


class _PreparedRule(NamedTuple):
    """A rule with its patterns by number, and its guards."""

    rule: Rule
    patterns: list[int]
    sentence: PreparedSentence | None
    guards: list[PreparedGuard]


class Matcher:
    """All rules of one language for one side of the conversation."""

    def __init__(
        self,
        rules: Iterable[Rule],
        guards: Mapping[str, GuardRule],
        prepared: Mapping[str, PreparedPattern],
        *,
        spaced: bool = True,
    ) -> None:
        self._index = PatternIndex(prepared, spaced=spaced)
        self._guards: dict[GuardRule, PreparedGuard] = {}
        self._rules = [self._ready(rule, guards) for rule in rules]
        self._list_rules = [ready for ready in self._rules if ready.rule.list_items]
        self._owners: dict[int, list[_PreparedRule]] = defaultdict(list)
        for ready in self._rules:
            for number in dict.fromkeys(ready.patterns):
                self._owners[number].append(ready)
        self._sentences = {ready.sentence.number: ready for ready in self._rules if ready.sentence}
        self._wordings = sum(1 << number for number in self._owners)
        self._sentence_forms = sum(1 << number for number in self._sentences)

    def scan(self, texts: Sequence[Text]) -> list[list[Hit]]:
        """Every unguarded hit in each text, in its order."""
        lines = [self._lines(text) for text in texts]
        self._try_wordings([line for its_lines in lines for line in its_lines])
        return [self._hits_in(text, its_lines) for text, its_lines in zip(texts, lines, strict=True)]

    def _ready(self, rule: Rule, guards: Mapping[str, GuardRule]) -> _PreparedRule:
        asked = [guards[name] for name in rule.guards]
        asked += [rule.unless] if rule.unless else []
        sentence = PreparedSentence(rule.sentence, self._index) if rule.sentence else None
        return _PreparedRule(rule, self._index.numbers(rule.patterns), sentence, list(map(self._guard, asked)))

    def _guard(self, guard: GuardRule) -> PreparedGuard:
        """A guard that many rules share is made once."""
        if guard not in self._guards:
            self._guards[guard] = PreparedGuard(guard, self._index)
        return self._guards[guard]

    def _lines(self, text: Text) -> list[NormalLine]:
        prefilter = self._index.prefilter
        lines: list[NormalLine] = []
        start = 0
        for words in text.normal.split("\n"):
            if words:
                lines.append(NormalLine(text, start, words, prefilter))
            start += len(words) + 1
        return lines

    def _try_wordings(self, lines: list[NormalLine]) -> None:
        """One pattern after the other over all lines that it can match: a large expression is fetched once."""
        waiting: dict[int, list[NormalLine]] = defaultdict(list)
        for line in lines:
            for number in members(line.possible & self._wordings):
                waiting[number].append(line)
        for number, its_lines in waiting.items():
            spans = self._index.patterns[number].spans
            for line in its_lines:
                if found := spans(line.text.normal, line.start, line.end):
                    line.spans[number] = found

    def _hits_in(self, text: Text, lines: list[NormalLine]) -> list[Hit]:
        hits = [hit for line in lines for ready in self._awake(line) for hit in self._hits(ready, line)]
        hits += [hit for ready in self._list_rules for hit in self._in_list(ready, text)]
        hits.sort(key=lambda hit: (hit.start, -hit.end, hit.rule.id))
        return hits

    def _awake(self, line: NormalLine) -> Iterable[_PreparedRule]:
        """The rules of which a line may hold a hit."""
        awake = {ready.rule.id: ready for number in line.spans for ready in self._owners[number]}
        for number in members(line.possible & self._sentence_forms):
            awake[self._sentences[number].rule.id] = self._sentences[number]
        return awake.values()

    def _hits(self, ready: _PreparedRule, line: NormalLine) -> list[Hit]:
        hits = [
            Hit(ready.rule, start, end, self._index.patterns[number].source)
            for number in ready.patterns
            if number in line.spans
            for start, end in line.spans[number]
        ]
        if ready.sentence:
            hits += [Hit(ready.rule, start, end, ready.rule.source) for start, end in ready.sentence.found(line)]
        return _outermost(_free(hits, ready, line)) if hits else hits

    def _in_list(self, ready: _PreparedRule, text: Text) -> list[Hit]:
        """The list as a whole, if it has as many items as the rule says."""
        items = text.list_items
        if len(items) < ready.rule.list_items:
            return []
        start, end = items[0]
        line = NormalLine(text, start, text.normal[start:end], self._index.prefilter)
        return _free([Hit(ready.rule, start, items[-1][1], ready.rule.source)], ready, line)


def _free(hits: list[Hit], ready: _PreparedRule, line: NormalLine) -> list[Hit]:
    """The hits that no guard takes away."""
    guards = [guard for guard in ready.guards if guard.may_hold_in(line)]
    return (
        [hit for hit in hits if not any(guard.holds(line, hit.start, hit.end) for guard in guards)] if guards else hits
    )


def _outermost(hits: list[Hit]) -> list[Hit]:
    """Without the hits that lie inside another hit of the same rule."""
    if len(hits) < 2:
        return hits
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
        if not kept or hit.end > kept[-1].end:
            kept.append(hit)
    return kept
