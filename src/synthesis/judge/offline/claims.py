"""An answer becomes claims: one per sentence, list item or table row, in order."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from synthesis.judge.offline.tokens import Token, normalise, tokenise

LONGEST_CLAIM = 60  # words; what is longer is judged in pieces, which bounds the work per claim

_MARKER = re.compile(r"^\s*(?:[-*+•·–—>]+\s+|\(?\d{1,3}[.)]\s+|\|+\s*)")
_HEADING = re.compile(r"^\s*#{1,6}\s+")
_EMPHASIS = re.compile(r"\*{1,3}|_{2,3}|`{1,3}|~~")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_RULE = re.compile(r"^[\s|:=_*\-]+$")
_END = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s)|[。！？।؟]+[”」』）]*")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[a-z]|mr|mrs|ms|dr|prof|gov|sen|rep|gen|col|sgt|lt|capt|rev|st|no|vs|jr|sr|inc|ltd|fig|approx"
    r"|e\.g|i\.e)\.$",
    re.I,
)
_MAY_GO_ON = re.compile(r"(?:\w\.){2}$|\.{2,}$")  # "D.C. on the way", "well... perhaps"


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
        bare, item = strip_markup(line)
        heading = bool(_HEADING.match(line)) or bare.endswith((":", "："))
        for sentence in sentences(bare):
            claims.extend(_pieces(sentence, heading, item))
    return claims


def split_passage(passage: str) -> list[Claim]:
    """The sentences of a context passage, cut exactly as an answer is."""
    found: list[Claim] = []
    for line in normalise(passage).splitlines():
        for sentence in sentences(strip_markup(line)[0]):
            found.extend(_pieces(sentence, heading=False, item=False))
    return found


def strip_markup(line: str) -> tuple[str, bool]:
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
        goes_on = line[end.end() : end.end() + 4].lstrip()[:1].islower() and _MAY_GO_ON.search(part[-12:])
        if not goes_on and not _ABBREVIATION.search(part[-12:]):
            yield part
            start = end.end()
    if rest := line[start:].strip():
        yield rest


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
