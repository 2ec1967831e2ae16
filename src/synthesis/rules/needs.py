"""What a text must hold before a pattern is worth trying: sets of words, of each of which every match holds one.

Words are whole words, two neighbours with one character between them ("you should", "don't"), the first letters of a
word ("dev*") or a single mark ("?"). Languages without spaces have no words; any piece of text takes their place.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache

from synthesis.rules.language import WORD_CHARACTERS
from synthesis.rules.syntax import Char, Choice, Edge, Node, Repeat, Run

MOST_SETS = 3
MOST_TEXTS = 160  # a sequence grows no further when it would have more
LONG_ENOUGH = {True: 14, False: 4}  # spaced or not: a longer text tells hardly more
MOST_LETTERS = 40
STEM = 3  # letters of a word whose end is not known
_EDGE = "\0"  # stands in texts where a word is known to begin or end

Needs = tuple[tuple[str, ...], ...]
Sets = list[frozenset[str]]
# A text that every match begins with -> whether it is the whole of the match, so that what follows can extend it.
Beginnings = dict[str, bool]

_WORDS = re.compile(f"(?<=[^{WORD_CHARACTERS}])[{WORD_CHARACTERS}]+(?=[^{WORD_CHARACTERS}])")

_BEGUN = re.compile(f"(?<=[^{WORD_CHARACTERS}])[{WORD_CHARACTERS}]{{{STEM}}}")
_MARK = re.compile(f"[^{WORD_CHARACTERS} {_EDGE}]")


class NeedsFinder:
    """Finds the needs of patterns; what it has worked out about a list that many patterns name, it keeps.

    `common` are the most common words of the language: "promise" tells more than "you will".
    """

    def __init__(self, *, spaced: bool, common: Collection[str] = frozenset()) -> None:
        self._spaced = spaced
        self._common = common
        self._length = LONG_ENOUGH[spaced]
        self._sets_of: dict[tuple[int, bool, bool], tuple[Choice, Sets]] = {}
        self._beginnings_of: dict[int, tuple[Choice, Beginnings]] = {}
        self._rarest_word = cache(self._find_rarest_word)
        self._rate = cache(self._estimate_rate)

    def needs_of(self, node: Node) -> Needs:
        """The sets that will be met least often in other text, the rarest first; empty when nothing is fixed."""
        found = self._sets(Run((Edge(), node, Edge())) if self._spaced else node)
        return tuple(tuple(sorted(words)) for words in found)

    def _sets(self, node: Node) -> Sets:
        """The best sets of a tree, the rarest first; none that says no more than a rarer one."""
        ranked = sorted(set(self._all_sets(_flat(node))), key=lambda words: (self._frequency(words), sorted(words)))
        kept: list[frozenset[str]] = []
        for words in ranked:
            if len(kept) < MOST_SETS and not any(map(words.issuperset, kept)):
                kept.append(words)
        return kept

    def _all_sets(self, parts: tuple[Node, ...]) -> Iterator[frozenset[str]]:
        for index, part in enumerate(parts):
            if isinstance(part, Edge):
                continue  # what comes behind it says the same
            apart = _ends_word(parts[:index])
            if words := self._words((Edge(), *parts[index:]) if apart else parts[index:]):
                yield words
            if isinstance(part, Choice):
                yield from self._of_choice(part, apart, _begins_apart(parts[index + 1 :]))
            elif isinstance(part, Repeat) and part.low:
                yield from self._sets(part.part)

    def _of_choice(self, choice: Choice, apart_before: bool, apart_after: bool) -> Sets:
        """The sets of a choice between words that stand apart from what is before and after it, or not."""
        key = id(choice), apart_before, apart_after
        if key not in self._sets_of:
            before, after = (Edge() if apart else Run(()) for apart in (apart_before, apart_after))
            sets = _united([self._sets(Run((before, option, after))) for option in choice.options])
            self._sets_of[key] = choice, list(sets)  # the choice itself is kept so that its id stays its own
        return self._sets_of[key][1]

    def _words(self, parts: tuple[Node, ...]) -> frozenset[str]:
        """One word of each text that the parts can begin with; none when one of them holds no whole word."""
        chosen = [self._rarest_word(text) for text in self._of_sequence(parts)]
        return frozenset(chosen) if all(chosen) else frozenset()

    def _find_rarest_word(self, text: str) -> str:
        if not self._spaced:
            return text
        return min(_words_and_pairs(text), key=lambda word: (self._rate(word), word), default=_stem_or_mark(text))

    def _frequency(self, words: Iterable[str]) -> float:
        return sum(map(self._rate, words))

    def _estimate_rate(self, text: str) -> float:
        """Roughly how often a text is met, per word of other text."""
        letter, rate = (0.05 if self._spaced else 0.1), 1.0
        for word in re.findall(r"\w+", text):
            rate *= 0.02 if word in self._common else max(letter ** len(word), 1e-5)
        return rate

    def _beginnings(self, node: Node) -> Beginnings:
        match node:
            case Char(literal=str(literal)):
                return {literal: True}
            case Char(members=members) if members:
                return dict.fromkeys(members, True)
            case Char():
                return {"": False}
            case Edge():
                return {_EDGE if self._spaced else "": True}
            case Run(parts):
                return self._of_sequence(parts)
            case Choice():
                return self._beginnings_of_choice(node)
            case Repeat(part, low, high):
                return self._of_repeat(part, low, high)

    def _beginnings_of_choice(self, choice: Choice) -> Beginnings:
        if id(choice) not in self._beginnings_of:
            self._beginnings_of[id(choice)] = choice, _union([self._beginnings(option) for option in choice.options])
        return self._beginnings_of[id(choice)][1]

    def _of_sequence(self, parts: tuple[Node, ...]) -> Beginnings:
        found: Beginnings = {"": True}
        for part in parts:
            if not any(whole and self._may_grow(text) for text, whole in found.items()):
                return _closed(found)
            extended = self._extended(found, self._beginnings(part))
            if len(extended) > MOST_TEXTS and len(found) > 1:
                return _closed(found)
            found = extended
        return found

    def _extended(self, found: Beginnings, following: Beginnings) -> Beginnings:
        grown: Beginnings = {}
        for text, whole in found.items():
            if not (whole and self._may_grow(text)):
                grown[text] = False
            else:
                for more, whole_more in following.items():
                    grown[text + more] = whole_more and grown.get(text + more, True)
        return grown

    def _may_grow(self, text: str) -> bool:
        """Until it is long enough, and longer while no word in it is complete."""
        return len(text) < self._length or (self._spaced and not _WORDS.search(text) and len(text) < MOST_LETTERS)

    def _of_repeat(self, part: Node, low: int, high: int) -> Beginnings:
        if high == 0:
            return {"": True}
        once = self._beginnings(part)
        if high > 1:
            return _closed(once) if low else {"": False}
        return once if low else _union([once, {"": True}])


def either(several: Iterable[Needs]) -> Needs:
    """The needs of alternatives: what each of them needs most, together, then what each needs second."""
    return tuple(tuple(sorted(words)) for words in _united([list(map(frozenset, needs)) for needs in several]))


def together(several: Iterable[Needs]) -> Needs:
    """The needs of all of several: the best set of each first, as far as there is room."""
    ranked = [needs[rank] for rank in range(MOST_SETS) for needs in several if rank < len(needs)]
    return tuple(dict.fromkeys(ranked))[:MOST_SETS]


def _flat(node: Node) -> tuple[Node, ...]:
    """The parts of a sequence, and of the sequences in it, one after the other."""
    if isinstance(node, Run):
        return tuple(inner for part in node.parts for inner in _flat(part))
    return (node,)


def _united(several: list[list[frozenset[str]]]) -> Iterator[frozenset[str]]:
    """Of alternatives the best sets together, then the second best; none when one alternative has none."""
    if all(several):
        for rank in range(max(map(len, several))):
            yield frozenset().union(*(sets[min(rank, len(sets) - 1)] for sets in several))


def _words_and_pairs(text: str) -> Iterator[str]:
    """The whole words of a text, and each two with one character between them."""
    before, after_before = "", 0
    for match in _WORDS.finditer(text):
        yield match.group()
        between = text[after_before : match.start()].replace(_EDGE, "")
        if before and len(between) == 1:
            yield before + between + match.group()
        before, after_before = match.group(), match.end()


def _stem_or_mark(text: str) -> str:
    """Of a text without a whole word: how its word begins, or the first mark in it."""
    if begun := _BEGUN.search(text):
        return f"{begun.group()}*"
    mark = _MARK.search(text)
    return mark.group() if mark else ""


def _ends_word(parts: tuple[Node, ...]) -> bool:
    """Whether what comes after these parts always stands behind a space or a word's edge."""
    return _all_apart(parts[::-1], -1)


