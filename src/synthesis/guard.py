"""A guard around each reply of a running assistant: flag it, have it written again, or fall back.

    guard = Guard(on_fail="regenerate", regenerate=ask_the_model_again, fallback="Would you like to tell me more?")
    outcome = guard.review(user, reply)
    send(outcome.reply)

When the user's message shows a crisis, or is in a language without rules, no reply is ever withheld, replaced or cut
short: the guard then only flags. Words that look wrong to a rule may be the ones that keep somebody safe.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from synthesis.checks.registry import get_check, rules_in_force, signals_read
from synthesis.defaults import DEFAULT_CHECKS, TRAFFIC
from synthesis.errors import OptionError, did_you_mean
from synthesis.glossary import glossary_of
from synthesis.model import Case, CaseResult
from synthesis.model.result import ERROR, FAIL
from synthesis.report.alerts import AlertNotice, notice_of
from synthesis.report.remarks import Remark, remarks_on
from synthesis.rules.language import UNDETERMINED
from synthesis.rules.reading import read_without_rules
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.alerts import is_called_for
from synthesis.runner.evaluator import Evaluator

FLAG, REGENERATE, FALLBACK = "flag", "regenerate", "fallback"
PASSED, FLAGGED, REGENERATED, REPLACED = "passed", "flagged", "regenerated", "replaced"
CRISIS, REASSURANCE = "crisis_response", "unverifiable_reassurance"
MOST_ATTEMPTS = 10
LOOK_AHEAD = 12  # characters after a sentence end, until which later text may still move that end

Regenerate = Callable[[str, str, str], str]  # user, reply, feedback -> a new reply
Fallback = str | Callable[[str], str]  # a reply, or a function of the user's message


class Review(msgspec.Struct, frozen=True):
    """A reply that was looked at: its result, what speaks against it, and what the user's words call for first."""

    reply: str
    result: CaseResult
    remarks: tuple[Remark, ...]
    in_crisis: bool
    alert: AlertNotice | None = None  # an explicit cue, where crisis_response is not among the guard's checks

    @property
    def failed(self) -> bool:
        return self.result.outcome == FAIL

    @property
    def feedback(self) -> str:
        """What to tell the writer of the reply, the alert first; empty where nothing speaks against it."""
        remarks = (*(self.alert.remarks if self.alert else ()), *self.remarks)
        if not remarks:
            return ""
        lines = [f"- {remark}" for remark in remarks]
        return "\n".join(["Write the reply again and keep what is true and kind in it. Mind this:", *lines])


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
        self.checks = tuple(get_check(name).name for name in checks)
        self.on_fail = on_fail
        self._regenerate = regenerate
        self._fallback = fallback
        self._attempts = attempts
        self._lang = lang
        in_force = rules_in_force() if rules is None else rules
        self._evaluator = Evaluator(
            in_force.with_signals(signals_read((*self.checks, CRISIS), TRAFFIC)), profile=TRAFFIC, keep_text=False
        )
        self._glossary = glossary_of(self._evaluator.rules)

    def look_at(self, user: str, reply: str, lang: str | None = None) -> Review:
        """The findings on one reply; nothing is done about them."""
        result = self._evaluator.evaluate([Case("", self.checks, user, reply, lang=lang or self._lang)])[0]
        remarks = remarks_on(result, self._glossary, result.language)
        notice = notice_of(result, self._glossary, result.language)
        return Review(reply, result, remarks, _may_be_a_crisis(result), notice)

    def review(self, user: str, reply: str) -> GuardOutcome:
        """Look at a reply, and where it fails do what the guard is set to do."""
        first = self.look_at(user, reply)
        if first.result.outcome == ERROR:
            return GuardOutcome(reply, FLAGGED, (first,))
        if not first.failed:
            return GuardOutcome(reply, PASSED, (first,))
        if self.on_fail == FLAG or first.in_crisis:
            return GuardOutcome(reply, FLAGGED, (first,))
        if self.on_fail == FALLBACK:
            return self._fall_back(user, (first,))
        reviews = (first, *self._again(user, first))
        if not reviews[-1].failed:
            return GuardOutcome(reviews[-1].reply, REGENERATED, reviews)
        return self._fall_back(user, reviews)

    def stream(self, user: str) -> "GuardedStream":
        """A guard for a reply that is sent piece by piece."""
        return GuardedStream(self, user)

    def _again(self, user: str, first: Review) -> Iterator[Review]:
        """Up to so many new replies, each written from the feedback on the one before; ends with one that holds."""
        latest = first
        for _ in range(self._attempts):
            assert self._regenerate
            latest = self.look_at(user, self._regenerate(user, latest.reply, latest.feedback))
            yield latest
            if not latest.failed:
                return

    def _fall_back(self, user: str, reviews: tuple[Review, ...]) -> GuardOutcome:
        """The caller's fallback; without one, the reply with least against it, flagged."""
        if self._fallback is None:
            best = min(reviews, key=lambda review: len(review.remarks))
            return GuardOutcome(best.reply, FLAGGED, reviews)
        reply = self._fallback if isinstance(self._fallback, str) else self._fallback(user)
        return GuardOutcome(reply, REPLACED, reviews)


class GuardedStream:
    """Passes the pieces of a reply on, and stops where a promise or a claim was made that later text cannot undo.

    A sentence counts once it is over, since its own end may still turn it round ("... is what nobody can promise").
    A guard that only flags never stops a stream, nor does any guard in a crisis.
    """

    def __init__(self, guard: Guard, user: str) -> None:
        self._guard = guard
        self._user = user
        self._text = ""
        self._from = 0  # all before it is settled and out of view
        self._settled = 0  # all before it was looked at
        self._lang: str | None = guard._lang
        self._may_stop = guard.on_fail != FLAG and REASSURANCE in guard.checks and not guard.look_at(user, "").in_crisis
        self.stopped = False

    def feed(self, piece: str) -> str:
        """What to send of a piece: all of it, or nothing once the stream has stopped."""
        if self.stopped:
            return ""
        self._text += piece
        if self._may_stop and len(self._text) > LOOK_AHEAD:
            self._settle()
        return piece

    def close(self) -> Review:
        """The review of all that was sent."""
        return self._guard.look_at(self._user, self._text)

    def _settle(self) -> None:
        """Look at the sentences that are over by now and were not looked at before."""
        window = self._text[self._from :]
        *settled, _ = _sentence_ends(window, self._lang) or [0]
        if not settled or len(window) - settled[-1] < LOOK_AHEAD or self._from + settled[-1] == self._settled:
            return
        review = self._guard.look_at("", window, self._lang)
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


def _may_be_a_crisis(result: CaseResult) -> bool:
    """A cue was found, or the user's message could not be read, so that none can be ruled out."""
    user_language = result.languages.get("user_language", result.language)
    return is_called_for(result) or user_language == UNDETERMINED


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
