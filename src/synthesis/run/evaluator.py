"""The evaluator: takes a batch of cases and returns a batch of results. There is no second way to evaluate."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, cycle, islice
from threading import Lock

import msgspec

from synthesis.checks.exchange import Exchange
from synthesis.checks.explained import Explanation, explanation
from synthesis.checks.registry import Check, alerting, get_check, rules_in_force, shared_table, signals, signals_read
from synthesis.checks.severity import severity_of
from synthesis.checks.similarity import DEFAULT_NAME, adapter_name
from synthesis.checks.table import Table
from synthesis.garbage import without_collection
from synthesis.model import Case, CaseResult, CheckResult, Finding, LabelComparison, case_outcome
from synthesis.model.result import ERROR, FAIL, NO_REPLY, NO_RULES, NO_TEXT, NOT_APPLICABLE, PASS, merged_findings
from synthesis.rules.detection import Detected
from synthesis.rules.native.library import NativeReaderError
from synthesis.rules.reading import Message, Reading
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.text import UNDETERMINED, primary
from synthesis.run.kernel import (
    AS_LINES,
    KEEPS_TEXT,
    NO_EXCHANGE,
    READY,
    RESULTS,
    Kernel,
    KernelCall,
    lacking_rules,
)
from synthesis.settings import AUTHORED, TRAFFIC


def calls_for(check: Check, exchanges: Sequence[Exchange]) -> bool:
    """Whether the sign that a check reports on is in one of the user's messages."""
    return any(exchange.hits(sign.name) for sign in check.alert_on for exchange in exchanges)


def with_checks(result: CaseResult, names: Sequence[str]) -> CaseResult:
    """A result of traffic as if only these of its checks had been asked for; what alerts is among them in any case."""
    alerting = [result.alert.check] if result.alert else []
    kept = {name: result.checks[name] for name in dict.fromkeys((*names, *alerting))}
    return msgspec.structs.replace(
        result,
        checks=kept,
        outcome=case_outcome(kept),
        findings=merged_findings(kept.values()),
        label_comparison={name: label for name, label in result.label_comparison.items() if name in kept},
    )


def warn_of_fault(error: NativeReaderError, what: str) -> None:
    """A fault of the kernel stops nobody; whose words it was about is not said."""
    warnings.warn(f"{error}; Python evaluates {what}", stacklevel=3)


