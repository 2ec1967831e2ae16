"""Where a hit does not count: denied, quoted, reported, supposed, or said with other words around it."""

from collections.abc import Mapping

from synthesis.rules.pattern import Pattern, PreparedPattern
from synthesis.rules.schema import Guard
from synthesis.rules.text import Text

REACH = 300  # characters of a sentence without end that are looked at, so that many hits in it stay cheap


class ReadyGuard:
    """A guard with its patterns."""

    def __init__(self, guard: Guard, prepared: Mapping[str, PreparedPattern]) -> None:
        self._quoted = guard.quoted
        self._before, self._after, self._sentence = (
            [Pattern(prepared[source]) for source in sources] for sources in (guard.before, guard.after, guard.sentence)
        )

    def holds(self, text: Text, start: int, end: int) -> bool:
        """Whether the hit from `start` to `end` must not count."""
        return (
            (self._quoted and text.is_quoted(start, end))
            or any(_stands_after(pattern, text.normal, end) for pattern in self._after)
            or (bool(self._before or self._sentence) and self._holds_at(text, start))
        )

    def _holds_at(self, text: Text, start: int) -> bool:
        """What hangs on the beginning of the hit alone; several rules often ask it of the same place."""
        known = text.guarded.get((self, start))
        if known is None:
            known = self._stands_before(text, start) or self._in_sentence(text, start)
            text.guarded[self, start] = known
        return known

    def _stands_before(self, text: Text, start: int) -> bool:
        """Most hits have no guarding word near them; a look for the fixed words tells so quickly."""
        first = text.sentence_at(start)[0] if self._before else 0
        for pattern in self._before:
            words = text.normal[max(0, first - 1, start - pattern.longest - 4) : start]
            if pattern.may_be_in(words) and pattern.at_end.search(words):
                return True
        return False

    def _in_sentence(self, text: Text, start: int) -> bool:
        if not self._sentence:
            return False
        first, last = text.sentence_at(start)
        words = text.normal[max(first, start - REACH) : min(last, start + REACH)]
        return any(pattern.may_be_in(words) and pattern.compiled.search(words) for pattern in self._sentence)


def _stands_after(pattern: Pattern, normal: str, end: int) -> bool:
    while end < len(normal) and normal[end] in " ,\"'":
        end += 1
    return pattern.compiled.match(normal, end) is not None
