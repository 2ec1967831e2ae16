"""What a guard does about a reply that fails: a course of steps that may wait for another reply to be written."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any

import msgspec

from synthesis.defaults import DEFAULT_CHECKS
from synthesis.errors import OptionError, did_you_mean
from synthesis.guard.review import Review, Reviewer, Said
from synthesis.guard.stream import GuardedStream
from synthesis.model.result import ERROR
from synthesis.report.alerts import AlertNotice
from synthesis.rules.ruleset import RuleSet

FLAG, REGENERATE, FALLBACK = "flag", "regenerate", "fallback"
PASSED, FLAGGED, REGENERATED, REPLACED = "passed", "flagged", "regenerated", "replaced"
NOT_ASSESSED = "not_assessed"
MOST_ATTEMPTS = 10

Writer = Callable[[], str | Awaitable[str]]
Regenerate = Callable[[Any, str, str], str | Awaitable[str]]  # what was said, reply, feedback -> a new reply
Fallback = str | Callable[[Any], str | Awaitable[str]]  # a reply, or a function of what was said
Course = Generator[Writer, str, "GuardOutcome"]  # asks for replies, ends with an outcome


class GuardOutcome(msgspec.Struct, frozen=True):
    """What to send (`reply`), what was done (`action`), and every reply that was looked at, in order."""

    reply: str
    action: str
    reviews: tuple[Review, ...]

    @property
    def first(self) -> Review:
        return self.reviews[0]

    @property
    def alert(self) -> AlertNotice | None:
        """What comes before everything else: the user's words may be those of a crisis."""
        return self.first.alert


class Guard:
    """Reviews replies by the traffic profile. One guard serves many conversations."""

    def __init__(
        self,
        checks: Sequence[str] = DEFAULT_CHECKS,
        on_fail: str = FLAG,
        *,
        regenerate: Regenerate | None = None,
        fallback: Fallback | None = None,
        attempts: int = 2,
        rules: RuleSet | None = None,
        lang: str | None = None,
    ) -> None:
        _require_sense(on_fail, regenerate, fallback, attempts)
        self._reviewer = Reviewer(checks, rules, lang)
        self.checks = self._reviewer.checks
        self.on_fail = on_fail
        self._regenerate = regenerate
        self._fallback = fallback
        self._attempts = attempts

    def look_at(self, user: Said, reply: str, lang: str | None = None) -> Review:
        """The findings on one reply; nothing is done about them. Earlier messages decide what it is a reply to."""
        return self._reviewer.look_at(user, reply, lang)

    def review(self, user: Said, reply: str) -> GuardOutcome:
        """Look at a reply, and where it fails do what the guard is set to do."""
        course = self._course(user, reply)
        step = _advance(course, None)
        while not isinstance(step, GuardOutcome):
            step = _advance(course, _at_once(step()))
        return step

    async def review_async(self, user: Said, reply: str) -> GuardOutcome:
        """The same beside an event loop, which is never held up; the guard's functions may be coroutines."""
        course = self._course(user, reply)
        step = await asyncio.to_thread(_advance, course, None)
        while not isinstance(step, GuardOutcome):
            written = step()
            text = await written if inspect.isawaitable(written) else written
            step = await asyncio.to_thread(_advance, course, text)
        return step

    def stream(self, user: Said) -> GuardedStream:
        """A guard for a reply that is sent piece by piece."""
        return GuardedStream(self._reviewer, user, only_flags=self.on_fail == FLAG)

    def _course(self, user: Said, reply: str) -> Course:
        """What happens to a reply. It yields functions that write other ones, so that its caller may wait for them."""
        first = self.look_at(user, reply)
        if first.result.outcome == ERROR:
            return GuardOutcome(reply, FLAGGED, (first,))
        if not first.failed:
            return GuardOutcome(reply, PASSED if first.assessed else NOT_ASSESSED, (first,))
        if self.on_fail == FLAG or first.in_crisis:
            return GuardOutcome(reply, FLAGGED, (first,))
        reviews = [first]
        if self.on_fail == REGENERATE:
            for _ in range(self._attempts):
                reviews.append(self.look_at(user, (yield self._writer(user, reviews[-1]))))
                if reviews[-1].holds:
                    return GuardOutcome(reviews[-1].reply, REGENERATED, tuple(reviews))
        return (yield from self._fall_back(user, tuple(reviews)))

    def _writer(self, user: Said, latest: Review) -> Writer:
        assert self._regenerate
        write = self._regenerate
        return lambda: write(user, latest.reply, latest.feedback)

    def _fall_back(self, user: Said, reviews: tuple[Review, ...]) -> Course:
        """The caller's fallback; without one, the reply with least against it, flagged."""
        fallback = self._fallback
        if fallback is None:
            readable = [review for review in reviews if review.assessed]
            best = min(readable or reviews, key=lambda review: len(review.remarks))
            return GuardOutcome(best.reply, FLAGGED, reviews)
        reply = fallback if isinstance(fallback, str) else (yield lambda: fallback(user))
        return GuardOutcome(reply, REPLACED, reviews)


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