def _begins_apart(parts: tuple[Node, ...]) -> bool:
    """Whether these parts always begin with a space or a word's edge."""
    return _all_apart(parts, 0)


def _all_apart(parts: tuple[Node, ...], side: int) -> bool:
    """Whether the first part that is there, of those that may be absent too, has a space or an edge on this side."""
    for part in parts:
        may_be_absent = isinstance(part, Repeat) and part.low == 0
        if not _is_apart(part.part if isinstance(part, Repeat) else part, side):
            return False
        if not may_be_absent:
            return True
    return False


def _is_apart(node: Node, side: int) -> bool:
    """Whether every match of a tree has a space or a word's edge on one side: 0 its beginning, -1 its end."""
    match node:
        case Char(literal=str(literal)):
            return literal[side] == " "
        case Edge():
            return True
        case Run(parts):
            return _all_apart(parts[::-1] if side else parts, side)
        case Choice(options):
            return all(_is_apart(option, side) for option in options)
        case Repeat(part, low, _):
            return low > 0 and _is_apart(part, side)
        case _:
            return False


def _union(several: list[Beginnings]) -> Beginnings:
    """All of them; where two say the same, the one that may not be extended wins."""
    merged: Beginnings = {}
    for beginnings in several:
        for text, whole in beginnings.items():
            merged[text] = whole and merged.get(text, True)
    return merged


def _closed(found: Beginnings) -> Beginnings:
    return dict.fromkeys(found, False)
