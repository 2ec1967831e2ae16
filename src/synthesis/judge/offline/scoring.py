"""The scores offline: faithfulness from the support of claims, completeness from what ties them to the question."""

import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from synthesis.documents import load_yaml
from synthesis.errors import shorten
from synthesis.judge.offline.courses import FRAME_STEMS, CourseEvidence
from synthesis.judge.offline.support import Claim, ContextIndex, Support
from synthesis.judge.offline.text import REASON_WORDS, Token, normalise, tokenise
from synthesis.lazy import regex

LEAST_SUPPORT = 0.03  # added before the logarithm: no claim is infinitely unsupported
WEAK_CLAIM, WEAK_LISTED = 0.05, 0.27
SUPPORTED_AT = 4  # the score from which people found an answer supported, in the sets of the fit
MIXED_SHARE = 0.25  # of claims that are weak or against the context, from which an answer is mixed at best
OWN_WORDS, EXTRACT, LISTED = "in its own words", "an extract of the context", "compared with listed evidence"

Range = tuple[float, float]
Cuts = tuple[float, float, float, float]  # the least value for 2, 3, 4 and 5
Checked = Sequence[tuple[str, Support]]


class OwnWordsWeights(msgspec.Struct, frozen=True):
    bar: float
    slope: float
    conflicts: float


class ExtractWeights(msgspec.Struct, frozen=True):
    bar: float
    slope: float
    floor: float


class Weights(msgspec.Struct, frozen=True):
    """The file `weights.yaml`."""

    version: str
    own_words: OwnWordsWeights
    extract: ExtractWeights
    extract_share: Range
    extract_words: Range
    probabilities: Cuts
    mixed: Range
    listed: Cuts


@cache
def weights() -> Weights:
    """The weights that travel with the package."""
    return msgspec.convert(load_yaml(Path(__file__).with_name("weights.yaml")), Weights)


class Features(NamedTuple):
    """What the map sees of an answer."""

    support: float  # the mean over its claims
    conflicts: float  # the share of claims against the context
    extract_share: float  # of its words in runs of three or more that the context has
    extract_words: int  # how many these are


def features_of(supports: Sequence[Support]) -> Features:
    extracted = sum(support.extracted for support in supports)
    return Features(
        support=sum(support.value for support in supports) / len(supports),
        conflicts=sum(support.conflict for support in supports) / len(supports),
        extract_share=extracted / max(1, sum(support.words for support in supports)),
        extract_words=extracted,
    )


def log_support(support: float) -> float:
    return math.log(support + LEAST_SUPPORT)


def extract_weight(features: Features) -> float:
    """0 for own words, 1 for an extract."""
    share = _ramp(features.extract_share, weights().extract_share)
    return share * _ramp(features.extract_words, weights().extract_words)


def _ramp(value: float, between: Range) -> float:
    low, high = between
    return min(1.0, max(0.0, (value - low) / (high - low)))


def contributions(features: Features) -> dict[str, float]:
    """The parts of the log odds.

    A true sentence in own words shares fewer words with its source than a wrongly joined copy does. So there are two
    bars, and an answer between the styles is held to both in part.
    """
    own, extract, share = weights().own_words, weights().extract, extract_weight(features)
    above = own.slope * (log_support(features.support) - log_support(own.bar))
    return {
        "support": (1 - share) * above,
        "conflicts": (1 - share) * own.conflicts * features.conflicts,
        "copying": share * max(extract.floor, extract.slope * (features.support - extract.bar)),
    }


class Faithfulness(NamedTuple):
    score: int
    support: float
    style: str
    reasoning: str
    scoring: dict[str, Any]


def faithfulness(checked: Checked, listed: bool) -> Faithfulness:
    """The score of an answer with at least one claim, and what made it."""
    supports = [support for _, support in checked]
    features = features_of(supports)
    style, score, scoring = _listed(features) if listed else _fitted(features)
    against = [(text, support) for text, support in checked if support.conflict]
    weak = [text for text, support in checked if support.value < _weak_claim(listed)]
    limit = score_limit(supports, listed)
    noun = "claim was" if len(checked) == 1 else "claims were"
    said = [
        f"{len(checked)} {noun} compared with the context word by word; the mean support is {features.support:.2f}.",
        _explained(style, scoring),
    ]
    if against:
        text, support = against[0]
        said.append(f"{len(against)} against the context, first: “{shorten(text)}” ({support.notes[0]}).")
    if weak:
        said.append(f"{len(weak)} with hardly any support, first: “{shorten(weak[0])}”.")
    if limit < score:
        said.append(f"That allows {limit} at most.")
    return Faithfulness(min(score, limit), features.support, style, " ".join(said), scoring | {"limit": limit})


def is_supported(support: Support, listed: bool) -> bool:
    """Whether a claim would pass as an answer of its own."""
    _, score, _ = _listed(features_of([support])) if listed else _fitted(features_of([support]))
    return min(score, score_limit([support], listed)) >= SUPPORTED_AT


def _listed(features: Features) -> tuple[str, int, dict[str, Any]]:
    """Evidence on courses is a list of terms. No labels exist for it: its cuts are set, not fitted."""
    return LISTED, _above(features.support, weights().listed), {}


