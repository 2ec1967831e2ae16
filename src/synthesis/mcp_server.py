"""The tools of `synthesis mcp`: the library for a client that speaks the Model Context Protocol."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict, cast

import msgspec

from synthesis._version import __version__
from synthesis.api import load_cases, run_all_cases
from synthesis.chats import SpeakerQuestion, parse_chat
from synthesis.checks.registry import asked_checks, checks, rules_in_force
from synthesis.errors import InputError, MissingExtraError, OptionError, Place, SynthesisError, did_you_mean
from synthesis.glossary import explain_rule, glossary_of
from synthesis.model import Case, CaseResult
from synthesis.report.findings import SHORT_DISCLAIMER, Glossary
from synthesis.rules.ruleset import RuleSet
from synthesis.settings import DEFAULT_CHECKS
from synthesis.verdict import ReplyEvaluator, Verdict

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


class ReplyVerdict(TypedDict):
    """The fields of `Verdict.to_dict`: the outcome, the evidence of each check, every finding explained.

    `alert` is there where the user shows signs of a crisis: read it first. `severity` says how bad the worst failure
    is, and in `checks` how bad each is.
    """

    alert: NotRequired[dict[str, Any]]
    outcome: Literal["pass", "fail", "not_applicable", "error"]
    severity: NotRequired[Literal["critical", "serious", "minor"]]
    profile: str
    language: str
    checks: dict[str, dict[str, Any]]
    findings: list[dict[str, Any]]
    remarks: list[dict[str, Any]]
    limits: str


class ChatEvaluation(TypedDict):
    """The verdict on a chat; or, where it does not say who the assistant is, the question and its choices instead."""

    verdict: NotRequired[dict[str, Any]]  # the fields of a ReplyVerdict
    question: NotRequired[str]
    choices: NotRequired[list[str]]


@dataclass(frozen=True)
class FailedCase:
    id: str
    failed: list[str]
    severity: str | None
    expected_failure: bool
    remarks: list[dict[str, Any]]


@dataclass(frozen=True)
class FileEvaluation:
    """The figures of a case file and its worst failures; those that somebody expects come last."""

    profile: str
    reader: str
    summary: dict[str, Any]
    failures: list[FailedCase]
    failures_left_out: int
    limits: str = SHORT_DISCLAIMER


@dataclass(frozen=True)
class RuleExplanation:
    id: str
    language: str
    signal: str
    group: str
    severity: str
    why: str
    instead: str
    finds: list[str]
    match: list[str]
    miss: list[str]


@dataclass(frozen=True)
class CheckDescription:
    name: str
    title: str
    tag: str
    signals: list[str]


@dataclass(frozen=True)
class PackDescription:
    language: str
    name: str
    version: str
    licence: str
    rules: int


@dataclass(frozen=True)
class AxisScore:
    axis: str
    score: int | None
    reasoning: str


@dataclass(frozen=True)
class OfflineVerdict:
    """Scores from 1 to 5 by comparing words, no understanding of them; null where that cannot tell."""

    passed: bool
    overall_score: float | None
    axes: list[AxisScore]
    details: dict[str, Any] = field(default_factory=dict)


# The tools: the same functions as everywhere, in the form of the protocol.


CHECKS = [DEFAULT_CHECKS]
SHOWN_FAILURES = 50


class Tools:
    """What the server can do. Each public method is a tool; its docstring is what a client reads."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    @cached_property
    def _rules(self) -> RuleSet:
        return rules_in_force()

    @cached_property
    def _replies(self) -> ReplyEvaluator:
        return ReplyEvaluator(checks(), rules=self._rules)

    @cached_property
    def _glossary(self) -> Glossary:
        return glossary_of(self._rules)

    def evaluate_reply(
        self, user: str, assistant: str | None, checks: list[str] = CHECKS, lang: str | None = None
    ) -> ReplyVerdict:
        """Evaluate an assistant's reply to a user's message, without an LLM: verdicts with the exact evidence.

        `checks` are names of list_checks, or "all". A reply of null (a tool call) is not assessed.
        """
        return self._verdict(Case("", asked_checks(checks), user, assistant or "", lang=lang))

    def evaluate_chat(
        self, chat: str, speaker: str = "", checks: list[str] = CHECKS, lang: str | None = None
    ) -> ChatEvaluation:
        """Evaluate every reply of a pasted chat: names before messages, paragraphs that take turns, or JSON.

        Where the chat does not say who the assistant is, the result is a question with `choices`: ask the user, and
        call again with one of them as `speaker`.
        """
        turns = parse_chat(chat, speaker)
        if isinstance(turns, SpeakerQuestion):
            return cast(ChatEvaluation, turns.to_dict())
        case = Case("", asked_checks(checks), messages=turns, lang=lang)
        return {"verdict": {**self._verdict(case)}}

    def evaluate_case_file(self, path: str) -> FileEvaluation:
        """Evaluate a file of cases (JSON Lines) below the server's folder: figures, and the worst failures."""
        report = run_all_cases(load_cases(self._inside(path)))
        failed = sorted(
            (result for result in report.results if result.failed_checks),
            key=lambda result: (result.is_negative_example, result.urgency),
        )
        shown = [self._failed(result) for result in failed[:SHOWN_FAILURES]]
        return FileEvaluation(report.profile, report.reader, report.summary, shown, len(failed) - len(shown))

    def explain_rule(self, rule_id: str) -> list[RuleExplanation]:
        """Explain a rule by its id: why it exists, what would be better, and the sentences that prove it."""
        every = [*self._rules.rules, *self._rules.learned_rules]
        found = [rule for rule in every if rule.id == rule_id]
        if not found:
            known = did_you_mean(rule_id, {rule.id for rule in every}).partition(" Known:")[0]
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

        fields = {"id": "answer", "question": question, "answer": answer, "context": context}
        (case,) = parse_test_cases([fields], "judge_answer_offline")
        rubric = default_rubric([case])
        verdict = OfflineJudge().judge(case, rubric)
        axes = [AxisScore(name, axis.score, axis.reasoning) for name, axis in verdict.axes.items()]
        return OfflineVerdict(rubric.passed(verdict), rubric.overall(verdict), axes, verdict.details)

    def _verdict(self, case: Case) -> ReplyVerdict:
        fields = self._replies.case(case).to_dict()
        shown = {name: fields[name] for name in ReplyVerdict.__annotations__ if name in fields}
        return cast(ReplyVerdict, {**shown, "limits": SHORT_DISCLAIMER})

    def _inside(self, path: str) -> Path:
        found = (self._root / path).resolve()
        if not found.is_relative_to(self._root):
            hint = "Start the server with --root for another folder."
            raise InputError("is outside the server's folder", place=Place(path), hint=hint)
        return found

    def _failed(self, result: CaseResult) -> FailedCase:
        remarks = list(msgspec.to_builtins(Verdict.of(result, self._glossary).remarks))
        return FailedCase(result.id, result.failed_checks, result.severity, result.is_negative_example, remarks)


# The tools of `synthesis mcp`: the same functions as everywhere, for a client that speaks the Model Context Protocol.


def build_server(root: Path) -> "MCPServer[Any]":
    """The server with all tools, ready to be run."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp_types import ToolAnnotations
    except ImportError:
        raise MissingExtraError("mcp", "the MCP server") from None
    server: MCPServer[Any] = MCPServer(
        "synthesis",
        version=__version__,
        instructions=f"Checks of what an assistant says to people. {SHORT_DISCLAIMER}",
        log_level="WARNING",
    )
    tools = Tools(root)
    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for tool in (
        tools.evaluate_reply,
        tools.evaluate_chat,
        tools.evaluate_case_file,
        tools.explain_rule,
        tools.list_checks,
        tools.list_packs,
        tools.judge_answer_offline,
    ):
        server.tool(annotations=reads)(_answering_in_words(tool, ToolError))
    return server


def _answering_in_words(tool: Callable[..., Any], tool_error: type[Exception]) -> Callable[..., Any]:
    """The server keeps the message of its own kind of error alone; of any other a client would see nothing."""

    @wraps(tool)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return tool(*args, **kwargs)
        except SynthesisError as error:
            raise tool_error(str(error)) from None

    return call
