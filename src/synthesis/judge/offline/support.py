"""How far the context supports one claim, from 0 to 1, and what in the claim contradicts the context."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from synthesis.errors import shorten
from synthesis.judge.offline.alignment import editing_cost, in_order, shared_wording, stems_of, words_in_runs
from synthesis.judge.offline.context import COPIED_RUN, EXTRACT_RUN, ContextIndex, Window
from synthesis.judge.offline.tokens import Token, joined
from synthesis.judge.offline.words import NEGATIONS, NOT_DENYING, ROUNDING_WORDS

CONFLICT_FACTOR = 0.5  # a claim that contradicts the context keeps at most half of its support
NEAR_ENOUGH = 0.5  # of the claim in the window, before a denial or an order of names is compared
EVIDENCE_WIDTH = 200


class Support(NamedTuple):
    """The support of one claim with everything that explains it."""

    value: float
    words: int
    extracted: int  # words in runs of three or more that the context has
    passage: int | None
    evidence: str
    unsupported: list[str]
    notes: list[str]
    conflict: bool  # something in the claim does not go with the context
    quote: str = ""  # the nearest sentences of that passage
    contradicted: bool = False  # these sentences say otherwise


def support_of(tokens: Sequence[Token], index: ContextIndex, given: frozenset[str] = frozenset()) -> Support:
    """What is left of a claim after wording, terms, joins and conflicts have each taken their share.

    `given` are stems that need no proof, such as the words of the question in a sentence about the reader.
    """
    stems = stems_of(tokens)
    windows = index.similar_windows(tokens)
    missing = _missing_terms(tokens, index, given)
    if not windows:
        return Support(0.0, len(stems), 0, None, "", joined(missing), ["nothing similar in the context"], False)
    window, turned = _best_window(tokens, stems, windows)
    copied = words_in_runs(stems, index, COPIED_RUN) / len(stems)
    # Where words are copied, a wrong join changes what is said; in a writer's own words joins mean less.
    joins = 1 - editing_cost(stems, windows) * (1 + copied) / 2
    notes = _conflict_notes(tokens, index, given, turned)
    wording = shared_wording(stems, index, window)
    value = wording * _terms_found(tokens, missing) * joins * (CONFLICT_FACTOR if notes else 1.0)
    conflict = bool(notes)
    if copied >= 0.5 and joins < 0.8:
        notes.append("pieced together from distant parts of the context")
    return Support(
        value=value,
        words=len(stems),
        extracted=words_in_runs(stems, index, EXTRACT_RUN),
        passage=window.passage,
        evidence=shorten(window.text, EVIDENCE_WIDTH),
        unsupported=joined(missing),
        notes=notes,
        conflict=conflict,
        quote=window.text,
        contradicted=bool(turned) or (conflict and _says_otherwise(tokens, stems, index, window)),
    )


def _says_otherwise(tokens: Sequence[Token], stems: list[str], index: ContextIndex, window: Window) -> bool:
    """The window says the same with another number or name where the claim has one that the context lacks."""
    if in_order(stems, window) < NEAR_ENOUGH:
        return False
    other = [token for token in window.tokens if token.stem not in stems]
    numbers = [token for token in other if token.kind in ("number", "number-word")]
    names = {token.stem for token in names_in(window.tokens)} & {token.stem for token in other}
    return bool((numbers and foreign_numbers(tokens, index)) or (names and foreign_names(tokens, index)))


def _missing_terms(tokens: Sequence[Token], index: ContextIndex, given: frozenset[str]) -> list[Token]:
    return [token for token in tokens if token.is_content and token.stem not in given and not index.knows(token)]


def _terms_found(tokens: Sequence[Token], missing: list[Token]) -> float:
    contents = sum(token.is_content for token in tokens)
    return 1 - len(missing) / contents if contents else 1.0


def _best_window(tokens: Sequence[Token], stems: list[str], windows: Sequence[Window]) -> tuple[Window, list[str]]:
    """The window that has most of the claim in order; one that contradicts it counts half as near."""
    best_worth, best, best_turned = -1.0, windows[0], list[str]()
    for window in windows:
        order = in_order(stems, window)
        if order <= best_worth:
            continue
        turned = _turned(tokens, window) if order >= NEAR_ENOUGH else []
        worth = order * (CONFLICT_FACTOR if turned else 1.0)
        if worth > best_worth:
            best_worth, best, best_turned = worth, window, turned
    return best, best_turned


def _turned(tokens: Sequence[Token], window: Window) -> list[str]:
    denials = denial_mismatch(tokens, window)
    if denials:
        return [f"denies or affirms the opposite of the context at: {', '.join(denials)}"]
    names = swapped_names(tokens, window)
    return [f"names are in another order than in the context: {', '.join(names)}"] if names else []


def _conflict_notes(
    tokens: Sequence[Token], index: ContextIndex, given: frozenset[str], turned: list[str]
) -> list[str]:
    asked = [token for token in tokens if token.stem not in given]
    notes = list(turned)
    if numbers := foreign_numbers(asked, index):
        notes.append(f"number not in the context: {', '.join(numbers)}")
    names = [name for name in foreign_names(tokens, index) if name in {token.text for token in asked}]
    if names:
        notes.append(f"name not in the context: {', '.join(names)}")
    return notes


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
    if bool(here) == bool(there):
        return []  # where both deny, "no toll is charged" and "the toll is not charged" say the same
    affirmed_here = _contents(tokens) - here
    affirmed_there = _contents(window.tokens) - there
    turned = (here & affirmed_there - there) | (there & affirmed_here - here)
    return [token.text for token in tokens if token.stem in turned]


def _contents(tokens: Sequence[Token]) -> set[str]:
    return {token.stem for token in tokens if token.is_content}


def swapped_names(tokens: Sequence[Token], window: Window) -> list[str]:
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
