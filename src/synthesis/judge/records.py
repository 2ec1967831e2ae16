"""A verdict becomes a record: with its scores, the flags of its answer, and only text that can be stored."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from synthesis.errors import JudgeError
from synthesis.judge.model import Axis, AxisVerdict, Rubric, TestCase, Verdict
from synthesis.lazy import regex
from synthesis.report.judged.layout import canonical_record
from synthesis.report.judged.run import EMPTY, OFFLINE

Record = dict[str, Any]
SCORES = (1, 2, 3, 4, 5)
EMPTY_REASON = "The answer is empty."
_LONE_SURROGATE = regex("[\ud800-\udfff]")


def is_asked_about(case: TestCase) -> bool:
    """Whether a judge is needed."""
    return not case.problem and not is_empty(case.answer)


def verdict_without_judge(case: TestCase, rubric: Rubric) -> Verdict | None:
    """1 on every axis for an empty answer; None where a judge is needed."""
    if case.problem:
        raise JudgeError(case.problem)
    if not is_empty(case.answer):
        return None
    return Verdict({axis.name: AxisVerdict(1, EMPTY_REASON) for axis in rubric.axes})


def make_record(case: TestCase, verdict: Verdict, rubric: Rubric) -> Record:
    """Compare a verdict with the rubric's thresholds: the record of one judged sample.

    Text that cannot be stored is repaired and flagged: the scores count, whatever the reasoning holds.
    """
    untold = verdict.is_untold
    for axis in rubric.axes:
        if axis.name not in verdict.axes or not (untold or verdict.axes[axis.name].score in SCORES):
            raise JudgeError(f"the verdict has no whole score from 1 to 5 on '{axis.name}'")
    said = {name: {"score": axis.score, "reasoning": axis.reasoning} for name, axis in verdict.axes.items()}
    details = storable(verdict.details)
    record: Record = {
        "queryLogId": case.query_log_id,
        "question": case.question,
        "systemAnswer": case.answer,
        "judgeVerdict": storable(said),
        "overallScore": rubric.overall(verdict),
        "passed": rubric.passed(verdict),
        "courseCount": len(case.context),
        "tokenUsage": msgspec.to_builtins(list(verdict.token_usage)),
    }
    record |= _told_offline(verdict, rubric, untold)
    is_repaired = (record["judgeVerdict"], details) != (said, verdict.details)
    flags = flags_of(case.answer) + ([REPAIRED] if is_repaired else [])
    return record | ({"flags": flags} if flags else {}) | ({"details": details} if details else {})


def _told_offline(verdict: Verdict, rubric: Rubric, untold: bool) -> Record:
    """What the gate of an offline run looks at; and whether the sample still needs a judge."""
    if untold:
        return {"faithfulnessPassed": None, "needsJudge": True}
    if verdict.details.get("judge") != OFFLINE:
        return {}
    axis = next((axis for axis in rubric.axes if axis.name == "faithfulness"), None)
    return {"faithfulnessPassed": (verdict.axes[axis.name].score or 0) >= axis.pass_at} if axis else {}


def storable(value: Any) -> Any:
    """The value with U+FFFD for every lone surrogate, which JSON can escape but UTF-8 cannot hold."""
    match value:
        case str():
            return value if value.isascii() else _LONE_SURROGATE.sub("\ufffd", value)
        case dict():
            return {storable(key): storable(item) for key, item in value.items()}
        case list():
            return [storable(item) for item in value]
        case tuple():
            return tuple(map(storable, value))
    return value


def has_scores(record: Mapping[str, Any]) -> bool:
    """Whether the sample was told: one that needs a judge has no score on any axis."""
    return all(said["score"] is not None for said in record["judgeVerdict"].values())


def on_present_texts(records: Iterable[Mapping[str, Any]]) -> list[Record]:
    """The records that figures are about: a stale one is no verdict on what the sample says now."""
    return [canonical_record(record) for record in records if not record.get("stale")]


def score_of(record: Mapping[str, Any], axis: Axis) -> int:
    """Of a record that has scores."""
    score: int = record["judgeVerdict"][axis.name]["score"]
    return score


def reasoning_of(record: Mapping[str, Any], axis: Axis) -> str:
    reasoning: str = record["judgeVerdict"][axis.name]["reasoning"]
    return reasoning


def axis_passed(record: Mapping[str, Any], axis: Axis) -> bool:
    return score_of(record, axis) >= axis.pass_at


def all_passed(record: Mapping[str, Any], rubric: Rubric) -> bool:
    """Every axis reaches its threshold."""
    return has_scores(record) and all(axis_passed(record, axis) for axis in rubric.axes)


def camel(name: str, *, capital: bool = False) -> str:
    """`tone-of-voice` as part of a key: toneOfVoice, or ToneOfVoice."""
    words = [word for word in name.replace("-", " ").replace("_", " ").split(" ") if word]
    joined = "".join(word[0].upper() + word[1:] for word in words)
    return joined if capital else joined[:1].lower() + joined[1:]


# What is said of an answer beside its scores: that it is empty, or that it imitates the judge's instructions.


IMITATES = "imitates-instructions"
REPAIRED = "repaired"  # of the verdict: it held text that cannot be stored

_JUDGE = r"(?:judges?|graders?|evaluators?|raters?|reviewers?)"
_JUDGE_WORDS = ("judge", "grader", "evaluator", "rater", "reviewer")
_SECTION = r"(?:END\s{1,3}(?:OF\s{1,3})?)?(?:QUESTION|CONTEXT|ANSWER)"
_SECTION_WORDS = ("question", "context", "answer")
_LINE_START = r"^[^\S\n]{0,3}"

# Ways to pose as something else, each behind words without which it cannot be there: most answers have none
# of them and cost next to nothing. Bounded repetition only: linear time on any text.
_ATTEMPTS = tuple(
    (words, regex(pattern, re.IGNORECASE | re.MULTILINE))
    for words, pattern in (
        # orders to drop the rules, and letters to the judge
        (
            ("ignore", "disregard", "forget", "override"),
            r"\b(?:ignore|disregard|forget|override)\b\W{1,3}(?:\w+\W{1,3}){0,4}"
            r"(?:instructions?|rubrics?|guidelines|prompts?|directions|rules)\b",
        ),
        (
            _JUDGE_WORDS,
            r"\b(?:instructions?|note|message|attention|memo)\W{1,3}(?:to|for)\W{1,3}"
            rf"(?:\w+\W{{1,3}}){{0,2}}{_JUDGE}\b"
            rf"|\b{_JUDGE}\b[^.\n]{{0,40}}\b(?:must|should|shall|please)\b[^.\n]{{0,30}}"
            r"\b(?:scor|rat|grad|award|giv)"
            rf"|\byou\s{{1,3}}are\s{{1,3}}(?:now\s{{1,3}})?(?:the|an?)\s{{1,3}}(?:\w+\s{{1,3}}){{0,2}}{_JUDGE}\b",
        ),
        # requests for a score, and finished verdicts
        (
            ("score", "rate", "grade", "award", "give"),
            r"\b(?:score|rate|grade|award|give)\b[^.\n]{0,30}"
            r"\b(?:answer|response|reply|axis|axes|faithfulness|completeness)\b"
            r"[^.\n]{0,30}\b(?:[1-5]|five|full|maximum|perfect)\b"
            r"|[\"']score[\"']\s{0,3}:\s{0,3}[\"']?[1-5]",
        ),
        (
            ("faithfulness", "completeness"),
            r"\b(?:faithfulness|completeness)\b[\"']?\s{0,3}[:=]\s{0,3}(?:\{|[1-5]\b)",
        ),
        # the marks that separate the parts of a chat prompt, or of this one
        (
            ("<", "["),
            r"<\|?\s{0,2}/?(?:im_start|im_end|system|assistant|endoftext|begin_of_text|eot_id)\b[^>]{0,20}\|?>"
            r"|\[/?INST\]|<<\s{0,2}/?SYS\s{0,2}>>",
        ),
        (
            ("system", "developer"),
            rf"{_LINE_START}(?:#{{1,4}}|\*\*)?[^\S\n]{{0,3}}"
            r"(?:system|developer)(?:\W{1,3}(?:prompt|message|note))?[^\S\n]{0,3}\*{0,2}:",
        ),
        (
            _SECTION_WORDS,
            rf"\[\[[^\]\n]{{0,40}}\b{_SECTION}\b[^\]\n]{{0,20}}\]\]"
            rf"|{_LINE_START}[<=\-#\[]{{2,12}}[^\S\n]{{0,3}}/?{_SECTION}\b[^\S\n]{{0,3}}[>=\-#\]]{{2,12}}",
        ),
    )
)
_HIDDEN = regex(r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")


def is_empty(answer: str) -> bool:
    """Whether an answer says nothing."""
    return not answer.strip()


def flags_of(answer: str) -> list[str]:
    """The flags of an answer: none, that it is empty, or that it imitates instructions and is judged like any other."""
    if is_empty(answer):
        return [EMPTY]
    seen = answer if answer.isascii() else _HIDDEN.sub("", unicodedata.normalize("NFKC", answer))
    lowered = seen.lower()
    for words, pattern in _ATTEMPTS:
        if any(word in lowered for word in words) and pattern.search(seen):
            return [IMITATES]
    return []
