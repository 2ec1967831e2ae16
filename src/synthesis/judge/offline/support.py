"""What an answer claims, and how far the context supports each claim."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import pairwise
from typing import NamedTuple

from synthesis.errors import shorten
from synthesis.judge.offline.text import (
    NEGATIONS,
    NOT_DENYING,
    ROUNDING_WORDS,
    SAME_WORD_PREFIX,
    Token,
    joined,
    normalise,
    number_value,
    perhaps_decimals,
    tokenise,
)
from synthesis.lazy import regex

LONGEST_CLAIM = 60  # words; what is longer is judged in pieces, which bounds the work per claim

_MARKER = regex(r"^\s*(?:[-*+•·–—>]+\s+|\(?\d{1,3}[.)]\s+|\|+\s*)")
_HEADING = regex(r"^\s*#{1,6}\s+")
_EMPHASIS = regex(r"\*{1,3}|_{2,3}|`{1,3}|~~")
_LINK = regex(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_RULE = regex(r"^[\s|:=_*\-]+$")
_END = regex(r"[.!?]+[\"'”’)\]]*(?=\s)|[。！？।؟]+[”」』）]*")
_ABBREVIATION = regex(
    r"(?:^|[\s(])(?:[a-z]|mr|mrs|ms|dr|prof|gov|sen|rep|gen|col|sgt|lt|capt|rev|st|no|vs|jr|sr|inc|ltd|fig|approx"
    r"|e\.g|i\.e)\.$",
    re.I,
)
_MAY_GO_ON = regex(r"(?:\w\.){2}$|\.{2,}$")  # "D.C. on the way", "well... perhaps"


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


# The context, indexed once: which words, word pairs and runs it has, and in which passage.


MOST_WORDS = 100_000  # of context; what follows is not read, and the verdict says so
MOST_WINDOWS = 64  # compared in detail per claim, the most similar first
COPIED_RUN = 6  # words in a row are no coincidence
EXTRACT_RUN = 3  # words in a row; an extract is made of little else


class Window(NamedTuple):
    """One sentence of a passage, or two that follow one another."""

    passage: int
    start: int  # of its first word, counted through all passages
    text: str
    tokens: list[Token]
    single: bool


class ContextIndex:
    """Everything the support check asks of the context."""

    def __init__(self, passages: Sequence[str]) -> None:
        self.stems: set[str] = set()
        self.prefixes: set[str] = set()
        self.numbers: set[str] = set()
        self.pairs: set[tuple[str, str]] = set()
        self.runs: dict[int, set[tuple[str, ...]]] = {COPIED_RUN: set(), EXTRACT_RUN: set()}  # by their length
        self.windows: list[Window] = []
        self.words_read = 0
        self.truncated = False
        self._next_start = 0
        self._windows_of: dict[str, list[int]] = defaultdict(list)
        for number, passage in enumerate(passages):
            self._add(number, passage)

    def _add(self, number: int, passage: str) -> None:
        kept: list[Claim] = []
        for sentence in split_passage(passage):
            self.words_read += len(sentence.tokens)
            if self.words_read > MOST_WORDS:
                self.truncated = True
                break
            kept.append(sentence)
        self._add_words([token for sentence in kept for token in sentence.tokens])
        self.numbers |= perhaps_decimals(passage)
        self._add_windows(number, kept)

    def _add_windows(self, passage: int, sentences: list[Claim]) -> None:
        self._next_start += 1  # the last word of a passage has no neighbour in the next
        for at, sentence in enumerate(sentences):
            self._add_window(Window(passage, self._next_start, sentence.text, sentence.tokens, True))
            for following in sentences[at + 1 : at + 2]:
                both = sentence.tokens + following.tokens
                self._add_window(Window(passage, self._next_start, f"{sentence.text} {following.text}", both, False))
            self._next_start += len(sentence.tokens)

    def _add_words(self, tokens: list[Token]) -> None:
        stems = [token.stem for token in tokens]
        self.stems.update(stems)
        self.prefixes.update(stem[:SAME_WORD_PREFIX] for stem in stems if len(stem) >= SAME_WORD_PREFIX)
        self.numbers.update(number_value(token) for token in tokens if token.kind in ("number", "number-word"))
        self.pairs.update(pairwise(stems))
        for length, runs in self.runs.items():
            runs.update(zip(*(stems[shift:] for shift in range(length)), strict=False))

    def _add_window(self, window: Window) -> None:
        for stem in {token.stem for token in window.tokens}:
            self._windows_of[stem].append(len(self.windows))
        self.windows.append(window)

    def knows(self, token: Token) -> bool:
        """The context has this word, a word of the same family, or this number."""
        if token.kind in ("number", "number-word"):
            return token.stem in self.stems or number_value(token) in self.numbers
        return token.stem in self.stems or (token.kind == "word" and token.stem[:SAME_WORD_PREFIX] in self.prefixes)

    def similar_windows(self, tokens: Sequence[Token]) -> list[Window]:
        """The windows that share most words with the claim; of equals the shorter, then the earlier."""
        wanted = {token.stem for token in tokens if token.is_content} or {token.stem for token in tokens}
        shared: dict[int, int] = defaultdict(int)
        for stem in wanted:
            for window in self._windows_of.get(stem, ()):
                shared[window] += 1
        ranked = nsmallest(MOST_WINDOWS, shared, key=lambda at: (-shared[at], len(self.windows[at].tokens), at))
        return [self.windows[at] for at in ranked]


# How a claim's words lie in the context: in order, in one place, or pieced together from several.


# The price of an edit that makes the claim out of the context, in words.
NEW_WORD = 1.0
SKIP_AHEAD = 0.5
JUMP = 1.0
MOST_PLACES = 128  # of one word, in the most similar windows first
JOINED_WINDOWS = 32  # the most similar ones; a claim is not pieced together from more places than that


def _shared_wording(stems: Sequence[str], index: ContextIndex, window: Window) -> float:
    """The mean of two shares: neighbours that are neighbours in the context, words in the window's order."""
    neighbours = [pair in index.pairs for pair in pairwise(stems)] or [stems[0] in index.stems]
    return (sum(neighbours) / len(neighbours) + _in_order(stems, window)) / 2


