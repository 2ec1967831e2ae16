"""Where a hit does not count: denied, quoted, reported, supposed, or said with other words around it."""

from collections.abc import Mapping

from synthesis.rules.pattern import Pattern, PreparedPattern
from synthesis.rules.schema import Guard
from synthesis.rules.text import Text

REACH = 300


class ReadyGuard:
    """A guard with its patterns."""

    def __init__(self, guard: Guard, patterns: Mapping[str, PreparedPattern]) -> None:
        self._quoted = guard.quoted
        self._before, self._after, self._sentence = (
            [Pattern(patterns[source]) for source in sources] for sources in (guard.before, guard.after, guard.sentence)
        )

    def holds(self, text: Text, start: int, end: int) -> bool:
        """Whether the hit from `start` to `end` must not count."""
        return (
            (self._quoted and text.is_quoted(start, end))
            or any(_stands_before(pattern, text, start) for pattern in self._before)
            or any(_stands_after(pattern, text.normal, end) for pattern in self._after)
            or any(_in_sentence(pattern, text, start) for pattern in self._sentence)
        )


def _stands_before(pattern: Pattern, text: Text, start: int) -> bool:
    first = max(text.sentence_at(start)[0], start - pattern.longest - 3)
    return pattern.at_end.search(text.normal[max(0, first - 1) : start]) is not None


def _stands_after(pattern: Pattern, normal: str, end: int) -> bool:
    while end < len(normal) and normal[end] in " ,\"'":
        end += 1
    return pattern.compiled.match(normal, end) is not None


def _in_sentence(pattern: Pattern, text: Text, start: int) -> bool:
    """A sentence without end is looked at near the hit only, so that many hits in it stay cheap."""
    first, last = text.sentence_at(start)
    return pattern.compiled.search(text.normal, max(first, start - REACH), min(last, start + REACH)) is not None
