"""What an answer claims: its sentences, list items and rows, without what only frames them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from synthesis.judge.offline.text import Token, normalise, tokenise
from synthesis.lazy import regex

LONGEST_PLEASANTRY = 12  # words
LONGEST_CLAIM = 60  # words; what is longer is judged in pieces, which bounds the work per claim

_MARKER = regex(r"^\s*(?:[-*+•·–—>]+\s+|\(?\d{1,3}[.)]\s+|\|+\s*)")
_HEADING = regex(r"^\s*#{1,6}\s+")
_EMPHASIS = regex(r"\*{1,3}|_{2,3}|`{1,3}|~~")
_LINK = regex(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_RULE = regex(r"^[\s|:=_*\-]+$")
_END = regex(r"[.!?]+[\"'”’)\]]*(?=\s)|[。！？।؟]+[”」』）]*")
_ABBREVIATION = regex(
    r"(?:^|[\s(])(?:[a-z]|mr|mrs|ms|dr|prof|gov|sen|rep|gen|col|sgt|lt|capt|rev|st|no|vs|jr|sr|inc|ltd|fig|approx"
    r"|e\.g|i\.e|ca|bzw|inkl|max|min|ggf|nr|str|tel|núm|art|sra|dra|lic|ing|[ก-ฮ]\.[ก-ฮ]|น)\.$",
    re.I,
)
_MAY_GO_ON = regex(r"(?:\w\.){2}$|\.{2,}$")  # "D.C. on the way", "well... perhaps"
_NUMBERED = regex(r"[^\W\d_]\s\d{1,2}\.$")  # "am 17. Mai", "vom 3. bis 9. Juli"
_MONTHS = (
    "Januar", "Jänner", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober",
    "November", "Dezember", "Etage", "Stock", "Klasse", "Jahrhundert",
)  # fmt: skip


class Claim(NamedTuple):
    """One thing the answer says; `heading` lines name what follows and claim nothing."""

    text: str
    tokens: list[Token]
    heading: bool
    item: bool


def split_claims(answer: str) -> list[Claim]:
    """The claims of an answer; text without a single word makes none."""
    claims: list[Claim] = []
    for line in normalise(answer).splitlines():
        bare, item = _strip_markup(line)
        heading = bool(_HEADING.match(line)) or bare.endswith((":", "："))
        for sentence in sentences(bare):
            claims.extend(_pieces(sentence, heading, item))
    return claims


def plain_lines(text: str) -> Iterator[str]:
    """The lines of a text without markup."""
    return (_strip_markup(line)[0] for line in normalise(text).splitlines())


def split_passage(passage: str) -> list[Claim]:
    """The sentences of a context passage, cut exactly as an answer is."""
    found: list[Claim] = []
    for line in normalise(passage).splitlines():
        for sentence in sentences(_strip_markup(line)[0]):
            found.extend(_pieces(sentence, heading=False, item=False))
    return found


def _strip_markup(line: str) -> tuple[str, bool]:
    """The line without markdown, and whether it was a list item."""
    if _RULE.match(line):
        return "", False
    bare = _LINK.sub(r"\1", _HEADING.sub("", line))
    item = False
    while marker := _MARKER.match(bare):
        bare, item = bare[marker.end() :], True
    return _EMPHASIS.sub("", bare).replace("|", " ").strip(), item


def sentences(line: str) -> Iterator[str]:
    """Cut after sentence marks, not after abbreviations and initials."""
    start = 0
    for end in _END.finditer(line):
        part = line[start : end.end()].strip()
        if not _goes_on(part[-12:], line[end.end() : end.end() + 16].lstrip()):
            yield part
            start = end.end()
    if rest := line[start:].strip():
        yield rest


def _goes_on(end: str, following: str) -> bool:
    """Whether a full stop is that of an abbreviation, an initial or, in German, of a number."""
    if _ABBREVIATION.search(end):
        return True
    if _NUMBERED.search(end):
        return following[:1].islower() or following[:1].isdigit() or following.startswith(_MONTHS)
    return following[:1].islower() and bool(_MAY_GO_ON.search(end))


def _pieces(sentence: str, heading: bool, item: bool) -> Iterator[Claim]:
    tokens = tokenise(sentence)
    if len(tokens) <= LONGEST_CLAIM:
        if tokens:
            yield Claim(sentence, tokens, heading, item)
        return
    for start in range(0, len(tokens), LONGEST_CLAIM):
        piece = tokens[start : start + LONGEST_CLAIM]
        end = piece[-1].start + len(piece[-1].text)
        yield Claim(sentence[piece[0].start : end], piece, heading, item)


# What claims nothing.


_PLEASANTRY = regex(
    r"^(?:i hope|hope this|let me know|feel free|good luck|thank|hello|hi\b|sure\b|of course\b|certainly\b"
    r"|great question|happy to|please (?:ask|let))",
    re.IGNORECASE,
)


def is_frame(claim: Claim) -> bool:
    """A heading, a question back or a pleasantry: nothing that the context could support."""
    return (
        claim.heading
        or is_question(claim)
        or (bool(_PLEASANTRY.match(claim.text)) and len(claim.tokens) <= LONGEST_PLEASANTRY)
        or not any(token.is_content for token in claim.tokens)
    )


def is_question(claim: Claim) -> bool:
    return claim.text.rstrip("\"')").endswith(("?", "？"))
