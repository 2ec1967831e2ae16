"""Where a hit does not count: denied, quoted, reported, supposed, or said with other words around it."""

from synthesis.rules.index import Line, PatternIndex
from synthesis.rules.schema import Guard

REACH = 300  # characters of a sentence without end that are looked at, so that many hits in it stay cheap


class ReadyGuard:
    """A guard with its patterns."""

    def __init__(self, guard: Guard, index: PatternIndex) -> None:
        self._index = index
        self._quoted = guard.quoted
        self._before, self._after, self._sentence = map(index.set_of, (guard.before, guard.after, guard.sentence))
        self._reach = max((pattern.longest + 4 for pattern in index.members(self._before)), default=0)
        self._patterns = self._before | self._after | self._sentence

    def holds(self, line: Line, start: int, end: int) -> bool:
        """Whether the hit from `start` to `end` must not count."""
        return (
            (self._quoted and line.text.is_quoted(start, end))
            or self._stands_after(line, end)
            or self._holds_at(line, start)
        )

    def may_hold_in(self, line: Line) -> bool:
        """Most lines hold no word of a guard, and no quotation."""
        return bool(self._patterns & line.possible) or (self._quoted and bool(line.text.quotations))

    def _stands_after(self, line: Line, end: int) -> bool:
        possible = self._after & line.possible
        if not possible:
            return False
        normal = line.text.normal
        while end < line.end and normal[end] in " ,\"'":
            end += 1
        return any(pattern.begins(normal, end, line.end) for pattern in self._index.members(possible))

    def _holds_at(self, line: Line, start: int) -> bool:
        """What hangs on the beginning of the hit alone; several rules often ask it of the same place."""
        known = line.guarded.get((self, start))
        if known is None:
            known = self._stands_before(line, start) or self._in_sentence(line, start)
            line.guarded[self, start] = known
        return known

    def _stands_before(self, line: Line, start: int) -> bool:
        if start == line.start or not self._before & line.possible:
            return False
        possible = self._before & line.possible_before(start, self._reach)
        if not possible:
            return False
        first = line.text.sentence_at(start)[0]
        normal = line.text.normal
        return any(
            pattern.ends(normal[max(0, first - 1, start - pattern.longest - 4) : start])
            for pattern in self._index.members(possible)
        )

    def _in_sentence(self, line: Line, start: int) -> bool:
        possible = self._sentence & line.possible
        if not possible:
            return False
        first, last = line.text.sentence_at(start)
        words = line.text.normal[max(first, start - REACH) : min(last, start + REACH)]
        return any(pattern.is_in(words, 0, len(words)) for pattern in self._index.members(possible))