_encode_lines = msgspec.json.Encoder().encode_lines
_decode_lines = msgspec.json.Decoder(CaseResult).decode_lines


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
        self._alerting = alerting()
        self._one_at_a_time = Lock()
        self._lacking: dict[tuple[str, str, str], str | None] = {}  # by check and the languages of reply and user

    @without_collection()
    def evaluate(self, cases: Sequence[Case]) -> list[CaseResult]:
        """The results of a batch, in its order. A check that raises gives an error result, not an exception."""
        found = self._by_kernel(cases) if self.kernel else [None] * len(cases)
        if left := [case for case, result in zip(cases, found, strict=True) if result is None]:
            evaluated = iter(self.evaluate_in_python(left))
            return [next(evaluated) if result is None else result for result in found]
        return [result for result in found if result is not None]

    def _by_kernel(self, cases: Sequence[Case]) -> list[CaseResult | None]:
        """The results of the kernel; None for what it leaves to Python."""
        assert self.kernel
        form = READY | RESULTS | AS_LINES | (KEEPS_TEXT if self._keep_text else 0)
        try:
            content = _encode_lines(cases)
        except UnicodeEncodeError:  # half a character, which no JSON can hold
            return [None] * len(cases)
        try:
            answer = self.kernel.call(content, KernelCall(form, language=self._language))
        except NativeReaderError as error:
            warn_of_fault(error, f"{len(cases)} cases")
            return [None] * len(cases)
        results = iter(_decode_lines(answer.records))
        left = {one.line for one in answer.deferred}
        return [None if number in left else next(results) for number in range(len(cases))]

    def evaluate_in_python(self, cases: Sequence[Case]) -> list[CaseResult]:
        """The same by the reference: where there is no kernel, and for what it leaves.

        One thread at a time, since a check or an adapter of somebody's own may not expect several.
        """
        with self._one_at_a_time:
            return self._decided(cases)

    def _decided(self, cases: Sequence[Case]) -> list[CaseResult]:
        messages = list(self._messages(cases))
        read = iter(self.rules.read([message for own in messages for message in own]))
        readings = [list(islice(read, len(own))) for own in messages]
        self._read_learned(messages, readings)
        conversations = [self._exchanges(case, iter(own)) for case, own in zip(cases, readings, strict=True)]
        return [self._case(case, exchanges) for case, exchanges in zip(cases, conversations, strict=True)]

    @property
    def kernel(self) -> Kernel | None:
        """What evaluates in place of Python, unless an embedding adapter decides."""
        kernel = self._kernel if adapter_name() == DEFAULT_NAME else None
        return None if kernel is None or kernel.is_refused else kernel

    @cached_property
    def _kernel(self) -> Kernel | None:
        native = self.rules.native
        return Kernel(self.rules, self.profile, native) if native else None

    def explain(self, case: Case) -> dict[str, tuple[Explanation, ...]]:
        """By check, the failed ones first, how it comes to its verdict on each exchange; a function cannot say it."""
        messages = list(self._messages([case]))
        readings = [self.rules.read(own) for own in messages]
        self._read_learned(messages, readings)
        exchanges = self._exchanges(case, iter(readings[0]))
        tables = {name: table for name in case.checks if (table := get_check(name).table)}
        found = {
            name: tuple(self._explained(get_check(name), table, exchange) for exchange in exchanges)
            for name, table in tables.items()
        }
        order = (FAIL, ERROR, PASS, NOT_APPLICABLE)
        ranks = {name: min(order.index(each.outcome) for each in own) for name, own in found.items() if own}
        return {name: found[name] for name in sorted(ranks, key=lambda name: (ranks[name], name))}

    def _explained(self, check: Check, table: Table, exchange: Exchange) -> Explanation:
        result = self._turn(check, exchange)
        found = explanation(table, shared_table(), exchange, result.outcome)
        if result.applicable or found.decided_by.startswith("unless"):
            return found
        return msgspec.structs.replace(found, decided_by="what can be read", because=result.reason or "")

    def _case(self, case: Case, exchanges: Sequence[Exchange]) -> CaseResult:
        if case.problem is not None:
            return _without_conversation(case, case.problem, self.profile)
        called = self._called(exchanges)
        results = self._checked(dict.fromkeys((*case.checks, *called)), exchanges)
        if called and self._unanswered(case) and len(exchanges) > len(case.exchanges):
            results = {name: _without_reply(check) for name, check in results.items()}
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
            alert=results[called[0]] if called else None,
            profile=self.profile,
        )

    def _read_learned(self, messages: Sequence[Sequence[Message]], readings: Sequence[Sequence[Reading]]) -> None:
        """Let the learned reader read all texts of a batch in one call."""
        if self.rules.learned is not None:
            self.rules.learned.read(
                [reading for own in readings for reading in own], [message.where for own in messages for message in own]
            )

    def _called(self, exchanges: Sequence[Exchange]) -> list[str]:
        """The checks that decide in traffic because the user's words call for them, whatever was asked for."""
        if self.profile != TRAFFIC:
            return []
        return [check.name for check in self._alerting if calls_for(check, exchanges)]

    def _messages(self, cases: Sequence[Case]) -> Iterator[list[Message]]:
        """For each case its texts, in the order in which its exchanges take their readings."""
        texts = [list(chain.from_iterable(self._said(case))) for case in cases]
        for case, own, languages in zip(cases, texts, self._languages(cases, texts), strict=True):
            signals = signals_read(case.checks, self.profile)
            sided = zip(own, cycle(("user", "assistant")), languages, ["", *own])
            yield [
                Message(text, where, signals, language, case.id, before if where == "assistant" else "")
                for text, where, language, before in sided
            ]

    def _languages(self, cases: Sequence[Case], texts: Sequence[list[str]]) -> Iterator[Sequence[Detected]]:
        """The declared language of all texts of a case, else what the conversation tells."""
        undeclared = [own for case, own in zip(cases, texts, strict=True) if own and not self._declared(case)]
        detected = iter(self.rules.reader.languages(undeclared))
        for case, own in zip(cases, texts, strict=True):
            declared = self._declared(case)
            yield [Detected(primary(declared), "declared")] * len(own) if declared else next(detected) if own else ()

    def _declared(self, case: Case) -> str | None:
        return case.lang or self._language

    def _exchanges(self, case: Case, readings: Iterator[Reading]) -> list[Exchange]:
        exchanges: list[Exchange] = []
        for turn in range(len(self._said(case))):
            previous = exchanges[-1] if exchanges else None
            user, reply = next(readings), next(readings)
            exchange = Exchange(
                user,
                reply,
                self._signals,
                turn=turn,
                tags=case.tags,
                profile=self.profile,
                previous=previous,
                texts=self.rules.texts,
                learned=self.rules.learned,
            )
            exchanges.append(exchange)
        if self._unanswered(case) and not self._called(exchanges[-1:]):
            exchanges.pop()  # nobody needs to hear that a conversation ends with its user
        return exchanges

    def _said(self, case: Case) -> list[tuple[str, str]]:
        """The exchanges, and in traffic what the user said last without a reply: a crisis may be in it."""
        if case.problem is not None:
            return []
        unanswered = self._unanswered(case)
        return [*case.exchanges, (unanswered, "")] if unanswered else case.exchanges

    def _unanswered(self, case: Case) -> str:
        return case.unanswered if self.profile == TRAFFIC and case.problem is None else ""

    def _checked(self, names: Iterable[str], exchanges: Sequence[Exchange]) -> dict[str, CheckResult]:
        """What each check says; one exchange, which most cases are, is not treated as a conversation."""
        checks = [get_check(name) for name in names]
        if len(exchanges) == 1:
            profile, replace = self.profile, msgspec.structs.replace
            return {check.name: replace(self._turn(check, exchanges[0]), profile=profile) for check in checks}
        return {check.name: self._check(check, exchanges) for check in checks}

    def _check(self, check: Check, exchanges: Sequence[Exchange]) -> CheckResult:
        if not exchanges:
            turns = [_not_applicable(check.name, NO_EXCHANGE)]
        else:
            turns = [self._turn(check, exchange) for exchange in exchanges]
        turns = [msgspec.structs.replace(turn, profile=self.profile) for turn in turns]
        return turns[0] if len(turns) == 1 else check.over_turns(turns)

    def _turn(self, check: Check, exchange: Exchange) -> CheckResult:
        """What a check decides; where it had no rules to find anything by, it is not assessed."""
        unreadable = _unreadable(check, exchange) if exchange.is_unreadable else None
        if unreadable:
            found = exchange.findings(*(sign.name for sign in check.alert_on), counted=())
            return _not_applicable(check.name, unreadable, found)
        try:
            result = check.decide(exchange)
        except Exception as error:  # an error of this case, which leaves the others alone
            return CheckResult(check.name, passed=False, error=f"{type(error).__name__}: {error}")
        # A failure stands, since a check may count more than rules; so does a reason that rests on words found.
        if result.outcome == FAIL:
            return msgspec.structs.replace(result, severity=severity_of(exchange, result, check))
        if result.error is not None or (result.findings and not result.applicable):
            return result
        key = (check.name, exchange.assistant.language.code, exchange.user.language.code)
        if key not in self._lacking:
            self._lacking[key] = _without_rules(check, exchange, self.rules.covered)
        lacking = self._lacking[key]
        return _not_applicable(check.name, lacking) if lacking else result


