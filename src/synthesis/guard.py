"""A guard around each reply of a running assistant, also while it streams: flag it, have it rewritten, or fall back."""

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Iterable
from typing import Any

import msgspec

from synthesis.checks.registry import get_check
from synthesis.errors import OptionError, did_you_mean, shorten
from synthesis.model import Finding
from synthesis.model.result import CRITICAL, ERROR, card
from synthesis.printable import safe
from synthesis.report.findings import AlertNotice
from synthesis.rules.reading import read_without_rules
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.text import UNDETERMINED
from synthesis.settings import DEFAULT_CHECKS, LEARNED, TRAFFIC
from synthesis.verdict import Asked, ReplyEvaluator, Verdict, turns_of

FLAG, REGENERATE, FALLBACK = "flag", "regenerate", "fallback"
PASSED, FLAGGED, REGENERATED, REPLACED = "passed", "flagged", "regenerated", "replaced"
NOT_ASSESSED = "not_assessed"
MOST_ATTEMPTS = 10

Writer = Callable[[], str | Awaitable[str]]
Regenerate = Callable[[Any, str, str], str | Awaitable[str]]  # what was said, reply, feedback -> a new reply
Fallback = str | Callable[[Any], str | Awaitable[str]]  # a reply, or a function of what was said
Course = Generator[Writer, str, "GuardOutcome"]  # asks for replies, ends with an outcome


# A guard for a reply that is sent piece by piece.


NOTHING_YET = "…"  # in place of a reply: an empty one would leave the user's last message without an exchange
LOOK_AHEAD = 12  # characters after a sentence end, until which later text may still move that end


class GuardedStream:
    """Passes on the sentences of a reply that are over, and stops before one that no later text can put right.

    The sentence that is being written is held back, since its own end may still turn it round ("... is what nobody can
    promise"). Where the stream stops, `fallback` ends it and `stopped_by` names the check. A guard that only flags
    holds nothing back, nor does any guard in a crisis, unless it has a reply for crises.
    """

    def __init__(
        self,
        evaluator: ReplyEvaluator,
        user: Asked,
        *,
        may_stop: bool,
        fallback: Fallback | None = None,
        crisis_fallback: Fallback | None = None,
    ) -> None:
        begun = evaluator.reply(user, NOTHING_YET)
        self.in_crisis = begun.in_crisis
        if begun.in_crisis:  # or in a language that cannot be read, where no reply for crises fits either
            fallback = crisis_fallback if begun.alert else None
            may_stop = fallback is not None
        self.fallback = fallback  # a reply, or a function of what was said; None: the stream just ends
        self.sent = ""  # all that was passed on, the fallback included
        self.stopped_by: str | None = None
        self._evaluator = evaluator
        self._user = user
        # What a sentence answers, to look at it alone. In a crisis all that was said decides what does harm.
        self._answers = user if begun.in_crisis else _last_said(user)
        self._may_stop = may_stop
        self._text = ""
        self._passed = 0  # all before it was passed on
        self._from = 0  # all before it is settled and out of view
        self._lang = evaluator.lang
        self._has_ended = False

    @property
    def stopped(self) -> bool:
        return self.stopped_by is not None

    def feed(self, piece: str) -> str:
        """What to send now: the sentences that are over by now, the fallback where one fails, nothing after that."""
        return self._with_ending(self._take(piece))

    def flush(self) -> str:
        """What to send once the reply is over: what was held back, or the fallback in place of it."""
        return self._with_ending(self._rest())

    async def pass_on(self, pieces: AsyncIterable[str]) -> AsyncIterator[str]:
        """The whole reply as it may be sent, beside an event loop; the fallback may be a coroutine."""
        async for piece in pieces:
            if allowed := self._record(await asyncio.to_thread(self._take, piece)):
                yield allowed
            if self.stopped:
                break
        else:
            if rest := self._record(await asyncio.to_thread(self._rest)):
                yield rest
        if (ending := self._ending()) is not None:
            written = ending()
            yield self._record("", await written if inspect.isawaitable(written) else written)

    def close(self) -> Verdict:
        """The verdict on all that was written, what was held back included: every check, by the whole reply."""
        return self._evaluator.reply(self._user, self._text)

    def _take(self, piece: str) -> str:
        if self.stopped:
            return ""
        self._text += piece
        return self._settle() if self._may_stop else self._allow(len(self._text))

    def _settle(self) -> str:
        """Look at the sentences that are over by now and were not looked at before; those that may be sent."""
        window = self._text[self._from :]
        ends = [end for _, end in _sentences(window, self._lang)[:-1] if len(window) - end >= LOOK_AHEAD]
        if not ends or self._from + ends[-1] <= self._passed:
            return ""
        settled = self._from + ends[-1]
        verdict = self._evaluator.reply(self._answers, window)
        self._lang = self._lang or (None if verdict.language == UNDETERMINED else verdict.language)
        suspect = any(one.end <= ends[-1] for found in self._standing(verdict).values() for one in found)
        # One settled sentence stays in view: a quotation cut off from it would not be read as one.
        self._from += ends[-2] if len(ends) > 1 else 0
        return self._stop_before(self._confirmed(settled) if suspect else {}, settled)

    def _rest(self) -> str:
        if self.stopped or not self._may_stop:
            return ""
        verdict = self.close()
        allowed = self._stop_before(self._standing(verdict), len(self._text))
        if not self.stopped and self.in_crisis and verdict.severity == CRITICAL:
            self.stopped_by = verdict.failed_checks[0]  # what is missing follows in the fallback
        return allowed

    def _standing(self, verdict: Verdict) -> dict[str, list[Finding]]:
        """By check, the words that fail a reply whatever follows them; in a crisis only what is critical."""
        failed = [verdict.checks[name] for name in verdict.failed_checks]
        return {
            check.check: check.against
            for check in failed
            if (stands := get_check(check.check).stands) and stands(check) and check.against
            if not self.in_crisis or check.severity == CRITICAL
        }

    def _confirmed(self, settled: int) -> dict[str, list[Finding]]:
        """What stands in all that was written, and in the settled part of it alone."""
        so_far = self._standing(self._evaluator.reply(self._user, self._text[:settled]))
        whole = self._standing(self._evaluator.reply(self._user, self._text))
        kept = {name: [one for one in found if one in whole.get(name, ())] for name, found in so_far.items()}
        return {name: found for name, found in kept.items() if found}

    def _stop_before(self, standing: dict[str, list[Finding]], settled: int) -> str:
        """What may be sent: all that is settled, or what comes before the sentence that stops the stream."""
        if not standing:
            return self._allow(settled)
        first, self.stopped_by = min((found[0].start, name) for name, found in standing.items())
        starts = [start for start, _ in _sentences(self._text, self._lang) if start <= first]
        return self._allow(max(self._passed, starts[-1] if starts else first))

    def _allow(self, end: int) -> str:
        allowed = self._text[self._passed : end]
        self._passed = end
        return allowed

    def _ending(self) -> Writer | None:
        """What writes the end of a stream that stopped, once."""
        fallback = self.fallback
        if not self.stopped or self._has_ended or fallback is None:
            return None
        self._has_ended = True
        return _writer_of(fallback, self._user)

    def _with_ending(self, allowed: str) -> str:
        ending = self._ending()
        return self._record(allowed, _at_once(ending()) if ending else "")

    def _record(self, allowed: str, ending: str = "") -> str:
        before = self.sent + allowed
        gap = "\n\n" if ending and before and not before[-1].isspace() else ""
        self.sent = f"{before}{gap}{ending}"
        return f"{allowed}{gap}{ending}"


