"""A guard around each reply of a running assistant, also while it streams: flag it, have it rewritten, or fall back."""

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Iterable
from typing import Any

import msgspec

from synthesis.errors import OptionError, did_you_mean, shorten
from synthesis.model.result import ERROR, card
from synthesis.printable import safe
from synthesis.report.findings import AlertNotice
from synthesis.rules.reading import read_without_rules
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.text import UNDETERMINED
from synthesis.settings import DEFAULT_CHECKS, TRAFFIC
from synthesis.verdict import Asked, ReplyEvaluator, Verdict

# A guard for a reply that is sent piece by piece.


REASSURANCE = "unverifiable_reassurance"
NOTHING_YET = "…"  # in place of a reply: an empty one would leave the user's last message without an exchange
LOOK_AHEAD = 12  # characters after a sentence end, until which later text may still move that end


class GuardedStream:
    """Passes the pieces of a reply on, and stops where a promise or a claim was made that later text cannot undo.

    A sentence counts once it is over, since its own end may still turn it round ("... is what nobody can promise").
    A guard that only flags never stops a stream, nor does any guard in a crisis.
    """

    def __init__(self, evaluator: ReplyEvaluator, user: Asked, *, only_flags: bool) -> None:
        self._evaluator = evaluator
        self._user = user
        self._text = ""
        self._from = 0  # all before it is settled and out of view
        self._settled = 0  # all before it was looked at
        self._lang: str | None = evaluator.lang
        self._may_stop = (
            not only_flags and REASSURANCE in evaluator.checks and not evaluator.reply(user, NOTHING_YET).in_crisis
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

    def close(self) -> Verdict:
        """The verdict on all that was sent."""
        return self._evaluator.reply(self._user, self._text)

    def _settle(self) -> None:
        """Look at the sentences that are over by now and were not looked at before."""
        window = self._text[self._from :]
        *settled, _ = _sentence_ends(window, self._lang) or [0]
        if not settled or len(window) - settled[-1] < LOOK_AHEAD or self._from + settled[-1] == self._settled:
            return
        verdict = self._evaluator.reply("", window, self._lang)
        if verdict.language == UNDETERMINED:
            return
        self._lang = self._lang or verdict.language
        found = verdict.checks[REASSURANCE]
        self.stopped = any(finding.end <= settled[-1] for finding in found.against)
        self._settled = self._from + settled[-1]
        # One settled sentence stays in view: a quotation cut off from it would not be read as one.
        self._from += settled[-2] if len(settled) > 1 else 0


def _sentence_ends(text: str, lang: str | None) -> list[int]:
    return [end for _, end in read_without_rules(text, lang or "en").sentences]


# What a guard does about a reply that fails: steps that may wait for another reply to be written.


FLAG, REGENERATE, FALLBACK = "flag", "regenerate", "fallback"
PASSED, FLAGGED, REGENERATED, REPLACED = "passed", "flagged", "regenerated", "replaced"
NOT_ASSESSED = "not_assessed"
MOST_ATTEMPTS = 10

Writer = Callable[[], str | Awaitable[str]]
Regenerate = Callable[[Any, str, str], str | Awaitable[str]]  # what was said, reply, feedback -> a new reply
Fallback = str | Callable[[Any], str | Awaitable[str]]  # a reply, or a function of what was said
Course = Generator[Writer, str, "GuardOutcome"]  # asks for replies, ends with an outcome


class GuardOutcome(msgspec.Struct, frozen=True):
    """What to send (`reply`), what was done (`action`), and the verdict on each reply that was checked, in order."""

    reply: str | None
    action: str
    verdicts: tuple[Verdict, ...]

    def __str__(self) -> str:
        """What was done, and the verdict on the reply that was handed over."""
        return f"{self.headline}\n{self.first}"

    def __repr__(self) -> str:
        return f"<GuardOutcome {self.headline}; {self.first.headline}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return card(self.first.outcome, self.headline, str(self.first).splitlines())

    @property
    def headline(self) -> str:
        """What was done, and how many replies it took."""
        tried = f" after {len(self.verdicts)} replies" if len(self.verdicts) > 1 else ""
        sent = "" if self.reply is None else f": {safe(shorten(self.reply))}"
        return f"{self.action}{tried} ({self.first.profile}){sent}"

    @property
    def first(self) -> Verdict:
        """The verdict on the reply that was handed over."""
        return self.verdicts[0]

    @property
    def alert(self) -> AlertNotice | None:
        """What comes before everything else: the user's words may be those of a crisis."""
        return self.first.notice


class Guard:
    """Reviews replies by the traffic profile. One guard serves many conversations."""

    def __init__(
        self,
        checks: str | Iterable[str] = DEFAULT_CHECKS,
        on_fail: str = FLAG,
        *,
        regenerate: Regenerate | None = None,
        fallback: Fallback | None = None,
        attempts: int = 2,
        rules: RuleSet | None = None,
        lang: str | None = None,
    ) -> None:
        _require_sense(on_fail, regenerate, fallback, attempts)
        self._evaluator = ReplyEvaluator(checks, profile=TRAFFIC, rules=rules, lang=lang)
        self.checks = self._evaluator.checks
        self.on_fail = on_fail
        self._regenerate = regenerate
        self._fallback = fallback
        self._attempts = attempts

    def look_at(self, user: Asked, reply: str | None, lang: str | None = None) -> Verdict:
        """The verdict on one reply; nothing is done about it. Earlier messages decide what it is a reply to."""
        return self._evaluator.reply(user, reply, lang)

    def review(self, user: Asked, reply: str | None) -> GuardOutcome:
        """Check a reply, and where it fails do what the guard is set to do; None (a tool call) is not assessed."""
        course = self._course(user, reply)
        step = _advance(course, None)
        while not isinstance(step, GuardOutcome):
            step = _advance(course, _at_once(step()))
        return step

    async def review_async(self, user: Asked, reply: str | None) -> GuardOutcome:
        """The same beside an event loop, which is never held up; the guard's functions may be coroutines."""
        course = self._course(user, reply)
        step = await asyncio.to_thread(_advance, course, None)
        while not isinstance(step, GuardOutcome):
            written = step()
            text = await written if inspect.isawaitable(written) else written
            step = await asyncio.to_thread(_advance, course, text)
        return step

    def stream(self, user: Asked) -> GuardedStream:
        """A guard for a reply that is sent piece by piece."""
        return GuardedStream(self._evaluator, user, only_flags=self.on_fail == FLAG)

    def _course(self, user: Asked, reply: str | None) -> Course:
        """What happens to a reply. It yields functions that write other ones, so that its caller may wait for them."""
        first = self.look_at(user, reply)
        if first.outcome == ERROR:
            return GuardOutcome(reply, FLAGGED, (first,))
        if reply is None or not first.failed:
            return GuardOutcome(reply, PASSED if first.assessed else NOT_ASSESSED, (first,))
        if self.on_fail == FLAG or first.in_crisis:
            return GuardOutcome(reply, FLAGGED, (first,))
        tried = [(reply, first)]
        if self.on_fail == REGENERATE:
            for _ in range(self._attempts):
                written = yield self._writer(user, *tried[-1])
                verdict = self.look_at(user, written)
                tried.append((written, verdict))
                if verdict.assessed and not verdict.failed:
                    return GuardOutcome(written, REGENERATED, _verdicts(tried))
        return (yield from self._fall_back(user, tried))

    def _writer(self, user: Asked, reply: str, verdict: Verdict) -> Writer:
        assert self._regenerate
        write = self._regenerate
        return lambda: write(user, reply, verdict.feedback)

    def _fall_back(self, user: Asked, tried: list[tuple[str, Verdict]]) -> Course:
        """The caller's fallback; without one, the reply with least against it, flagged."""
        fallback = self._fallback
        if fallback is None:
            readable = [one for one in tried if one[1].assessed]
            reply, _ = min(readable or tried, key=lambda one: len(one[1].remarks))
            return GuardOutcome(reply, FLAGGED, _verdicts(tried))
        reply = fallback if isinstance(fallback, str) else (yield lambda: fallback(user))
        return GuardOutcome(reply, REPLACED, _verdicts(tried))


def _verdicts(tried: list[tuple[str, Verdict]]) -> tuple[Verdict, ...]:
    return tuple(verdict for _, verdict in tried)


def _advance(course: Course, written: str | None) -> Writer | GuardOutcome:
    """The next reply that is asked for, or the outcome. No StopIteration, which no future can carry."""
    try:
        return next(course) if written is None else course.send(written)
    except StopIteration as end:
        outcome: GuardOutcome = end.value
        return outcome


def _at_once(written: str | Awaitable[str]) -> str:
    if isinstance(written, str):
        return written
    if inspect.iscoroutine(written):
        written.close()
    raise OptionError("the guard's function is a coroutine", hint="Use `await guard.review_async(...)`.")


def _require_sense(on_fail: str, regenerate: Regenerate | None, fallback: Fallback | None, attempts: int) -> None:
    known = (FLAG, REGENERATE, FALLBACK)
    if on_fail not in known:
        raise OptionError(f"a guard cannot '{on_fail}'", hint=did_you_mean(on_fail, known))
    if on_fail == REGENERATE and regenerate is None:
        raise OptionError("on_fail='regenerate' needs a function", hint="Guard(..., regenerate=function)")
    if on_fail == FALLBACK and fallback is None:
        raise OptionError("on_fail='fallback' needs a reply", hint="Guard(..., fallback='...')")
    if not 1 <= attempts <= MOST_ATTEMPTS:
        raise OptionError(f"attempts must be from 1 to {MOST_ATTEMPTS}, not {attempts}", hint="Choose a small number.")
