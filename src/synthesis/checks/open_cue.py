"""The cue that a conversation still has to answer.

An explicit cue stays open until the replies since then have given care, safety and help, and a later message holds no
new one. Nothing that a user says closes it: "I was joking" may be the next thing that somebody in danger writes.
"""

from typing import NamedTuple

from synthesis.checks.crisis_elements import CUE, Elements, elements_of
from synthesis.checks.exchange import Exchange

_NAME = "open cue"


class OpenCue(NamedTuple):
    """An explicit cue as it is at one exchange."""

    first: Exchange  # the message that opened it
    latest: Exchange  # the last message that held one; what replies gave before it no longer counts
    given: tuple[str, ...]  # by the replies from `latest` on, the one at hand included

    @property
    def is_answered(self) -> bool:
        return len(self.given) == len(Elements._fields)


def open_cue(exchange: Exchange) -> OpenCue | None:
    """The cue that is open when this reply is written; followed once, turn by turn from the first one on."""
    waiting: list[Exchange] = []
    one: Exchange | None = exchange
    while one is not None and _NAME not in one.carried:
        waiting.append(one)
        one = one.previous
    cue: OpenCue | None = one.carried[_NAME] if one else None
    for each in reversed(waiting):
        cue = each.carried[_NAME] = _at(each, cue)
    return cue


def _at(exchange: Exchange, before: OpenCue | None) -> OpenCue | None:
    if exchange.hits(CUE.name):  # another cue keeps the first one open, even where that was answered by now
        return OpenCue(before.first if before else exchange, exchange, tuple(elements_of(exchange).found))
    if before is None or before.is_answered:
        return None
    given = {*before.given, *elements_of(exchange).found}
    return before._replace(given=tuple(name for name in Elements._fields if name in given))
