"""What an answer says to and about the reader: reasons, refusals, pleasantries. Nothing to look up."""

import re

from synthesis.judge.offline.claims import Claim
from synthesis.judge.offline.context import ContextIndex
from synthesis.judge.offline.tokens import Token, normalise, tokenise
from synthesis.judge.offline.words import REASON_WORDS

_SPACED = ("en", "de", "fr", "es")
_REASON = re.compile(
    "|".join(
        rf"\b{re.escape(phrase)}\b" if language in _SPACED else re.escape(phrase)
        for language, phrases in REASON_WORDS.items()
        for phrase in sorted(phrases, key=len, reverse=True)
    ),
    re.IGNORECASE,
)
_READER = re.compile(r"\b(?:you|your|yours|yourself)\b|คุณ|あなた|您|你", re.IGNORECASE)
_NOTHING_FOUND = re.compile(
    r"\b(?:no|not any|none of the)\b[^.!?\n]{0,40}\b(?:found|match\w*|relevant|suitable|available)\b"
    r"|\b(?:could|can|did|was|were)(?: ?not|n't)\b[^.!?\n]{0,20}\b(?:find|locate|found)\b"
    r"|\b(?:unable|failed) to (?:find|locate)\b|\bnothing (?:relevant|suitable|found|match\w*)"
    r"|\b(?:do not|don't|does not|doesn't) (?:know|have (?:enough )?information|contain|mention)"
    r"|ไม่พบ|見つかりません|没有找到|沒有找到",
    re.IGNORECASE,
)
_PLEASANTRY = re.compile(
    r"^(?:i hope|hope this|let me know|feel free|good luck|thank|hello|hi\b|sure\b|of course\b|certainly\b"
    r"|great question|happy to|please (?:ask|let))",
    re.IGNORECASE,
)


def reason_in(text: str) -> bool:
    """The text has a word that gives a reason or a purpose."""
    return bool(_REASON.search(text))


def speaks_to_reader(text: str) -> bool:
    return bool(_READER.search(text))


def says_nothing_found(text: str) -> bool:
    return bool(_NOTHING_FOUND.search(text))


def is_frame(claim: Claim) -> bool:
    """A heading, a question back, a pleasantry or a refusal: nothing that the context could bear out."""
    return (
        claim.heading
        or claim.text.rstrip("\"')").endswith(("?", "？"))
        or bool(_PLEASANTRY.match(claim.text))
        or says_nothing_found(claim.text)
        or not any(token.is_content for token in claim.tokens)
    )


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
