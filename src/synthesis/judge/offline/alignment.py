"""How a claim's words lie in the context: in order, in one place, or pieced together from several."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from synthesis.judge.offline.context import ContextIndex, Window
from synthesis.judge.offline.tokens import Token

# The price of an edit that makes the claim out of the context, in words.
NEW_WORD = 1.0
SKIP_AHEAD = 0.5
JUMP = 1.0
MOST_PLACES = 128  # of one word, in the most similar windows first
JOINED_WINDOWS = 32  # the most similar ones; a claim is not pieced together from more places than that


def shared_wording(stems: Sequence[str], index: ContextIndex, window: Window) -> float:
    """The mean of two shares: neighbours that are neighbours in the context, words in the window's order."""
    neighbours = [pair in index.pairs for pair in pairwise(stems)] or [stems[0] in index.stems]
    return (sum(neighbours) / len(neighbours) + in_order(stems, window)) / 2


def in_order(stems: Sequence[str], window: Window) -> float:
    """The share of the claim's words that the window has in the same order (longest common subsequence)."""
    masks: dict[str, int] = defaultdict(int)
    for at, stem in enumerate(stems):
        masks[stem] |= 1 << at
    full = (1 << len(stems)) - 1
    row = full  # bit-parallel: a cleared bit is a word matched so far
    for token in window.tokens:
        if token.stem in masks:
            matched = row & masks[token.stem]
            row = ((row + matched) | (row - matched)) & full
    return (len(stems) - row.bit_count()) / len(stems)


def words_in_runs(stems: Sequence[str], index: ContextIndex, length: int) -> int:
    """How many of the claim's words are in runs of at least that length that the context has."""
    covered, runs = bytearray(len(stems)), index.runs[length]
    for at in range(len(stems) - length + 1):
        if tuple(stems[at : at + length]) in runs:
            covered[at : at + length] = b"\1" * length
    return sum(covered)


def editing_cost(stems: Sequence[str], windows: Sequence[Window]) -> float:
    """The least edits per word that make the claim out of the windows' sentences.

    Copying the next word is free, skipping ahead within a sentence costs half a word, jumping elsewhere or writing
    a new word costs one. Joined sentences are expensive, shortened ones cheap.
    """
    sentence_of, places = _lay_out(windows[:JOINED_WINDOWS])
    best = 0.0
    costs: dict[int, float] = {}  # of having copied up to a place, in order of places
    for number, stem in enumerate(stems):
        here = places.get(stem, [])
        reached = dict.fromkeys(here, 0.0) if number == 0 else _ways(here, costs, sentence_of, best)
        for place, cost in costs.items():
            reached[place] = min(cost + NEW_WORD, reached.get(place, cost + NEW_WORD))
        best = min([best + NEW_WORD, *reached.values()])
        # A place that costs a jump more than the best one can never win again.
        costs = {place: reached[place] for place in sorted(reached) if reached[place] < best + JUMP}
    return best / len(stems)


def _ways(places: Sequence[int], costs: dict[int, float], sentence_of: dict[int, int], best: float) -> dict[int, float]:
    """The cheapest way to each place: copy the next word, skip ahead within its sentence, or jump there."""
    reached: dict[int, float] = {}
    cheapest_in: dict[int, float] = {}
    earlier = iter(costs.items())
    waiting = next(earlier, None)
    for place in places:
        while waiting and waiting[0] < place:
            sentence = sentence_of[waiting[0]]
            cheapest_in[sentence] = min(waiting[1], cheapest_in.get(sentence, waiting[1]))
            waiting = next(earlier, None)
        jump = best + JUMP
        ahead = cheapest_in.get(sentence_of[place], jump) + SKIP_AHEAD
        reached[place] = min(costs.get(place - 1, jump), ahead, jump)
    return reached


def _lay_out(windows: Sequence[Window]) -> tuple[dict[int, int], dict[str, list[int]]]:
    """Of the windows' single sentences: the sentence of each place, the places of each stem in order."""
    sentence_of: dict[int, int] = {}
    places: dict[str, list[int]] = defaultdict(list)
    for window in windows:
        if window.single:
            for place, token in enumerate(window.tokens, window.start):
                sentence_of[place] = window.start
                if len(places[token.stem]) < MOST_PLACES:
                    places[token.stem].append(place)
    return sentence_of, {stem: sorted(found) for stem, found in places.items()}


def stems_of(tokens: Sequence[Token]) -> list[str]:
    return [token.stem for token in tokens]
