"""What in a claim speaks against the context: a number, a name, a denial, names changed round."""

from collections.abc import Sequence
from itertools import pairwise

from synthesis.judge.offline.context import ContextIndex, Window
from synthesis.judge.offline.tokens import Token
from synthesis.judge.offline.words import NEGATIONS, NOT_DENYING, ROUNDING_WORDS


def foreign_numbers(tokens: Sequence[Token], index: ContextIndex) -> list[str]:
    """Numbers that the context does not have; rounded ones ("more than 100") are left alone."""
    return [
        token.text
        for at, token in enumerate(tokens)
        if token.kind in ("number", "number-word")
        and not index.knows(token)
        and not any(near.stem in ROUNDING_WORDS for near in tokens[max(0, at - 2) : at])
    ]


def foreign_names(tokens: Sequence[Token], index: ContextIndex) -> list[str]:
    """Names and codes that the context does not have."""
    return [token.text for token in names_in(tokens) if not index.knows(token)]


def names_in(tokens: Sequence[Token]) -> list[Token]:
    """Codes, and capitalised words that do not owe the capital to their place; none in all-capital text."""
    words = [token for token in tokens if token.kind == "word"]
    capitals = sum(token.text[0].isupper() for token in words)
    shouted = capitals * 5 > len(words) * 4 and len(words) > 3
    return [
        token
        for at, token in enumerate(tokens)
        if token.kind == "code"
        or (at > 0 and not shouted and token.kind == "word" and token.text[0].isupper() and token.is_content)
    ]


def denied(tokens: Sequence[Token]) -> set[str]:
    """The words that a negation denies: the first word of meaning after it."""
    found: set[str] = set()
    waiting = False
    for token in tokens:
        if token.text.lower() in NEGATIONS:
            waiting = True
        elif waiting and token.is_content:
            waiting = False
            if token.kind != "number" and token.stem not in NOT_DENYING:
                found.add(token.stem)
    return found


def denial_mismatch(tokens: Sequence[Token], window: Window) -> list[str]:
    """Words that the claim denies and the window affirms, or the reverse."""
    here, there = denied(tokens), denied(window.tokens)
    if not here and not there:
        return []
    affirmed_here = _contents(tokens) - here
    affirmed_there = _contents(window.tokens) - there
    turned = (here & affirmed_there - there) | (there & affirmed_here - here)
    return [token.text for token in tokens if token.stem in turned]


def _contents(tokens: Sequence[Token]) -> set[str]:
    return {token.stem for token in tokens if token.is_content}


def names_changed_round(tokens: Sequence[Token], window: Window) -> list[str]:
    """Two names whose order differs from the window's, unless one of the two texts is passive ("by")."""
    names = list(dict.fromkeys(token.stem for token in names_in(tokens)))
    first = tokens[0]
    if first.kind == "word" and first.text[0].isupper() and first.is_content and first.stem not in names:
        names.insert(0, first.stem)
    there = [token.stem for token in window.tokens]
    if any(there.count(name) > 1 for name in names) or _passive(tokens) != _passive(window.tokens):
        return []
    places = [(there.index(name), name) for name in names if name in there]
    turned = [right[1] for left, right in pairwise(places) if left[0] > right[0]]
    return [token.text for token in tokens if token.stem in turned][:1]


def _passive(tokens: Sequence[Token]) -> bool:
    return any(token.stem == "by" for token in tokens)