def _fitted(features: Features) -> tuple[str, int, dict[str, Any]]:
    parts = contributions(features)
    probability = 1 / (1 + math.exp(-sum(parts.values())))
    style = EXTRACT if extract_weight(features) > 0.5 else OWN_WORDS
    scoring = {
        "probability": round(probability, 4),
        "contributions": {name: round(value, 3) for name, value in parts.items()},
        "features": {name: round(value, 4) for name, value in features._asdict().items()},
    }
    return style, max(_above(probability, weights().probabilities), _above(features.support, weights().mixed)), scoring


def _above(value: float, cuts: Sequence[float]) -> int:
    return 1 + sum(value >= cut for cut in cuts)


def _explained(style: str, scoring: dict[str, Any]) -> str:
    if "probability" not in scoring:
        return f"The answer is {style}, where {weights().listed[2]:.2f} is the bar for 4."
    return (
        f"The answer is {style}; people find {scoring['probability']:.0%} of answers with such figures fully supported "
        f"where half of all answers are (4 needs {weights().probabilities[2]:.0%})."
    )


def score_limit(supports: Sequence[Support], listed: bool) -> int:
    """The highest score that conflicts and weak claims allow."""
    against = sum(support.conflict for support in supports)
    faults = sum(support.conflict or support.value < _weak_claim(listed) for support in supports)
    if not faults:
        return 5
    if 2 * against > len(supports):
        return 2  # mixed needs something sound beside what is wrong
    # One name that the context spells otherwise is no fault of a long answer.
    return 3 if listed or faults >= MIXED_SHARE * len(supports) else 4


def _weak_claim(listed: bool) -> float:
    """The support below which nothing in the context speaks for a claim."""
    return WEAK_LISTED if listed else WEAK_CLAIM


# Does the answer say why it fits the question? Reasons near the question's own words are counted.


_SPACED = ("en", "de", "fr", "es")
_REASON = regex(
    "|".join(
        rf"\b{re.escape(phrase)}\b" if language in _SPACED else re.escape(phrase)
        for language, phrases in REASON_WORDS.items()
        for phrase in sorted(phrases, key=len, reverse=True)
    ),
    re.IGNORECASE,
)
_READER = regex(r"\b(?:you|your|yours|yourself)\b|คุณ|あなた|您|你", re.IGNORECASE)
_NOTHING_FOUND = regex(
    r"\b(?:no|not any|none of the)\b[^.!?\n]{0,40}\b(?:found|match\w*|relevant|suitable|available)\b"
    r"|\b(?:could|can|did|was|were)(?: ?not|n't)\b[^.!?\n]{0,20}\b(?:find|locate|found)\b"
    r"|\b(?:unable|failed) to (?:find|locate)\b|\bnothing (?:relevant|suitable|found|match\w*)"
    r"|\b(?:do not|don't|does not|doesn't) (?:know|have (?:enough )?information|contain|mention)"
    r"|ไม่พบ|見つかりません|没有找到|沒有找到",
    re.IGNORECASE,
)
_PLEASANTRY = regex(
    r"^(?:i hope|hope this|let me know|feel free|good luck|thank|hello|hi\b|sure\b|of course\b|certainly\b"
    r"|great question|happy to|please (?:ask|let))",
    re.IGNORECASE,
)


def _reason_in(text: str) -> bool:
    """The text has a word that gives a reason or a purpose."""
    return bool(_REASON.search(text))


def speaks_to_reader(text: str) -> bool:
    return bool(_READER.search(text))


def says_nothing_found(text: str) -> bool:
    return bool(_NOTHING_FOUND.search(text))


def is_frame(claim: Claim) -> bool:
    """A heading, a question back, a pleasantry or a refusal: nothing that the context could support."""
    return (
        claim.heading
        or is_question(claim)
        or bool(_PLEASANTRY.match(claim.text))
        or says_nothing_found(claim.text)
        or not any(token.is_content for token in claim.tokens)
    )


def is_question(claim: Claim) -> bool:
    return claim.text.rstrip("\"')").endswith(("?", "？"))


def question_stems(question: str) -> frozenset[str]:
    """The words of meaning that the question has."""
    return frozenset(token.stem for token in tokenise(normalise(question)) if token.is_content)


def factual_part(claim: Claim, asked: frozenset[str], index: ContextIndex) -> list[Token]:
    """The claim without a clause that ties it to the reader ("which helps you become an analyst").

    The clause is only left out when at least half of what it says is the question's or the context's;
    a reason made of new facts is a claim like any other. Nothing is left of a sentence that is all reason.
    """
    match = _REASON.search(claim.text)
    if not match or not speaks_to_reader(claim.text):
        return claim.tokens
    fact, reason = _parts(claim.text, match.start())
    terms = [token for token in reason if token.is_content]
    known = sum(token.stem in asked or index.knows(token) for token in terms)
    if known * 2 < len(terms):
        return claim.tokens
    return fact if any(token.is_content for token in fact) else []


def _parts(text: str, at: int) -> tuple[list[Token], list[Token]]:
    """Fact and reason; a sentence that begins with its reason is cut at the comma after it."""
    head, tail = text[:at], text[at:]
    if not any(token.is_content for token in tokenise(head)) and "," in tail:
        tail, head = tail.split(",", 1)
    return tokenise(head), tokenise(tail)


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