def _in_order(stems: Sequence[str], window: Window) -> float:
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


def _words_in_runs(stems: Sequence[str], index: ContextIndex, length: int) -> int:
    """How many of the claim's words are in runs of at least that length that the context has."""
    covered, runs = bytearray(len(stems)), index.runs[length]
    for at in range(len(stems) - length + 1):
        if tuple(stems[at : at + length]) in runs:
            covered[at : at + length] = b"\1" * length
    return sum(covered)


def _editing_cost(stems: Sequence[str], windows: Sequence[Window]) -> float:
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


def _stems_of(tokens: Sequence[Token]) -> list[str]:
    return [token.stem for token in tokens]


# How far the context supports one claim, from 0 to 1, and what in the claim contradicts the context.


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
    stems = _stems_of(tokens)
    windows = index.similar_windows(tokens)
    missing = _missing_terms(tokens, index, given)
    if not windows:
        return Support(0.0, len(stems), 0, None, "", joined(missing), ["nothing similar in the context"], False)
    window, turned = _best_window(tokens, stems, windows)
    copied = _words_in_runs(stems, index, COPIED_RUN) / len(stems)
    # Where words are copied, a wrong join changes what is said; in a writer's own words joins mean less.
    joins = 1 - _editing_cost(stems, windows) * (1 + copied) / 2
    notes = _conflict_notes(tokens, index, given, turned)
    wording = _shared_wording(stems, index, window)
    value = wording * _terms_found(tokens, missing) * joins * (CONFLICT_FACTOR if notes else 1.0)
    conflict = bool(notes)
    if copied >= 0.5 and joins < 0.8:
        notes.append("pieced together from distant parts of the context")
    return Support(
        value=value,
        words=len(stems),
        extracted=_words_in_runs(stems, index, EXTRACT_RUN),
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
    if _in_order(stems, window) < NEAR_ENOUGH:
        return False
    other = [token for token in window.tokens if token.stem not in stems]
    numbers = [token for token in other if token.kind in ("number", "number-word")]
    names = {token.stem for token in _names_in(window.tokens)} & {token.stem for token in other}
    return bool((numbers and foreign_numbers(tokens, index)) or (names and _foreign_names(tokens, index)))


def _missing_terms(tokens: Sequence[Token], index: ContextIndex, given: frozenset[str]) -> list[Token]:
    return [token for token in tokens if token.is_content and token.stem not in given and not index.knows(token)]


def _terms_found(tokens: Sequence[Token], missing: list[Token]) -> float:
    contents = sum(token.is_content for token in tokens)
    return 1 - len(missing) / contents if contents else 1.0


def _best_window(tokens: Sequence[Token], stems: list[str], windows: Sequence[Window]) -> tuple[Window, list[str]]:
    """The window that has most of the claim in order; one that contradicts it counts half as near."""
    best_worth, best, best_turned = -1.0, windows[0], list[str]()
    for window in windows:
        order = _in_order(stems, window)
        if order <= best_worth:
            continue
        turned = _turned(tokens, window) if order >= NEAR_ENOUGH else []
        worth = order * (CONFLICT_FACTOR if turned else 1.0)
        if worth > best_worth:
            best_worth, best, best_turned = worth, window, turned
    return best, best_turned


def _turned(tokens: Sequence[Token], window: Window) -> list[str]:
    denials = _denial_mismatch(tokens, window)
    if denials:
        return [f"denies or affirms the opposite of the context at: {', '.join(denials)}"]
    names = _swapped_names(tokens, window)
    return [f"names are in another order than in the context: {', '.join(names)}"] if names else []


def _conflict_notes(
    tokens: Sequence[Token], index: ContextIndex, given: frozenset[str], turned: list[str]
) -> list[str]:
    asked = [token for token in tokens if token.stem not in given]
    notes = list(turned)
    if numbers := foreign_numbers(asked, index):
        notes.append(f"number not in the context: {', '.join(numbers)}")
    names = [name for name in _foreign_names(tokens, index) if name in {token.text for token in asked}]
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


def _foreign_names(tokens: Sequence[Token], index: ContextIndex) -> list[str]:
    """Names and codes that the context does not have."""
    return [token.text for token in _names_in(tokens) if not index.knows(token)]


def _names_in(tokens: Sequence[Token]) -> list[Token]:
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


def _denial_mismatch(tokens: Sequence[Token], window: Window) -> list[str]:
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


def _swapped_names(tokens: Sequence[Token], window: Window) -> list[str]:
    """Two names whose order differs from the window's, unless one of the two texts is passive ("by")."""
    names = list(dict.fromkeys(token.stem for token in _names_in(tokens)))
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
