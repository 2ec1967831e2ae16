"""Text in, hits out: all rules of one language over one message, in time that grows with the text alone.

A line's words select the patterns worth trying, and only where a pattern matches are the guards of its rule asked.
docs/design/matcher.md says why.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from synthesis.cancellation import checkpoint
from synthesis.rules.conditions import PreparedGuard, PreparedSentence
from synthesis.rules.index import NormalLine, PatternIndex, members
from synthesis.rules.pattern import PreparedPattern
from synthesis.rules.reading import Hit
from synthesis.rules.schema import GuardRule, Rule
from synthesis.rules.text import Text


class _Match(NamedTuple):
    """A match of a rule at a place of the normal form; leaves this module as a Hit in the original."""

    rule: Rule
    start: int
    end: int
    source: str


class PreparedRule(NamedTuple):
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
        self.index = PatternIndex(prepared, spaced=spaced)
        self.guards: dict[GuardRule, PreparedGuard] = {}
        self.rules = [self._prepared(rule, guards) for rule in rules]
        self._list_rules = [prepared for prepared in self.rules if prepared.rule.list_items]
        self._owners: dict[int, list[PreparedRule]] = defaultdict(list)
        for rule in self.rules:
            for number in dict.fromkeys(rule.patterns):
                self._owners[number].append(rule)
        self._sentences = {rule.sentence.number: rule for rule in self.rules if rule.sentence}
        self._wordings = sum(1 << number for number in self._owners)
        self._sentence_forms = sum(1 << number for number in self._sentences)

    def scan(self, texts: Sequence[Text]) -> list[list[Hit]]:
        """Every unguarded hit in each text, in its order."""
        lines = [self._lines(text) for text in texts]
        self._try_wordings([line for its_lines in lines for line in its_lines])
        return [self._hits_in(text, its_lines) for text, its_lines in zip(texts, lines, strict=True)]

    def _prepared(self, rule: Rule, guards: Mapping[str, GuardRule]) -> PreparedRule:
        asked = [guards[name] for name in rule.guards]
        asked += [rule.unless] if rule.unless else []
        sentence = PreparedSentence(rule.sentence, self.index) if rule.sentence else None
        return PreparedRule(rule, self.index.numbers(rule.patterns), sentence, list(map(self._guard, asked)))

    def _guard(self, guard: GuardRule) -> PreparedGuard:
        """A guard that many rules share is made once."""
        if guard not in self.guards:
            self.guards[guard] = PreparedGuard(guard, self.index)
        return self.guards[guard]

    def _lines(self, text: Text) -> list[NormalLine]:
        prefilter = self.index.prefilter
        lines: list[NormalLine] = []
        start = 0
        for words in text.normal.split("\n"):
            if words:
                checkpoint()
                lines.append(NormalLine(text, start, words, prefilter))
            start += len(words) + 1
        return lines

    def _try_wordings(self, lines: list[NormalLine]) -> None:
        """Search pattern by pattern, not line by line: a large expression then stays in the processor's cache."""
        waiting: dict[int, list[NormalLine]] = defaultdict(list)
        for line in lines:
            for number in members(line.possible & self._wordings):
                waiting[number].append(line)
        for number, its_lines in waiting.items():
            checkpoint()
            spans = self.index.patterns[number].spans
            for line in its_lines:
                if found := spans(line.text.normal, line.start, line.end):
                    line.spans[number] = found

    def _hits_in(self, text: Text, lines: list[NormalLine]) -> list[Hit]:
        matches = [match for line in lines for rule in self._rules_for(line) for match in self._matches(rule, line)]
        matches += [match for rule in self._list_rules for match in self._in_list(rule, text)]
        matches.sort(key=lambda match: (match.start, -match.end, match.rule.id))
        return [_hit(match, text) for match in matches]

    def _rules_for(self, line: NormalLine) -> Iterable[PreparedRule]:
        """The rules that may have a match in a line."""
        checkpoint()
        found = {rule.rule.id: rule for number in line.spans for rule in self._owners[number]}
        for number in members(line.possible & self._sentence_forms):
            found[self._sentences[number].rule.id] = self._sentences[number]
        return found.values()

    def _matches(self, rule: PreparedRule, line: NormalLine) -> list[_Match]:
        matches = [
            _Match(rule.rule, start, end, self.index.patterns[number].source)
            for number in rule.patterns
            if number in line.spans
            for start, end in line.spans[number]
        ]
        if rule.sentence:
            matches += [_Match(rule.rule, start, end, rule.rule.source) for start, end in rule.sentence.found(line)]
        return _outermost(_unguarded(matches, rule, line)) if matches else matches

    def _in_list(self, rule: PreparedRule, text: Text) -> list[_Match]:
        """The list as a whole, if it has as many items as the rule says."""
        items = text.list_items
        if len(items) < rule.rule.list_items:
            return []
        start, end = items[0]
        line = NormalLine(text, start, text.normal[start:end], self.index.prefilter)
        return _unguarded([_Match(rule.rule, start, items[-1][1], rule.rule.source)], rule, line)


def _hit(match: _Match, text: Text) -> Hit:
    start, end = text.span(match.start, match.end)
    return Hit(match.rule, match.source, start, end, text.original[start:end])


def _unguarded(matches: list[_Match], rule: PreparedRule, line: NormalLine) -> list[_Match]:
    guards = [guard for guard in rule.guards if guard.may_hold_in(line)]
    if not guards:
        return matches
    return [match for match in matches if not _is_guarded(match, guards, line)]


def _is_guarded(match: _Match, guards: Iterable[PreparedGuard], line: NormalLine) -> bool:
    checkpoint()
    return any(guard.holds(line, match.start, match.end) for guard in guards)


def _outermost(matches: list[_Match]) -> list[_Match]:
    """Without the matches that lie inside another match of the same rule."""
    if len(matches) < 2:
        return matches
    kept: list[_Match] = []
    for match in sorted(matches, key=lambda match: (match.start, -match.end)):
        if not kept or match.end > kept[-1].end:
            kept.append(match)
    return kept
