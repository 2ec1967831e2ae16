"""The kernel: a batch of cases in, a batch of results out. There is no second way to evaluate."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from synthesis.checks.exchange import Exchange
from synthesis.checks.registry import Check, get_check, rules_in_force, signals
from synthesis.model import Case, CaseResult, CheckResult, Finding, LabelComparison, case_outcome
from synthesis.model.result import ERROR, FAIL, NOT_APPLICABLE
from synthesis.rules.language import UNDETERMINED, language_of
from synthesis.rules.matcher import Hit
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.text import Text

DEFAULT_LANGUAGE = "en"
_SEVERITY_OF_OUTCOME = {NOT_APPLICABLE: 0, "pass": 1, FAIL: 2, ERROR: 3}


class Kernel:
    """Evaluates batches of cases with one set of rules."""

    def __init__(self, rules: RuleSet | None = None, *, profile: str = "default", keep_text: bool = True) -> None:
        self.rules = rules_in_force() if rules is None else rules
        self.profile = profile
        self._keep_text = keep_text
        self._signals = signals()

    def evaluate(self, cases: Sequence[Case]) -> list[CaseResult]:
        """The results of a batch, in its order. A case that goes wrong is an error result, not an exception."""
        return [self._case(case) for case in cases]

    def _case(self, case: Case) -> CaseResult:
        if case.problem is not None:
            return _unreadable(case, case.problem)
        language = self._language(case)
        exchanges = self._exchanges(case, language) if language != UNDETERMINED else []
        results = {name: self._check(get_check(name), exchanges, language) for name in case.checks}
        return CaseResult(
            id=case.id,
            outcome=case_outcome(results),
            is_negative_example=case.is_negative_example,
            checks=results,
            findings=_merged(results.values()),
            label_comparison=_compare(case, results),
            language=language,
            tags=case.tags,
            source=case.source,
            texts=_texts(case) if self._keep_text else {},
        )

    def _language(self, case: Case) -> str:
        code = case.lang or DEFAULT_LANGUAGE
        return code if code in self.rules.packs else UNDETERMINED

    def _exchanges(self, case: Case, code: str) -> list[Exchange]:
        language = language_of(code)
        return [
            self._exchange(Text(user, language), Text(assistant, language), case, turn)
            for turn, (user, assistant) in enumerate(case.exchanges)
        ]

    def _exchange(self, user: Text, assistant: Text, case: Case, turn: int) -> Exchange:
        hits: list[Hit] = [*self._scan(user, "user"), *self._scan(assistant, "assistant")]
        return Exchange(user, assistant, hits, self._signals, turn=turn, tags=case.tags, profile=self.profile)

    def _scan(self, text: Text, where: str) -> list[Hit]:
        return self.rules.matcher(text.language.code, where).scan(text) if text.normal else []

    def _check(self, check: Check, exchanges: Sequence[Exchange], language: str) -> CheckResult:
        if language == UNDETERMINED:
            return _not_applicable(check.name, "there are no rules for the language of this conversation")
        if not exchanges:
            return _not_applicable(check.name, "the conversation holds no reply of the assistant")
        turns = [_guarded(check, exchange) for exchange in exchanges]
        return turns[0] if len(turns) == 1 else _worst(turns)


def _unreadable(case: Case, problem: str) -> CaseResult:
    """A row that could not be read is an error of every check that was asked for."""
    results = {name: CheckResult(name, passed=False, error=problem) for name in case.checks}
    return CaseResult(case.id, ERROR, False, results, language=UNDETERMINED, source=case.source)


def _guarded(check: Check, exchange: Exchange) -> CheckResult:
    """A check that raises gives an error for this case and leaves the others alone."""
    decide: Callable[[Exchange], CheckResult] = check.decide
    try:
        return decide(exchange)
    except Exception as error:
        return CheckResult(check.name, passed=False, error=f"{type(error).__name__}: {error}")


def _worst(turns: Sequence[CheckResult]) -> CheckResult:
    """The fields of the worst turn on top, the first of equals; all turns below, and the findings of all."""
    worst = max(turns, key=lambda turn: _SEVERITY_OF_OUTCOME[turn.outcome])
    findings = tuple(finding for turn in turns for finding in turn.findings)
    return msgspec.structs.replace(worst, findings=findings, turns=tuple(turns))


def _not_applicable(name: str, reason: str) -> CheckResult:
    return CheckResult(name, passed=True, applicable=False, reason=reason)


def _merged(results: Iterable[CheckResult]) -> tuple[Finding, ...]:
    """The findings of all checks in reading order; what two checks both read stands once."""
    unique = {finding: None for result in results for finding in result.findings}
    return tuple(sorted(unique, key=lambda f: (f.turn, f.where == "assistant", f.start, f.end, f.signal, f.rule)))


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
