"""The evaluator: a batch of cases in, a batch of results out. There is no second way to evaluate.

Batches, because a matcher reads many texts in one pass: one call per text would cost more than the matching.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, cycle

import msgspec

from synthesis.checks.exchange import Exchange
from synthesis.checks.registry import Check, get_check, rules_in_force, signals, signals_read
from synthesis.defaults import AUTHORED
from synthesis.model import Case, CaseResult, CheckResult, LabelComparison, case_outcome
from synthesis.model.result import ERROR, FAIL, NOT_APPLICABLE, merged_findings
from synthesis.rules.detection import Detected
from synthesis.rules.language import UNDETERMINED, primary
from synthesis.rules.reading import Message, Reading
from synthesis.rules.ruleset import RuleSet

_SEVERITY_OF_OUTCOME = {NOT_APPLICABLE: 0, "pass": 1, FAIL: 2, ERROR: 3}


class Evaluator:
    """Evaluates batches of cases with one set of rules."""

    def __init__(
        self,
        rules: RuleSet | None = None,
        *,
        profile: str = AUTHORED,
        keep_text: bool = True,
        language: str | None = None,
    ) -> None:
        self.rules = rules_in_force() if rules is None else rules
        self.profile = profile
        self._keep_text = keep_text
        self._language = language  # of every case that does not say its own; None: detected
        self._signals = signals()

    def evaluate(self, cases: Sequence[Case]) -> list[CaseResult]:
        """The results of a batch, in its order. A check that raises gives an error result, not an exception."""
        readings = iter(self.rules.read(list(self._messages(cases))))
        conversations = [self._exchanges(case, readings) for case in cases]
        return [self._case(case, exchanges) for case, exchanges in zip(cases, conversations, strict=True)]

    def _case(self, case: Case, exchanges: Sequence[Exchange]) -> CaseResult:
        if case.problem is not None:
            return _without_conversation(case, case.problem)
        results = {name: self._check(get_check(name), exchanges) for name in case.checks}
        return CaseResult(
            id=case.id,
            outcome=case_outcome(results),
            is_negative_example=case.is_negative_example,
            checks=results,
            findings=merged_findings(results.values()),
            label_comparison=_compare(case, results),
            languages=_languages(exchanges),
            tags=case.tags,
            source=case.source,
            texts=_texts(case) if self._keep_text else {},
        )

    def _messages(self, cases: Sequence[Case]) -> Iterator[Message]:
        """The texts of cases in the order in which their exchanges take their readings."""
        readable = [(case, list(chain.from_iterable(case.exchanges))) for case in cases if case.problem is None]
        for (case, texts), languages in zip(readable, self._languages(readable), strict=True):
            signals = signals_read(case.checks, self.profile)
            for text, where, language in zip(texts, cycle(("user", "assistant")), languages):
                yield Message(text, where, signals, language)

    def _languages(self, cases: Sequence[tuple[Case, list[str]]]) -> Iterator[Sequence[Detected]]:
        """The declared language of all texts of a case, else what the conversation tells."""
        told = iter(self.rules.reader.languages([texts for case, texts in cases if not self._declared(case)]))
        for case, texts in cases:
            declared = self._declared(case)
            yield [Detected(primary(declared), "declared")] * len(texts) if declared else next(told)

    def _declared(self, case: Case) -> str | None:
        return case.lang or self._language

    def _exchanges(self, case: Case, readings: Iterator[Reading]) -> list[Exchange]:
        if case.problem is not None:
            return []
        exchanges: list[Exchange] = []
        for turn in range(len(case.exchanges)):
            previous = exchanges[-1] if exchanges else None
            user, reply = next(readings), next(readings)
            exchange = Exchange(
                user, reply, self._signals, turn=turn, tags=case.tags, profile=self.profile, previous=previous
            )
            exchanges.append(exchange)
        return exchanges

    def _check(self, check: Check, exchanges: Sequence[Exchange]) -> CheckResult:
        if not exchanges:
            return _not_applicable(check.name, "the conversation holds no reply of the assistant")
        turns = [_guarded(check, exchange) for exchange in exchanges]
        return turns[0] if len(turns) == 1 else _worst(turns)


def _without_conversation(case: Case, problem: str) -> CaseResult:
    """A row that could not be read is an error of every check that was asked for."""
    results = {name: CheckResult(name, passed=False, error=problem) for name in case.checks}
    return CaseResult(case.id, ERROR, False, results, languages=_languages([]), source=case.source)


def _guarded(check: Check, exchange: Exchange) -> CheckResult:
    """A check that raises gives an error for this case and leaves the others alone."""
    unreadable = _unreadable(check, exchange)
    if unreadable:
        return _not_applicable(check.name, f"there are no rules for the language of the {unreadable}")
    try:
        return check.decide(exchange)
    except Exception as error:
        return CheckResult(check.name, passed=False, error=f"{type(error).__name__}: {error}")


def _unreadable(check: Check, exchange: Exchange) -> str | None:
    """The side that a check must read and cannot: the reply, or the user's message where the check rests on it."""
    if exchange.assistant.language.code == UNDETERMINED:
        return "reply"
    if exchange.user.language.code != UNDETERMINED:
        return None
    return "user's message" if any(signal.where == "user" for signal in check.signals) else None


def _languages(exchanges: Sequence[Exchange]) -> dict[str, str]:
    """The language of the last reply and how it was decided; the user's where it differs."""
    if not exchanges:
        return {"language": UNDETERMINED, "language_by": "no reply"}
    last = exchanges[-1]
    reply, user = last.assistant.language.code, last.user.language.code
    found = {"language": reply, "language_by": last.assistant.language_by}
    return found if user == reply else {**found, "user_language": user}


def _worst(turns: Sequence[CheckResult]) -> CheckResult:
    """The fields of the worst turn on top, the first of equals; all turns below, and the findings of all."""
    worst = max(turns, key=lambda turn: _SEVERITY_OF_OUTCOME[turn.outcome])
    findings = tuple(finding for turn in turns for finding in turn.findings)
    return msgspec.structs.replace(worst, findings=findings, turns=tuple(turns))


def _not_applicable(name: str, reason: str) -> CheckResult:
    return CheckResult(name, passed=True, applicable=False, reason=reason)


def _compare(case: Case, results: dict[str, CheckResult]) -> dict[str, LabelComparison]:
    """Labels against verdicts; an error matches no label."""
    compared: dict[str, LabelComparison] = {}
    for name, expected in (case.expected or {}).items():
        if name in results:
            actual = None if results[name].outcome == ERROR else results[name].passed
            compared[name] = LabelComparison(expected, actual, expected == actual)
    return compared


def _texts(case: Case) -> dict[str, object]:
    if case.messages:
        return {"messages": msgspec.to_builtins(case.messages)}
    return {"user": case.user, "assistant": case.assistant}