def _sentences(text: str, lang: str | None) -> list[tuple[int, int]]:
    return read_without_rules(text, lang or "en").sentences


def _last_said(user: Asked) -> str:
    """The user's last message."""
    if isinstance(user, str):
        return user
    return next((turn.content for turn in reversed(turns_of(user)) if turn.role == "user"), "")


# What a guard does about a reply that fails: steps that may wait for another reply to be written.


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
        """What comes before everything else: the user's words, now or earlier, are an explicit cue of a crisis."""
        return self.first.notice

    @property
    def severity(self) -> str | None:
        """How bad the reply is that was handed over: critical, serious or minor; None where nothing failed."""
        return self.first.severity


class Guard:
    """Reviews replies by the traffic profile. One guard serves many conversations."""

    def __init__(
        self,
        checks: str | Iterable[str] = DEFAULT_CHECKS,
        on_fail: str = FLAG,
        *,
        regenerate: Regenerate | None = None,
        fallback: Fallback | None = None,
        crisis_fallback: Fallback | None = None,
        attempts: int = 2,
        reader: str = LEARNED,
        rules: RuleSet | None = None,
        lang: str | None = None,
    ) -> None:
        _require_sense(on_fail, regenerate, fallback, attempts)
        self._evaluator = ReplyEvaluator(checks, profile=TRAFFIC, reader=reader, rules=rules, lang=lang)
        self.checks = self._evaluator.checks
        self.on_fail = on_fail
        self.fallback = fallback
        self.crisis_fallback = crisis_fallback
        self._regenerate = regenerate
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
        return GuardedStream(
            self._evaluator,
            user,
            may_stop=self.on_fail != FLAG,
            fallback=self.fallback,
            crisis_fallback=self.crisis_fallback,
        )

    def _course(self, user: Asked, reply: str | None) -> Course:
        """What happens to a reply. It yields functions that write other ones, so that its caller may wait for them."""
        first = self.look_at(user, reply)
        if first.outcome == ERROR:
            return GuardOutcome(reply, FLAGGED, (first,))
        if reply is None or not first.failed:
            return GuardOutcome(reply, PASSED if first.assessed else NOT_ASSESSED, (first,))
        if first.in_crisis:
            return (yield from self._in_a_crisis(user, reply, first))
        if self.on_fail == FLAG:
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

    def _in_a_crisis(self, user: Asked, reply: str, verdict: Verdict) -> Course:
        """Only a reply for crises may replace one, and only where it fails critically; else it is sent and flagged."""
        if self.crisis_fallback is None or verdict.alert is None or verdict.severity != CRITICAL:
            return GuardOutcome(reply, FLAGGED, (verdict,))
        return GuardOutcome((yield _writer_of(self.crisis_fallback, user)), REPLACED, (verdict,))

    def _writer(self, user: Asked, reply: str, verdict: Verdict) -> Writer:
        assert self._regenerate
        write = self._regenerate
        return lambda: write(user, reply, verdict.feedback)

    def _fall_back(self, user: Asked, tried: list[tuple[str, Verdict]]) -> Course:
        """The caller's fallback; without one, the reply with least against it, flagged."""
        if self.fallback is None:
            readable = [one for one in tried if one[1].assessed]
            reply, _ = min(readable or tried, key=lambda one: len(one[1].remarks))
            return GuardOutcome(reply, FLAGGED, _verdicts(tried))
        return GuardOutcome((yield _writer_of(self.fallback, user)), REPLACED, _verdicts(tried))


def _writer_of(fallback: Fallback, user: Asked) -> Writer:
    return (lambda: fallback) if isinstance(fallback, str) else (lambda: fallback(user))


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
