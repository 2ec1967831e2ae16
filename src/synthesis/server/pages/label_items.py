"""What a person labels: a case or a sample as it is shown before and after the answer, and the labelled file.

Before, a text is shown bare: no verdict, no mark, no tag, no id, since each of them may tell what the check says.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from markupsafe import Markup

from synthesis.checks.registry import checks
from synthesis.history import SavedCase, SavedSample
from synthesis.judge.panel import lower_median
from synthesis.labels.summary import CUE, CUE_CHECK, YES, Label, answers_by_place, consensus, value_of
from synthesis.model import CaseResult
from synthesis.report.findings import CUE as CUE_SIGNAL
from synthesis.report.findings import Glossary, remarks_on_check
from synthesis.report.html.marks import shown
from synthesis.report.judged.html import claims, sample_texts
from synthesis.report.judged.run import JudgedSample, decode_sample
from synthesis.report.stored import Record
from synthesis.run.evaluator import with_checks
from synthesis.server.pages.case_view import CRISIS_SIGNALS, case_view

_ID = re.compile(r"[A-Z]+-[0-9]+")  # the ids that a case file accepts
_ROLES = {"user", "assistant", "system", "tool"}
_OUTCOMES = {"pass": "passed", "fail": "failed", "not_applicable": "does not apply, so it passed"}


class LabelView(NamedTuple):
    """A text to label; title, verdict, reason and notes are empty until the answer is stored."""

    body: Markup
    title: str = ""
    verdict: str = ""
    tone: str = ""
    why: str = ""
    notes: Markup = Markup("")


def blind_case(case: SavedCase, glossary: Glossary) -> LabelView:
    """What was said, and nothing else."""
    bare = msgspec.structs.replace(case.result, findings=(), checks={}, alert=None)
    return LabelView(case_view(bare, glossary, "case").conversation)


def revealed_case(case: SavedCase, question: str, glossary: Glossary) -> LabelView:
    """The same with the verdict of the check in question and its marks; other checks stay hidden."""
    check = CUE_CHECK if question == CUE else question
    result = msgspec.structs.replace(with_checks(case.result, (check,)), alert=None)
    if question == CUE:
        return _revealed_cue(case, result, glossary)
    view = case_view(result, glossary, "case")
    outcome = result.checks[check].outcome
    why = _why(result, check, glossary)
    return LabelView(view.conversation, case.case_id, _OUTCOMES.get(outcome, outcome), outcome, why, view.notes)


def _revealed_cue(case: SavedCase, result: CaseResult, glossary: Glossary) -> LabelView:
    """The user's words that were found; the verdict on the reply is a question of its own, and stays hidden."""
    cues = tuple(finding for finding in result.findings if finding.signal in CRISIS_SIGNALS)
    names = {finding.signal for finding in cues}
    verdict = "found a cue" if CUE_SIGNAL in names else "found a soft cue" if names else "found no cue"
    view = case_view(msgspec.structs.replace(result, findings=cues, checks={}), glossary, "case")
    return LabelView(view.conversation, case.case_id, verdict, "", "", view.notes)


def _why(result: CaseResult, name: str, glossary: Glossary) -> str:
    remarks = remarks_on_check(result, name, glossary)
    return remarks[0].reason if remarks else result.checks[name].reason or ""


def blind_sample(sample: SavedSample) -> LabelView | None:
    """Question, answer and the context that was kept; None for a sample without texts or verdict."""
    said = _judged(sample)
    if said is None:
        return None
    kept = "".join(f'<div class="text" dir="auto">{shown(part.text)}</div>' for part in said.passages)
    context = f"<details><summary>Context</summary>{kept}</details>" if kept else ""
    return LabelView(Markup(sample_texts(said) + context))


def revealed_sample(sample: SavedSample, axis: str) -> LabelView | None:
    """The same with the judge's score and its evidence."""
    said = _judged(sample)
    if said is None:
        return None
    score = said.judge_verdict[axis]
    body, notes = Markup(sample_texts(said, "s-")), Markup(claims(said, "s-"))
    return LabelView(body, said.query_log_id, f"score {score.score} of 5", "", score.reasoning, notes)


def _judged(sample: SavedSample) -> JudgedSample | None:
    found = decode_sample(sample.record)
    return found if isinstance(found, JudgedSample) and found.question is not None else None


def labelled_cases(cases: Iterable[SavedCase], labels: Sequence[Label]) -> Iterator[bytes]:
    """Lines of a case file: the cases on which people agree, with what they expect of each check."""
    expected: dict[int, dict[str, bool]] = {}
    for (position, question), given in answers_by_place(labels).items():
        if question != CUE and (said := consensus([label.answer for label in given])) is not None:
            expected.setdefault(position, {})[question] = said != YES
    for case in cases:
        if case.position in expected and case.result.has_texts:
            fields = case_fields(case.result, case.position + 1)
            known = {**fields["expected"], **expected[case.position]}
            yield msgspec.json.encode(fields | {"expected": known}) + b"\n"


def labelled_samples(names: Mapping[int, str], labels: Sequence[Label]) -> list[Record]:
    """The labels as `synthesis judge calibrate` reads them: the lower median of what people gave."""
    rows: dict[int, Record] = {}
    for (position, axis), given in answers_by_place(labels).items():
        row = rows.setdefault(position, {"queryLogId": names[position]})
        row[axis] = lower_median([value_of(label.answer) for label in given])
    return list(rows.values())


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
