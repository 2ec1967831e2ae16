"""What a rule can ask for beyond its wordings: a form of sentence, and guards under which a hit does not count."""

from synthesis.rules.index import NormalLine, PatternIndex
from synthesis.rules.required_words import together
from synthesis.rules.schema import GuardRule, SentenceRule
from synthesis.rules.text import Span

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
