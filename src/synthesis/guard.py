"""A guard around each reply of a running assistant, also while it streams: flag it, have it rewritten, or fall back."""

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from typing import Any

import msgspec

from synthesis.checks.registry import get_check, rules_in_force, signals_read
from synthesis.errors import OptionError, did_you_mean
from synthesis.glossary import glossary_of
from synthesis.model import Case, CaseResult, CheckResult, Turn, case_outcome
from synthesis.model.result import ERROR, FAIL, NO_RULES, merged_findings
from synthesis.model.texts import ENGLISH
from synthesis.read.cases import ROLES, text_of
from synthesis.report.feedback import feedback, in_language
from synthesis.report.findings import CUE, AlertNotice, Remark, notice_of, remarks_on
from synthesis.rules.reading import read_without_rules
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.text import UNDETERMINED
from synthesis.run.evaluator import Evaluator, is_called_for
from synthesis.settings import DEFAULT_CHECKS, TRAFFIC

CRISIS = "crisis_response"
Said = str | Sequence[Mapping[str, Any] | Turn]  # the user's message, or all messages up to it


class Review(msgspec.Struct, frozen=True):
    """A reply that was looked at: its result, what speaks against it, and what the user's words call for first."""

    reply: str
    result: CaseResult
    remarks: tuple[Remark, ...]
    in_crisis: bool
    alert: AlertNotice | None = None  # an explicit cue, where crisis_response is not among the guard's checks
    told_in: str = ENGLISH  # the language of the feedback
    lead: str = ""  # its first line

    @property
    def failed(self) -> bool:
        return self.result.outcome == FAIL

    @property
    def assessed(self) -> bool:
        """Whether both sides are in languages with rules; else a verdict says nothing about what could not be read."""
        reasons = [check.reason or "" for check in self.result.checks.values()]
        unread = bool(reasons) and all(reason.startswith(NO_RULES) for reason in reasons)
        return not unread and UNDETERMINED not in {self.result.language, self.result.language_of("user")}

    @property
    def holds(self) -> bool:
        return not self.failed and self.assessed

    @property
    def feedback(self) -> str:
        """What to tell the writer of the reply, the alert first; empty where nothing speaks against it."""
        return feedback((*(self.alert.remarks if self.alert else ()), *self.remarks), self.lead)


class Reviewer:
    """Looks at replies by the traffic profile; the guard decides what is done about them."""

    def __init__(self, checks: Sequence[str], rules: RuleSet | None, lang: str | None) -> None:
        self.checks = tuple(get_check(name).name for name in checks)
        self.lang = lang
        in_force = rules_in_force() if rules is None else rules
        # The signals of crisis_response are read in any case: what a guard may do depends on them.
        self._evaluator = Evaluator(
            in_force.with_signals(signals_read((*self.checks, CRISIS), TRAFFIC)), profile=TRAFFIC, keep_text=False
        )
        self._glossary = glossary_of(self._evaluator.rules)

    def look_at(self, user: Said, reply: str, lang: str | None = None) -> Review:
        """The findings on one reply; nothing is done about them. Earlier messages decide what it is a reply to."""
        found = self._evaluator.evaluate([self._case(user, reply, lang or self.lang)])[0]
        result = _of_last_reply(found)
        told_in = self._told_in(result)
        remarks = tuple(
            in_language(remark, result.language, self._glossary, told_in)
            for remark in remarks_on(result, self._glossary, told_in)
        )
        notice, lead = notice_of(result, self._glossary, told_in), self._glossary.texts(told_in).lead
        return Review(reply, result, remarks, _may_be_a_crisis(found), notice, told_in, lead)

    def _told_in(self, result: CaseResult) -> str:
        """The user's language, else the reply's, else English: the first that has words for feedback."""
        asked = (result.language_of("user"), result.language)
        return next((code for code in asked if self._glossary.texts(code).lead), ENGLISH)

    def _case(self, user: Said, reply: str, lang: str | None) -> Case:
        if isinstance(user, str):
            return Case("", self.checks, user, reply, lang=lang)
        return Case("", self.checks, messages=(*_turns(user), Turn("assistant", reply)), lang=lang)


def _turns(messages: Sequence[Mapping[str, Any] | Turn]) -> list[Turn]:
    """Messages as other tools write them; the last that was spoken must be the user's."""
    turns = [message if isinstance(message, Turn) else _turn(message, place) for place, message in enumerate(messages)]
    spoken = [turn for turn in turns if turn.role in {"user", "assistant"} and turn.content.strip()]
    if not spoken or spoken[-1].role != "user":
        raise OptionError("the messages do not end with the user's", hint="Hand the reply over on its own.")
    return turns


def _turn(message: Mapping[str, Any], place: int) -> Turn:
    role = ROLES.get(str(message.get("role", "")).lower())
    content = text_of(message.get("content"))
    if role is None or content is None:
        raise OptionError(f"message {place + 1} has no known role, or no text", hint="Give `role` and `content`.")
    return Turn(role, content)


def _of_last_reply(found: CaseResult) -> CaseResult:
    """The result of the last reply of a conversation: those before it were sent long ago."""
    checks = {name: check.turns[-1] if check.turns else check for name, check in found.checks.items()}
    if checks == found.checks:
        return found
    findings = merged_findings(checks.values())
    return msgspec.structs.replace(
        found, checks=checks, outcome=case_outcome(checks), findings=findings, alert=_last_alert(found.alert)
    )


def _last_alert(alert: CheckResult | None) -> CheckResult | None:
    """What the last reply makes of a cue, wherever in the conversation it was given."""
    if alert is None or not alert.turns:
        return alert
    last = alert.turns[-1]
    cues = tuple(finding for finding in alert.findings if finding.signal == CUE and finding not in last.findings)
    return msgspec.structs.replace(last, findings=(*cues, *last.findings))


def _may_be_a_crisis(result: CaseResult) -> bool:
    """A cue was found, or the user's message could not be read, so that none can be ruled out."""
    return is_called_for(result) or result.language_of("user") == UNDETERMINED


# A guard for a reply that is sent piece by piece.


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


# What a guard does about a reply that fails: a course of steps that may wait for another reply to be written.


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
