"""How far the context bears out one claim, from 0 to 1, and by which words."""

from collections.abc import Sequence
from typing import NamedTuple

from synthesis.errors import shorten
from synthesis.judge.offline import alignment, conflicts
from synthesis.judge.offline.context import ContextIndex, Window
from synthesis.judge.offline.tokens import Token, joined

CONFLICT_FACTOR = 0.5  # a claim that speaks against the context keeps at most half of its support
NEAR_ENOUGH = 0.5  # of the claim in the window, before a denial or an order of names is compared
EVIDENCE_WIDTH = 200


class Support(NamedTuple):
    """The support of one claim with everything that explains it."""

    value: float
    copied: float
    passage: int | None
    evidence: str
    unsupported: list[str]
    notes: list[str]
    conflict: bool


def support_of(tokens: Sequence[Token], index: ContextIndex, given: frozenset[str] = frozenset()) -> Support:
    """What is left of a claim after wording, terms, joins and conflicts have each taken their share.

    `given` are stems that need no proof, such as the words of the question in a sentence about the reader.
    """
    stems = alignment.stems_of(tokens)
    windows = index.similar_windows(tokens)
    missing = _missing_terms(tokens, index, given)
    if not windows:
        return Support(0.0, 0.0, None, "", joined(missing), ["nothing similar in the context"], False)
    window, turned = _best_window(tokens, stems, windows)
    copied = alignment.copied_share(stems, index)
    # Where words are copied, a wrong join changes what is said; in a writer's own words joins mean less.
    joins = 1 - alignment.editing_cost(stems, windows) * (1 + copied) / 2
    notes = _conflict_notes(tokens, index, given, turned)
    wording = alignment.wording(stems, index, window)
    value = wording * _terms_found(tokens, missing) * joins * (CONFLICT_FACTOR if notes else 1.0)
    conflict = bool(notes)
    if copied >= 0.5 and joins < 0.8:
        notes.append("glued together from distant places of the context")
    return Support(
        value, copied, window.passage, shorten(window.text, EVIDENCE_WIDTH), joined(missing), notes, conflict
    )


def _missing_terms(tokens: Sequence[Token], index: ContextIndex, given: frozenset[str]) -> list[Token]:
    return [token for token in tokens if token.is_content and token.stem not in given and not index.knows(token)]


def _terms_found(tokens: Sequence[Token], missing: list[Token]) -> float:
    contents = sum(token.is_content for token in tokens)
    return 1 - len(missing) / contents if contents else 1.0


def _best_window(tokens: Sequence[Token], stems: list[str], windows: Sequence[Window]) -> tuple[Window, list[str]]:
    """The window that has most of the claim in order; one that contradicts it counts half as near."""
    best_worth, best, best_turned = -1.0, windows[0], list[str]()
    for window in windows:
        order = alignment.in_order(stems, window)
        if order <= best_worth:
            continue
        turned = _turned(tokens, window) if order >= NEAR_ENOUGH else []
        worth = order * (CONFLICT_FACTOR if turned else 1.0)
        if worth > best_worth:
            best_worth, best, best_turned = worth, window, turned
    return best, best_turned


def _turned(tokens: Sequence[Token], window: Window) -> list[str]:
    denials = conflicts.denial_mismatch(tokens, window)
    if denials:
        return [f"denies or affirms the opposite of the context at: {', '.join(denials)}"]
    names = conflicts.names_changed_round(tokens, window)
    return [f"names stand in another order than in the context: {', '.join(names)}"] if names else []


def _conflict_notes(
    tokens: Sequence[Token], index: ContextIndex, given: frozenset[str], turned: list[str]
) -> list[str]:
    asked = [token for token in tokens if token.stem not in given]
    notes = list(turned)
    if numbers := conflicts.foreign_numbers(asked, index):
        notes.append(f"number not in the context: {', '.join(numbers)}")
    names = [name for name in conflicts.foreign_names(tokens, index) if name in {token.text for token in asked}]
    if names:
        notes.append(f"name not in the context: {', '.join(names)}")
    return notes
