"""Sets to be labelled by people: cases with the verdicts of the checks, samples with the scores of a judge."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from markupsafe import Markup

from synthesis.checks.registry import checks
from synthesis.report.glossary import Glossary
from synthesis.report.html.marks import Marks
from synthesis.report.html.signals import SignalStyles
from synthesis.report.judged.run import JudgedRun, JudgedSample
from synthesis.report.judged.samples import claims, sample_texts
from synthesis.report.verdicts import check_outcome, has_texts, reasons, tone_of
from synthesis.server.painful import is_painful

Record = dict[str, Any]
_ID = re.compile(r"[A-Z]+-[0-9]+")  # what a case file asks of an id
_ROLES = {"user", "assistant", "system", "tool"}
_OUTCOMES = {"pass": "passed", "fail": "failed", "not_applicable": "does not apply, so it passed"}


class Question(NamedTuple):
    """One verdict to agree or disagree with: a check's, or a judge's score on an axis."""

    name: str
    verdict: str
    tone: str
    why: str
    value: str  # what agreeing means: `true` or `false`, or a score


class Item(NamedTuple):
    """A case or a sample with the verdicts on it; `export` is what stands in the file beside the labels."""

    key: str
    title: str
    tags: tuple[str, ...]
    body: Markup
    notes: Markup
    questions: list[Question]
    export: str
    painful: bool


def case_items(records: Iterable[Record], glossary: Glossary, first: int) -> list[Item]:
    """Cases that have texts and a verdict."""
    numbered = enumerate(records, start=first)
    return [_case(record, glossary, number) for number, record in numbered if has_texts(record) and _questions(record)]


def _case(record: Record, glossary: Glossary, number: int) -> Item:
    styles = SignalStyles({finding["signal"]: tone_of(finding) for finding in record["findings"]})
    marks = Marks(record, styles, glossary, f"item{number}", rule_pages="/rules")
    questions = [question._replace(why=_why(record, question.name, glossary)) for question in _questions(record)]
    export = msgspec.json.encode(case_fields(record, number)).decode()
    tags = tuple(record.get("tags", ()))
    body, notes = Markup(marks.conversation()), Markup(marks.notes())
    return Item(str(number), record["id"], tags, body, notes, questions, export, is_painful(record))


def _questions(record: Record) -> list[Question]:
    """The checks that gave a verdict."""
    outcomes = {name: check_outcome(check) for name, check in record["checks"].items() if name in checks()}
    return [
        Question(name, _OUTCOMES[outcome], outcome, "", "false" if outcome == "fail" else "true")
        for name, outcome in outcomes.items()
        if outcome in _OUTCOMES
    ]


def _why(record: Record, name: str, glossary: Glossary) -> str:
    if check_outcome(record["checks"][name]) != "fail":
        return str(record["checks"][name].get("reason") or "")
    return reasons(record, name, glossary)[0].why


def case_fields(record: Record, number: int) -> Record:
    """The case as a case file has it, with the labels that it came with; an id that would not do is replaced."""
    asked = [name for name in record["checks"] if name in checks()]
    known = {name: label["expected"] for name, label in record.get("label_comparison", {}).items() if name in asked}
    fits = bool(_ID.fullmatch(record["id"]))
    fields = {"id": record["id"] if fits else f"CASE-{number}", **_said(record), "checks": asked, "expected": known}
    if record.get("tags"):
        fields["tags"] = record["tags"]
    if record.get("language_by") == "declared":
        fields["lang"] = record["language"]
    return fields if fits else fields | {"notes": f"was {record['id']}"}


def _said(record: Record) -> Record:
    if "messages" in record or not record.get("user"):
        turns = record.get("messages") or [{"role": "assistant", "content": record["assistant"]}]
        return {
            "messages": [
                {"role": turn["role"] if turn["role"] in _ROLES else "system", "content": turn["content"]}
                for turn in turns
                if turn["content"]
            ]
        }
    return {"user": record["user"], "assistant": record["assistant"]}


def sample_items(run: JudgedRun) -> list[Item]:
    """The samples of the last iteration that have texts."""
    samples = [sample for sample in run.last.records if sample.question is not None]
    return [_sample(run, sample, number) for number, sample in enumerate(samples, start=1)]


def _sample(run: JudgedRun, sample: JudgedSample, number: int) -> Item:
    said = sample.judge_verdict
    questions = [
        Question(
            axis,
            f"score {said[axis].score} of 5",
            "pass" if said[axis].score >= passes_at else "fail",
            said[axis].reasoning,
            str(said[axis].score),
        )
        for axis, passes_at in run.axes
    ]
    export = msgspec.json.encode({"queryLogId": sample.query_log_id}).decode()
    body, notes = Markup(sample_texts(sample)), Markup(claims(sample))
    return Item(str(number), sample.query_log_id, (), body, notes, questions, export, painful=False)
