"""The tools: the same functions as everywhere, in the form of the protocol."""

from functools import cached_property
from pathlib import Path
from typing import Any

from synthesis.api import load_cases, run_all_cases
from synthesis.checks.registry import checks, get_check, rules_in_force
from synthesis.defaults import DEFAULT_CHECKS, TRAFFIC
from synthesis.errors import InputError, OptionError, Place, did_you_mean
from synthesis.glossary import explain_rule, glossary_of
from synthesis.mcp_server.results import (
    AlertOnReply,
    AxisScore,
    CheckDescription,
    CheckEvidence,
    FailedCase,
    FileEvaluation,
    OfflineVerdict,
    PackDescription,
    RemarkOnReply,
    ReplyEvaluation,
    RuleExplanation,
    told,
)
from synthesis.model import Case, CaseResult
from synthesis.report.alerts import notice_of
from synthesis.report.glossary import Glossary
from synthesis.report.remarks import remarks_on
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.evaluator import Evaluator

CHECKS = list(DEFAULT_CHECKS)
SHOWN_FAILURES = 50


class Tools:
    """What the server can do. Each public method is a tool; its docstring is what a client reads."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    @cached_property
    def _rules(self) -> RuleSet:
        return rules_in_force()

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self._rules, profile=TRAFFIC)

    @cached_property
    def _glossary(self) -> Glossary:
        return glossary_of(self._rules)

    def evaluate_reply(
        self, user: str, assistant: str, checks: list[str] = CHECKS, lang: str | None = None
    ) -> ReplyEvaluation:
        """Evaluate an assistant's reply to a user's message, without a model: verdicts with the exact evidence."""
        names = tuple(dict.fromkeys(get_check(name).name for name in checks))
        result = self._evaluator.evaluate([Case("", names, user, assistant, lang=lang)])[0]
        found = [CheckEvidence(name, check.outcome, check.to_dict()) for name, check in result.checks.items()]
        return ReplyEvaluation(self._alert(result), result.outcome, result.language, found, self._remarks(result))

    def evaluate_case_file(self, path: str) -> FileEvaluation:
        """Evaluate a file of cases (JSON Lines) below the server's folder: figures, and the first failures."""
        report = run_all_cases(load_cases(self._inside(path)))
        failed = sorted(
            (result for result in report.results if result.failed_checks), key=lambda result: result.is_negative_example
        )
        shown = [
            FailedCase(result.id, result.failed_checks, result.is_negative_example, self._remarks(result))
            for result in failed[:SHOWN_FAILURES]
        ]
        return FileEvaluation(report.summary, shown, len(failed) - len(shown))

    def explain_rule(self, rule_id: str) -> list[RuleExplanation]:
        """Explain a rule by its id: why it exists, what would be better, and the sentences that prove it."""
        found = [rule for rule in self._rules.rules if rule.id == rule_id]
        if not found:
            known = did_you_mean(rule_id, {rule.id for rule in self._rules.rules}).partition(" Known:")[0]
            raise OptionError(f"no rule is called '{rule_id}'", hint=known)
        return [RuleExplanation(**explain_rule(rule, rule.language)) for rule in found]

    def list_checks(self) -> list[CheckDescription]:
        """The checks there are, and the signals that each reads."""
        return [
            CheckDescription(check.name, check.title, check.tag, [signal.name for signal in check.signals])
            for check in checks().values()
        ]

    def list_packs(self) -> list[PackDescription]:
        """The rule packs in force, one per language."""
        return [
            PackDescription(pack.language, pack.name, pack.version, pack.licence, len(pack.rules))
            for _, pack in sorted(self._rules.packs.items())
        ]

    def judge_answer_offline(
        self, question: str, answer: str, context: list[str] | list[dict[str, Any]]
    ) -> OfflineVerdict:
        """Score an answer's faithfulness to its context (passages or courses) and its completeness, comparing words."""
        from synthesis.judge.offline import OfflineJudge
        from synthesis.judge.rubric import default_rubric
        from synthesis.judge.testset import parse_test_cases

        fields = {"queryLogId": "answer", "question": question, "answer": answer, "context": context}
        (case,) = parse_test_cases([fields], "judge_answer_offline")
        rubric = default_rubric([case])
        verdict = OfflineJudge().judge(case, rubric)
        axes = [AxisScore(name, axis.score, axis.reasoning) for name, axis in verdict.axes.items()]
        return OfflineVerdict(rubric.passed(verdict), rubric.overall(verdict), axes, verdict.details)

    def _inside(self, path: str) -> Path:
        found = (self._root / path).resolve()
        if not found.is_relative_to(self._root):
            hint = "Start the server with --root for another folder."
            raise InputError("is outside the server's folder", place=Place(path), hint=hint)
        return found

    def _remarks(self, result: CaseResult) -> list[RemarkOnReply]:
        return told(remarks_on(result, self._glossary, result.language))

    def _alert(self, result: CaseResult) -> AlertOnReply | None:
        notice = notice_of(result, self._glossary, result.language)
        if notice is None or result.alert is None:
            return None
        found = CheckEvidence(result.alert.check, result.alert.outcome, result.alert.to_dict())
        return AlertOnReply(notice.cue, notice.verdict, found, told(notice.remarks))
