"""A guard for a reply that is sent piece by piece."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator

from synthesis.guard.review import Review, Reviewer, Said
from synthesis.rules.reading import read_without_rules
from synthesis.rules.text import UNDETERMINED

REASSURANCE = "unverifiable_reassurance"
NOTHING_YET = "…"  # in place of a reply: an empty one would leave the user's last message without an exchange
LOOK_AHEAD = 12  # characters after a sentence end, until which later text may still move that end


class GuardedStream:
    """Passes the pieces of a reply on, and stops where a promise or a claim was made that later text cannot undo.

    A sentence counts once it is over, since its own end may still turn it round ("... is what nobody can promise").
    A guard that only flags never stops a stream, nor does any guard in a crisis.
    """

    def __init__(self, reviewer: Reviewer, user: Said, *, only_flags: bool) -> None:
        self._reviewer = reviewer
        self._user = user
        self._text = ""
        self._from = 0  # all before it is settled and out of view
        self._settled = 0  # all before it was looked at
        self._lang: str | None = reviewer.lang
        self._may_stop = (
            not only_flags and REASSURANCE in reviewer.checks and not reviewer.look_at(user, NOTHING_YET).in_crisis
        )
        self.stopped = False

    def feed(self, piece: str) -> str:
        """What to send of a piece: all of it, or nothing once the stream has stopped."""
        if self.stopped:
            return ""
        self._text += piece
        if self._may_stop and len(self._text) > LOOK_AHEAD:
            self._settle()
        return piece

    async def pass_on(self, pieces: AsyncIterable[str]) -> AsyncIterator[str]:
        """The pieces of a reply as they may be sent, beside an event loop; ends where the stream stops."""
        async for piece in pieces:
            allowed = await asyncio.to_thread(self.feed, piece)
            if allowed:
                yield allowed
            if self.stopped:
                return

    def close(self) -> Review:
        """The review of all that was sent."""
        return self._reviewer.look_at(self._user, self._text or NOTHING_YET)

    def _settle(self) -> None:
        """Look at the sentences that are over by now and were not looked at before."""
        window = self._text[self._from :]
        *settled, _ = _sentence_ends(window, self._lang) or [0]
        if not settled or len(window) - settled[-1] < LOOK_AHEAD or self._from + settled[-1] == self._settled:
            return
        review = self._reviewer.look_at("", window, self._lang)
        if review.result.language == UNDETERMINED:
            return
        self._lang = self._lang or review.result.language
        found = review.result.checks[REASSURANCE]
        self.stopped = any(finding.end <= settled[-1] for finding in found.against)
        self._settled = self._from + settled[-1]
        # One settled sentence stays in view: a quotation cut off from it would not be read as one.
        self._from += settled[-2] if len(settled) > 1 else 0


def _sentence_ends(text: str, lang: str | None) -> list[int]:
    return [end for _, end in read_without_rules(text, lang or "en").sentences]
