"""Does an answer try to talk to its judge? It is judged on its merits all the same, and flagged."""

import re
import unicodedata

FLAG = "imitates-instructions"

# Bounded repetition only: linear time on any text.
_ATTEMPTS = re.compile(
    r"""
      \b(?:ignore|disregard|forget|override)\b\W{1,3}(?:\w+\W{1,3}){0,4}
        (?:instructions?|rubrics?|guidelines|prompts?|directions|rules)\b
    | \b(?:instructions?|note|message|attention|memo)\W{1,3}(?:to|for)\W{1,3}(?:\w+\W{1,3}){0,2}
        (?:judges?|graders?|evaluators?|raters?|reviewers?)\b
    | \b(?:judges?|graders?|evaluators?)\b[^.\n]{0,40}\b(?:must|should|shall|please)\b[^.\n]{0,30}\b(?:scor|rat|grad|award|giv)
    | \b(?:score|rate|grade|award|give)\b[^.\n]{0,30}\b(?:answer|response|reply|axis|axes|faithfulness|completeness)\b
        [^.\n]{0,30}\b(?:[1-5]|five|full|maximum|perfect)\b
    | ["']?\b(?:faithfulness|completeness)\b["']?\s{0,3}[:=]\s{0,3}(?:\{|[1-5]\b)
    | ["']score["']\s{0,3}:\s{0,3}["']?[1-5]
    | \byou\s{1,3}are\s{1,3}(?:now\s{1,3})?(?:the|a|an)\s{1,3}(?:\w+\s{1,3}){0,2}(?:judge|grader|evaluator)\b
    | <\|?\s{0,2}/?(?:im_start|im_end|system|assistant|endoftext|begin_of_text|eot_id|start_header_id)\b[^>]{0,20}\|?>
    | \[/?INST\] | <<\s{0,2}/?SYS\s{0,2}>>
    | ^[^\S\n]{0,3}(?:\#{1,4}|\*\*)?[^\S\n]{0,3}(?:system|developer)(?:\W{1,3}(?:prompt|message|note))?[^\S\n]{0,3}\*{0,2}:
    | \[\[[^\]\n]{0,40}\b(?:END\s+)?(?:QUESTION|CONTEXT|ANSWER)\b[^\]\n]{0,20}\]\]
    | ^[^\S\n]{0,3}[<=\-\#\[]{2,12}[^\S\n]{0,3}/?(?:END[^\S\n]+(?:OF[^\S\n]+)?)?(?:QUESTION|CONTEXT|ANSWER)\b[^\S\n]{0,3}[>=\-\#\]]{2,12}
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_HIDDEN = re.compile(r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")


def flags_of(answer: str) -> list[str]:
    """The flags of an answer: none, or that it imitates instructions."""
    seen = _HIDDEN.sub("", unicodedata.normalize("NFKC", answer))
    return [FLAG] if _ATTEMPTS.search(seen) else []
