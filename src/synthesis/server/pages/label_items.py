"""Items for people to label: cases with the verdicts of the checks, samples with the scores of a judge."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from markupsafe import Markup

from synthesis.checks.registry import checks
from synthesis.model import CaseResult
from synthesis.report.glossary import Glossary
from synthesis.report.judged.run import JudgedRun, JudgedSample
from synthesis.report.judged.samples import claims, sample_texts
from synthesis.report.reading import Record
from synthesis.report.remarks import remarks_on_check
from synthesis.server.pages.case_view import case_view

_ID = re.compile(r"[A-Z]+-[0-9]+")  # the ids that a case file accepts
_ROLES = {"user", "assistant", "system", "tool"}
_OUTCOMES = {"pass": "passed", "fail": "failed", "not_applicable": "does not apply, so it passed"}


class LabelQuestion(NamedTuple):
    """One verdict to agree or disagree with: a check's, or a judge's score on an axis."""

    name: str
    verdict: str
    tone: str
    why: str
    value: str  # what agreeing means: `true` or `false`, or a score


class LabelItem(NamedTuple):
    """A case or a sample with its verdicts; `export` holds its other fields in the downloaded file."""

    key: str
    title: str
    tags: tuple[str, ...]
    body: Markup
    notes: Markup
    questions: list[LabelQuestion]
    export: str
    content_warning: bool


def case_items(results: Iterable[CaseResult], glossary: Glossary, first: int) -> list[LabelItem]:
    """The cases that have texts and a verdict."""
    numbered = enumerate(results, start=first)
    return [_case(result, glossary, number) for number, result in numbered if result.has_texts and _questions(result)]


def _case(result: CaseResult, glossary: Glossary, number: int) -> LabelItem:
    view = case_view(result, glossary, f"item{number}")
    questions = [question._replace(why=_why(result, question.name, glossary)) for question in _questions(result)]
    export = msgspec.json.encode(case_fields(result, number)).decode()
    warns = bool(view.content_warning)
    return LabelItem(str(number), result.name, result.tags, view.conversation, view.notes, questions, export, warns)


def _questions(result: CaseResult) -> list[LabelQuestion]:
    """The checks that gave a verdict."""
    outcomes = {name: check.outcome for name, check in result.checks.items() if name in checks()}
    return [
        LabelQuestion(name, _OUTCOMES[outcome], outcome, "", "false" if outcome == "fail" else "true")
        for name, outcome in outcomes.items()
        if outcome in _OUTCOMES
    ]


def _why(result: CaseResult, name: str, glossary: Glossary) -> str:
    remarks = remarks_on_check(result, name, glossary)
    return remarks[0].reason if remarks else result.checks[name].reason or ""


def case_fields(result: CaseResult, number: int) -> Record:
    """The case as a line of a case file, with the labels it already has; an id that is not valid there is replaced."""
    asked = [name for name in result.checks if name in checks()]
    known = {name: label.expected for name, label in result.label_comparison.items() if name in asked}
    fits = bool(_ID.fullmatch(result.name))
    said = _said(result.texts)
    fields: Record = {"id": result.name if fits else f"CASE-{number}", **said, "checks": asked, "expected": known}
    if result.tags:
        fields["tags"] = list(result.tags)
    if result.languages.get("language_by") == "declared":
        fields["lang"] = result.language
    return fields if fits else fields | {"notes": f"was {result.name}"}


def _said(texts: Record) -> Record:
    if "messages" in texts or not texts.get("user"):
        turns = texts.get("messages") or [{"role": "assistant", "content": texts["assistant"]}]
        return {
            "messages": [
                {"role": turn["role"] if turn["role"] in _ROLES else "system", "content": turn["content"]}
                for turn in turns
                if turn["content"]
            ]
        }
    return {"user": texts["user"], "assistant": texts["assistant"]}


def sample_items(run: JudgedRun) -> list[LabelItem]:
    """The samples of the last iteration that have texts."""
    samples = [sample for sample in run.last.records if sample.question is not None]
    return [_sample(run, sample, number) for number, sample in enumerate(samples, start=1)]


def _sample(run: JudgedRun, sample: JudgedSample, number: int) -> LabelItem:
    said = sample.judge_verdict
    questions = [
        LabelQuestion(
            axis,
            f"score {said[axis].score} of 5",
            "pass" if said[axis].score >= passes_at else "fail",
            said[axis].reasoning,
            str(said[axis].score),
        )
        for axis, passes_at in run.axes
    ]
    export = msgspec.json.encode({"queryLogId": sample.query_log_id}).decode()
    body, notes = Markup(sample_texts(sample)), Markup(claims(sample, f"s{number}-"))
    return LabelItem(str(number), sample.query_log_id, (), body, notes, questions, export, content_warning=False)
