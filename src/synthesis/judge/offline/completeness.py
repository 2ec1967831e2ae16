"""Completeness offline: does an answer say why it fits the question?

Not validated: no agreement with people was found.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from synthesis.judge.offline.answers import Claim
from synthesis.judge.offline.context import ContextIndex
from synthesis.judge.offline.courses import FRAME_STEMS, CourseEvidence
from synthesis.judge.offline.text import REASON_WORDS, normalise, tokenise
from synthesis.lazy import regex

_SPACED = ("en", "de", "fr", "es")
_REASON = regex(
    "|".join(
        rf"\b{re.escape(phrase)}\b" if language in _SPACED else re.escape(phrase)
        for language, phrases in REASON_WORDS.items()
        for phrase in sorted(phrases, key=len, reverse=True)
    ),
    re.IGNORECASE,
)
_NOTHING_FOUND = regex(
    r"\b(?:no|not any|none of the)\b[^.!?\n]{0,40}\b(?:found|match\w*|relevant|suitable|available)\b"
    r"|\b(?:could|can|did|was|were)(?: ?not|n't)\b[^.!?\n]{0,20}\b(?:find|locate|found)\b"
    r"|\b(?:unable|failed) to (?:find|locate)\b|\bnothing (?:relevant|suitable|found|match\w*)"
    r"|\b(?:do not|don't|does not|doesn't) (?:know|have (?:enough )?information|contain|mention)"
    r"|ไม่พบ|見つかりません|没有找到|沒有找到",
    re.IGNORECASE,
)


def _reason_in(text: str) -> bool:
    """The text has a word that gives a reason or a purpose."""
    return bool(_REASON.search(text))


def says_nothing_found(text: str) -> bool:
    return bool(_NOTHING_FOUND.search(text))


def question_stems(question: str) -> frozenset[str]:
    """The words of meaning that the question has."""
    return frozenset(token.stem for token in tokenise(normalise(question)) if token.is_content)


SHORT_ANSWER = 12  # words; what is shorter leaves the question's own words unsaid ("At nine, except on Sundays")
DESCRIBED = 3  # words of meaning beyond the name, before an entry is more than a bare name
_WANTS_ADVICE = regex(
    r"\brecommend|\bsuggest|\bshould i\b|\bwhich course|\bcourses?\b"
    r"|\bi (?:want|need|would like|am looking|plan)\b|\bi'm (?:looking|interested)|\bbecome\b"
    r"|\binterested in\b|\blooking for\b|\bhelp me\b|\badvice\b|\badvise\b",
    re.IGNORECASE,
)


class Bridging(NamedTuple):
    """What was counted; `entries` are the recommendations, or the whole answer as one."""

    kind: str
    words: int
    entries: int
    described: int
    reasoned: int
    tied_to_question: int
    question_terms_taken_up: float
    short_answer: bool
    nothing_found: bool
    options_exist: bool


def look_for_bridging(
    question: str, claims: Sequence[Claim], index: ContextIndex, courses: CourseEvidence | None
) -> Bridging:
    """Count the entries of an answer and how many are described, reasoned and tied to the question."""
    asked = question_stems(question)
    entries = _entries_by_course(claims, courses) if courses else _entries_by_item(claims)
    said = {token.stem for claim in claims for token in claim.tokens}
    general = any(_tied(claim, asked) for claim in claims if not any(claim in entry for entry in entries))
    named = courses is not None and any(courses.mentioned(claim.tokens) for claim in claims)
    nothing = not named and any(says_nothing_found(claim.text) for claim in claims)
    return Bridging(
        kind="recommendation" if courses or _WANTS_ADVICE.search(question) else "answer",
        words=sum(token.is_content for claim in claims for token in claim.tokens),
        entries=len(entries),
        described=sum(_described(entry, courses) for entry in entries),
        reasoned=sum(general or any(_reason_in(claim.text) for claim in entry) for entry in entries),
        tied_to_question=sum(any(_tied(claim, asked) for claim in entry) for entry in entries),
        question_terms_taken_up=len(asked & said) / len(asked) if asked else 0.0,
        short_answer=_answers_in_short(asked, claims, index),
        nothing_found=nothing,
        options_exist=_has_options(question, index),
    )


def _answers_in_short(asked: frozenset[str], claims: Sequence[Claim], index: ContextIndex) -> bool:
    """A few words, taken from a sentence of the context that has half of the question's."""
    tokens = [token for claim in claims for token in claim.tokens]
    if not asked or len(tokens) > SHORT_ANSWER:
        return False
    told = {token.stem for token in tokens if token.is_content} - asked
    sentences = ({token.stem for token in window.tokens} for window in index.similar_windows(tokens) if window.single)
    return any(told & sentence and len(asked & sentence) * 2 >= len(asked) for sentence in sentences)