def _without_conversation(case: Case, problem: str, profile: str) -> CaseResult:
    """A row that could not be read is an error of every check that was asked for."""
    results = {name: CheckResult(name, passed=False, error=problem, profile=profile) for name in case.checks}
    return CaseResult(case.id, ERROR, False, results, languages=_languages([]), source=case.source, profile=profile)


def _without_reply(check: CheckResult) -> CheckResult:
    """A check of a conversation that ends with its user: its last turn was not silent, it never came."""
    if not check.turns:
        return msgspec.structs.replace(check, reason=NO_REPLY) if check.reason == NO_TEXT else check
    last = msgspec.structs.replace(check.turns[-1], reason=NO_REPLY)
    return msgspec.structs.replace(check, turns=(*check.turns[:-1], last))


def _unreadable(check: Check, exchange: Exchange) -> str | None:
    """Why a check cannot read what it must: the reply, or the user's message where the check rests on it."""
    if not exchange.assistant.original:
        return NO_TEXT
    if exchange.assistant.language.code == UNDETERMINED:
        return f"{NO_RULES} of the reply"
    if exchange.user.language.code != UNDETERMINED:
        return None
    return f"{NO_RULES} of the user's message" if any(signal.where == "user" for signal in check.signals) else None


def _without_rules(check: Check, exchange: Exchange, covered: frozenset[tuple[str, str]]) -> str | None:
    """That the language of a side has no rule of this check."""
    sides = (("assistant", exchange.assistant), ("user", exchange.user))
    found = (lacking_rules(check, side.language.code, where, covered) for where, side in sides)
    return next((reason for reason in found if reason), None)


def _languages(exchanges: Sequence[Exchange]) -> dict[str, str]:
    """The language of the last reply and how it was decided; the user's where it differs."""
    if not exchanges:
        return {"language": UNDETERMINED, "language_by": "no reply"}
    last = exchanges[-1]
    reply, user = last.assistant.language.code, last.user.language.code
    found = {"language": reply, "language_by": last.assistant.language_by}
    return found if user == reply else {**found, "user_language": user}


def _not_applicable(name: str, reason: str, findings: tuple[Finding, ...] = ()) -> CheckResult:
    return CheckResult(name, passed=True, findings=findings, applicable=False, reason=reason)


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
