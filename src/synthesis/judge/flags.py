"""What is said of an answer beside its scores: that it is empty, or that it imitates the judge's instructions."""

import re
import unicodedata

from synthesis.report.judged.run import EMPTY

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
    (words, re.compile(pattern, re.IGNORECASE | re.MULTILINE))
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
_HIDDEN = re.compile(r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")


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