def _has_options(question: str, index: ContextIndex) -> bool:
    """The context has at least half of what the question is about."""
    topics = [token for token in tokenise(normalise(question)) if token.is_content and token.stem not in FRAME_STEMS]
    return bool(topics) and sum(map(index.knows, topics)) * 2 >= len(topics)


def _tied(claim: Claim, asked: frozenset[str]) -> bool:
    """A reason beside a word of the question, in one sentence."""
    return _reason_in(claim.text) and any(token.stem in asked for token in claim.tokens)


def _described(entry: Sequence[Claim], courses: CourseEvidence | None) -> bool:
    if courses is None:
        return sum(token.is_content for claim in entry for token in claim.tokens) > DESCRIBED + 1
    mentioned = {at for claim in entry for at in courses.mentioned(claim.tokens)}
    terms = [token for claim in entry for token in courses.terms(claim.tokens, sorted(mentioned), frozenset())]
    return len(terms) >= DESCRIBED


def _entries_by_course(claims: Sequence[Claim], courses: CourseEvidence) -> list[list[Claim]]:
    """One entry per course, with the claims that follow its name."""
    entries: dict[int, list[Claim]] = {}
    subject: list[int] = []
    for claim in claims:
        subject = courses.subject(claim.text, claim.tokens, subject)
        for course in subject:
            entries.setdefault(course, []).append(claim)
    return list(entries.values()) or [list(claims)]


def _entries_by_item(claims: Sequence[Claim]) -> list[list[Claim]]:
    """One entry per list item where there is a list, else the answer as a whole."""
    items = [[claim] for claim in claims if claim.item]
    return items if len(items) > 1 else [list(claims)]


def completeness(bridging: Bridging) -> tuple[int, str]:
    """The score and the sentence that explains it."""
    if bridging.nothing_found:
        if bridging.options_exist:
            return (
                1,
                "The answer says that nothing was found, but the context has what the question asks about.",
            )
        return 4, "The answer says that nothing was found, and the context has little of what is asked about."
    if bridging.kind == "answer":
        return _direct_answer(bridging)
    return _recommendation(bridging)


def _recommendation(found: Bridging) -> tuple[int, str]:
    counts = (
        f"Of {found.entries} recommended, {found.described} described, {found.reasoned} with a reason "
        f"or purpose, {found.tied_to_question} with a reason beside the question's own words."
    )
    if found.tied_to_question == found.entries:
        return 5, f"{counts} Every one is tied to the question."
    if found.reasoned * 2 >= found.entries and (found.tied_to_question or found.reasoned == found.entries):
        return 4, f"{counts} The link to the question is there, but not for each or in general words."
    if found.described * 2 >= found.entries:
        return 3, f"{counts} It says what things are, not why they matter to the question."
    if found.described or found.reasoned:
        return 2, f"{counts} There is very little explanation."
    return 1, f"{counts} A bare list without reasoning."


def _direct_answer(found: Bridging) -> tuple[int, str]:
    share = f"{found.question_terms_taken_up:.0%} of the question's words of meaning are taken up"
    if found.question_terms_taken_up >= 0.5:
        if found.tied_to_question:
            return 5, f"{share}, with a reason beside them."
        return 4, f"{share}: a direct answer without a reason."
    if found.short_answer:
        return 4, "A short answer, from a sentence of the context that has the question's words; without a reason."
    if found.question_terms_taken_up > 0 or found.reasoned:
        return 3, f"{share}: the answer touches the question but leaves the reader to connect them."
    if found.described:
        return 2, f"{share}: the answer describes something without reference to the question."
    return (2 if found.words else 1), f"{share}, and hardly anything is said."
