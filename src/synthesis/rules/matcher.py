"""Matches all rules of one language against one message, in time that depends on the text alone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import ahocorasick_rs

from synthesis.cancellation import checkpoint
from synthesis.lazy import regex
from synthesis.rules.detection import Detected, Detector
from synthesis.rules.pattern import MOST_SETS, STEM, Pattern, PreparedPattern, RequiredWords, either, together
from synthesis.rules.reading import Hit, Message, Reading
from synthesis.rules.schema import GuardRule, Rule, SentenceRule
from synthesis.rules.text import UNDETERMINED, WORD_CHARACTERS, Language, Span, Text

_WORDS_AND_MARKS = regex(f"([{WORD_CHARACTERS}]+)([^{WORD_CHARACTERS}]?)")
_SURROGATE = regex("[\ud800-\udfff]")
_OF_A_WORD = regex(f"[{WORD_CHARACTERS}]")


class WordPrefilter:
    """Rules out numbered patterns by the words that they require."""

    def __init__(self, required: Sequence[RequiredWords]) -> None:
        # One bit per pattern and rank: a pattern has up to MOST_SETS sets, and each must be met by some word.
        self._patterns = len(required)
        self._all = (1 << self._patterns) - 1
        self._absent = 0  # the bits of sets that a pattern does not have: met by any text
        meets: dict[str, int] = {}
        for number, sets in enumerate(required):
            self._add(number, sets, meets)
        self._keep(_shared(meets))

    def _add(self, number: int, sets: RequiredWords, meets: dict[str, int]) -> None:
        for rank in range(MOST_SETS):
            bit = 1 << (rank * self._patterns + number)
            if rank >= len(sets):
                self._absent |= bit
            for word in sets[rank] if rank < len(sets) else ():
                meets[word] = meets.get(word, 0) | bit

    def _keep(self, meets: dict[str, int]) -> None:
        self._words, self._stems, self._marks = {}, {}, {}
        for word, met in meets.items():
            if len(word) == 1 and not _OF_A_WORD.match(word):
                self._marks[word] = met
            elif word.endswith("*"):
                self._stems[word[:-1]] = met
            else:
                self._words[word] = met

    def possible(self, words: str) -> int:
        """The patterns all of whose requirements some words meet."""
        met = self._met_by(words)
        found = met & self._all
        for rank in range(1, MOST_SETS):
            found &= met >> (rank * self._patterns)
        return found

    def _met_by(self, words: str) -> int:
        met = self._absent
        for mark in self._marks:
            if mark in words:
                met |= self._marks[mark]
        known, stem = self._words.get, self._stems.get
        before = ""
        for word, mark in _WORDS_AND_MARKS.findall(words):
            if meets := known(word):
                met |= meets
            if meets := known(before + word):
                met |= meets
            if meets := stem(word[:STEM]):
                met |= meets
            before = word + mark
        return met


class SubstringPrefilter(WordPrefilter):
    """The same for a language without spaces between words: any piece of text can be required."""

    def _keep(self, meets: dict[str, int]) -> None:
        self._meets = list(meets.values())
        self._automaton = ahocorasick_rs.AhoCorasick(list(meets))

    def _met_by(self, words: str) -> int:
        met = self._absent
        if not words.isascii():
            words = _SURROGATE.sub("\ufffd", words)  # which JSON lets in, and the automaton does not take
        for piece in {piece for piece, _, _ in self._automaton.find_matches_as_indexes(words, overlapping=True)}:
            met |= self._meets[piece]
        return met


def prefilter_for(required: Sequence[RequiredWords], *, spaced: bool) -> WordPrefilter:
    """The prefilter of patterns in a language with spaces between words, or without."""
    return WordPrefilter(required) if spaced else SubstringPrefilter(required)


def _shared(meets: dict[str, int]) -> dict[str, int]:
    """Equal integers as one object: the words of a list mostly meet the same sets, and the integers are large."""
    seen: dict[int, int] = {}
    return {word: seen.setdefault(met, met) for word, met in meets.items()}


class PatternIndex:
    """Patterns, each searched for once however many rules, guards and sentence rules name it."""

    def __init__(self, prepared: Mapping[str, PreparedPattern], *, spaced: bool) -> None:
        self._prepared = prepared
        self._spaced = spaced
        self._numbers: dict[str, int] = {}
        self.required: list[RequiredWords] = []  # by number
        self.patterns: dict[int, Pattern] = {}

    def numbers(self, sources: Iterable[str]) -> list[int]:
        """The numbers of patterns, in their order."""
        return [self._number(source) for source in sources]

    def set_of(self, sources: Iterable[str]) -> int:
        """Patterns as a set."""
        return sum(1 << number for number in set(self.numbers(sources)))

    def _number(self, source: str) -> int:
        if source not in self._numbers:
            number = self._numbers[source] = self.add(self._prepared[source].required_words)
            self.patterns[number] = Pattern(self._prepared[source])
        return self._numbers[source]

    def add(self, required: RequiredWords) -> int:
        """A number for something that is not a pattern, but that a line must meet requirements for too."""
        self.required.append(required)
        return len(self.required) - 1

    def required_by_one_of(self, sources: Iterable[str]) -> RequiredWords:
        """What a line must hold if one of these patterns is to match."""
        return either(self._prepared[source].required_words for source in sources)

    def members(self, patterns: int) -> list[Pattern]:
        """The patterns of a set."""
        return [self.patterns[number] for number in members(patterns)]

    @cached_property
    def prefilter(self) -> WordPrefilter:
        """Made when the last pattern is in."""
        return prefilter_for(self.required, spaced=self._spaced)


class NormalLine:
    """A line of the normal form: a sentence, or several in a language without spaces. No pattern matches beyond it."""

    __slots__ = ("_before", "_prefilter", "end", "guarded", "possible", "spans", "start", "text")

    def __init__(self, text: Text, start: int, words: str, prefilter: WordPrefilter) -> None:
        self.text = text
        self.start = start
        self.end = start + len(words)
        self.spans: dict[int, list[Span]] = {}  # of the patterns that match, by number
        self.guarded: dict[tuple[object, int], bool] = {}  # what guards have found at which place
        self.possible = prefilter.possible(words)
        self._prefilter = prefilter
        self._before: dict[tuple[int, int], int] = {}

    def possible_before(self, place: int, reach: int) -> int:
        """The patterns that can match in the part of the line that ends at a place, and is `reach` long at most."""
        if (place, reach) not in self._before:
            words = self.text.normal[max(self.start, place - reach) : place]
            self._before[place, reach] = self._prefilter.possible(words)
        return self._before[place, reach]


def members(patterns: int) -> list[int]:
    """The numbers in a set of patterns."""
    found: list[int] = []
    while patterns:
        lowest = patterns & -patterns
        found.append(lowest.bit_length() - 1)
        patterns ^= lowest
    return found


# What a rule can ask for beyond its wordings: a form of sentence, and guards under which a hit does not count.


# A guard that asks for words in the same sentence looks so many characters to either side of a hit. A text without
# sentence ends would otherwise be searched as a whole for each of its hits, in quadratic time.
REACH = 300
# What is cut from a text before a hit, beyond the longest match: two marks or spaces that may stand between, and the
# characters that show whether a word begins there.
SLACK = 4
FEW = 4  # patterns: trying them takes less time than looking up the words before a hit
_QUESTION_MARKS = (("?", "か。"),)  # a line without one of these holds no question


class PreparedSentence:
    """A sentence rule with its patterns, and a number of its own, by which most lines are ruled out unread."""

    def __init__(self, sentence: SentenceRule, index: PatternIndex) -> None:
        self.form = sentence.form
        self._index = index
        wanted = (sentence.starts, sentence.has, sentence.also)
        self.starts, self.has, self.also, self.lacks = map(index.set_of, (*wanted, sentence.lacks))
        words = [index.required_by_one_of(group) for group in wanted if group]
        self.number = index.add(together([*words, _QUESTION_MARKS] if self.form == "question" else words))

    def found(self, line: NormalLine) -> list[Span]:
        """The sentences of a line that fit."""
        return [span for span in line.text.sentences_in(line.start, line.end) if self._fits(line, *span)]

    def _fits(self, line: NormalLine, start: int, end: int) -> bool:
        normal = line.text.normal
        if self.form != "any" and (self.form == "question") != is_question(normal, start, end):
            return False
        if self.starts and not any(
            pattern.begins(normal, start, end) for pattern in self._index.members(self.starts & line.possible)
        ):
            return False
        return (
            (not self.has or self._has_one(self.has, line, start, end))
            and (not self.also or self._has_one(self.also, line, start, end))
            and not self._has_one(self.lacks, line, start, end)
        )

    def _has_one(self, wanted: int, line: NormalLine, start: int, end: int) -> bool:
        patterns = self._index.members(wanted & line.possible)
        return any(pattern.is_in(line.text.normal, start, end) for pattern in patterns)


def is_question(normal: str, start: int, end: int) -> bool:
    """By its mark, or by the Japanese particle that asks before a full stop."""
    return normal[max(start, end - 4) : end].rstrip("\"')").endswith(("?", "か。"))


class PreparedGuard:
    """A guard with its patterns: a hit does not count where it is denied, quoted, reported or supposed."""

    def __init__(self, guard: GuardRule, index: PatternIndex) -> None:
        self._index = index
        self.quoted = guard.quoted
        self.before, self.after, self.sentence = map(index.set_of, (guard.before, guard.after, guard.sentence))
        self.reach = max((pattern.longest + SLACK for pattern in index.members(self.before)), default=0)
        self._patterns = self.before | self.after | self.sentence

    def holds(self, line: NormalLine, start: int, end: int) -> bool:
        """Whether the hit from `start` to `end` must not count."""
        return (
            (self.quoted and line.text.is_quoted(start, end))
            or self._words_follow(line, end)
            or self._holds_at(line, start)
        )

    def may_hold_in(self, line: NormalLine) -> bool:
        """Most lines hold no word of a guard, and no quotation."""
        return bool(self._patterns & line.possible) or (self.quoted and bool(line.text.quotations))

    def _words_follow(self, line: NormalLine, end: int) -> bool:
        possible = self.after & line.possible
        if not possible:
            return False
        normal = line.text.normal
        while end < line.end and normal[end] in " ,\"'":
            end += 1
        return any(pattern.begins(normal, end, line.end) for pattern in self._index.members(possible))

    def _holds_at(self, line: NormalLine, start: int) -> bool:
        """What depends on the start of the hit alone; kept, since several rules often ask it of the same place."""
        known = line.guarded.get((self, start))
        if known is None:
            known = self._words_precede(line, start) or self._in_sentence(line, start)
            line.guarded[self, start] = known
        return known

    def _words_precede(self, line: NormalLine, start: int) -> bool:
        possible = self.before & line.possible
        if start == line.start or not possible:
            return False
        if possible.bit_count() > FEW:
            possible &= line.possible_before(start, self.reach)
        first = line.text.sentence_at(start)[0]
        normal = line.text.normal
        return any(
            pattern.ends(normal[max(0, first - 1, start - pattern.longest - SLACK) : start])
            for pattern in self._index.members(possible)
        )

    def _in_sentence(self, line: NormalLine, start: int) -> bool:
        possible = self.sentence & line.possible
        if not possible:
            return False
        first, last = line.text.sentence_at(start)
        words = line.text.normal[max(first, start - REACH) : min(last, start + REACH)]
        return any(pattern.is_in(words, 0, len(words)) for pattern in self._index.members(possible))


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
        asked += [rule.exception] if rule.exception else []
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


# Reading in Python: the reference, and what reads where there is no compiled reader.


class Rules(Protocol):
    """What it must know of the rules in force."""

    @property
    def detector(self) -> Detector: ...

    def language_of(self, message: Message) -> tuple[Language, str]: ...

    def matcher(self, language: str, where: str, signals: frozenset[str] | None) -> Matcher: ...


class PythonReader:
    """Reads messages in batches: a matcher goes through many texts pattern by pattern."""

    name = "python"
    declined = 0

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def languages(self, conversations: Sequence[Sequence[str]]) -> list[list[Detected]]:
        """The language of each message of each conversation."""
        return [self._rules.detector.conversation(texts) for texts in conversations]

    def read(self, messages: Sequence[Message]) -> list[Reading]:
        """The reading of each message; one whose language has no rules has no hits."""
        texts = [Text(message.text, *self._rules.language_of(message)) for message in messages]
        hits: list[Sequence[Hit]] = [()] * len(texts)
        waiting: dict[tuple[str, str, frozenset[str] | None], list[int]] = defaultdict(list)
        for number, (message, text) in enumerate(zip(messages, texts, strict=True)):
            if text.normal and text.language.code != UNDETERMINED:
                waiting[text.language.code, message.where, message.signals].append(number)
        for key, numbers in waiting.items():
            found = self._rules.matcher(*key).scan([texts[number] for number in numbers])
            for number, its_hits in zip(numbers, found, strict=True):
                hits[number] = its_hits
        return list(map(Reading.of, texts, hits))
