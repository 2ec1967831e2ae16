"""A compiled pattern: the words that it requires, and the `re` expression to try where they appear."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property
from math import fsum

import msgspec

from synthesis.lazy import regex
from synthesis.rules.analysis import MOST_STEPS, cost, factored, has_fixed_beginning, settled
from synthesis.rules.syntax import Char, Choice, Concat, Edge, Node, PatternError, Repeat, WordLists, parse, width
from synthesis.rules.text import WORD_CHARACTERS, Language

MOST_SETS = 3  # with a fourth, 7.8 patterns per sentence are left in place of 8.3, and every bitset is a third longer
MOST_TEXTS = 160  # a sequence is not followed further when it would begin in more ways: they multiply
LONG_ENOUGH = {True: 14, False: 4}  # characters, spaced or not: a longer text is hardly rarer
MOST_LETTERS = 40
STEM = 3  # letters of a word whose end is not known
_EDGE = "\0"  # marks in a text where a word is known to begin or end

RequiredWords = tuple[tuple[str, ...], ...]
Sets = list[frozenset[str]]
# A text that every match begins with -> whether it is the whole of the match, so that what follows can extend it.
Beginnings = dict[str, bool]

_WORDS = regex(f"(?<=[^{WORD_CHARACTERS}])[{WORD_CHARACTERS}]+(?=[^{WORD_CHARACTERS}])")
_BEGUN = regex(f"(?<=[^{WORD_CHARACTERS}])[{WORD_CHARACTERS}]{{{STEM}}}")
_MARK = regex(f"[^{WORD_CHARACTERS} {_EDGE}]")


class RequiredWordsFinder:
    """Finds what patterns require; results for a word list are kept, since many patterns name the same list.

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

    def find(self, node: Node) -> RequiredWords:
        """The sets that other text meets least often, the rarest first; empty when nothing is fixed."""
        found = self._sets(Concat((Edge(), node, Edge())) if self._spaced else node)
        return tuple(tuple(sorted(words)) for words in found)

    def _sets(self, node: Node) -> Sets:
        """The best sets of a tree, the rarest first, without those that a rarer one implies."""
        ranked = sorted(set(self._all_sets(_flat(node))), key=lambda words: (self._frequency(words), sorted(words)))
        kept: list[frozenset[str]] = []
        for words in ranked:
            if len(kept) < MOST_SETS and not any(map(words.issuperset, kept)):
                kept.append(words)
        return kept

    def _all_sets(self, parts: tuple[Node, ...]) -> Iterator[frozenset[str]]:
        for index, part in enumerate(parts):
            if isinstance(part, Edge):
                continue  # the part after it yields the same words
            apart = _ends_word(parts[:index])
            if words := self._words((Edge(), *parts[index:]) if apart else parts[index:]):
                yield words
            if isinstance(part, Choice):
                yield from self._of_choice(part, apart, _begins_apart(parts[index + 1 :]))
            elif isinstance(part, Repeat) and part.low:
                yield from self._sets(part.part)

    def _of_choice(self, choice: Choice, apart_before: bool, apart_after: bool) -> Sets:
        """The sets of a choice, given whether a word ends before it and begins after it."""
        key = id(choice), apart_before, apart_after
        if key not in self._sets_of:
            before, after = (Edge() if apart else Concat(()) for apart in (apart_before, apart_after))
            sets = _united([self._sets(Concat((before, option, after))) for option in choice.options])
            self._sets_of[key] = choice, list(sets)  # keeps the choice alive, so that its id is not reused
        return self._sets_of[key][1]

    def _words(self, parts: tuple[Node, ...]) -> frozenset[str]:
        """One word of each text that the parts can begin with; empty when one of the texts has no usable word."""
        chosen = [self._rarest_word(text) for text in self._of_sequence(parts)]
        return frozenset(chosen) if all(chosen) else frozenset()

    def _find_rarest_word(self, text: str) -> str:
        if not self._spaced:
            return text
        return min(_words_and_pairs(text), key=lambda word: (self._rate(word), word), default=_stem_or_mark(text))

    def _frequency(self, words: Iterable[str]) -> float:
        return fsum(map(self._rate, words))  # exact: the words of a set come in any order

    def _estimate_rate(self, text: str) -> float:
        """Roughly how often a text occurs, per word of other text."""
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
            case Concat(parts):
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
        """Until it is long enough, and beyond that while it has no complete word."""
        return len(text) < self._length or (self._spaced and not _WORDS.search(text) and len(text) < MOST_LETTERS)

    def _of_repeat(self, part: Node, low: int, high: int) -> Beginnings:
        if high == 0:
            return {"": True}
        once = self._beginnings(part)
        if high > 1:
            return _closed(once) if low else {"": False}
        return once if low else _union([once, {"": True}])


def either(several: Iterable[RequiredWords]) -> RequiredWords:
    """What alternatives require: the best set of each, united, then the second best."""
    return tuple(tuple(sorted(words)) for words in _united([list(map(frozenset, required)) for required in several]))


def together(several: Iterable[RequiredWords]) -> RequiredWords:
    """What several require at once: the best set of each first, as far as there is room."""
    ranked = [required[rank] for rank in range(MOST_SETS) for required in several if rank < len(required)]
    return tuple(dict.fromkeys(ranked))[:MOST_SETS]


def _flat(node: Node) -> tuple[Node, ...]:
    """The parts of a sequence, and of the sequences in it, one after the other."""
    if isinstance(node, Concat):
        return tuple(inner for part in node.parts for inner in _flat(part))
    return (node,)


def _united(several: list[list[frozenset[str]]]) -> Iterator[frozenset[str]]:
    """The best sets of all alternatives united, then the second best; none when one alternative has none."""
    if all(several):
        for rank in range(max(map(len, several))):
            yield frozenset().union(*(sets[min(rank, len(sets) - 1)] for sets in several))


def _words_and_pairs(text: str) -> Iterator[str]:
    """The whole words of a text, and each two that have one character between them."""
    before, after_before = "", 0
    for match in _WORDS.finditer(text):
        yield match.group()
        between = text[after_before : match.start()].replace(_EDGE, "")
        if before and len(between) == 1:
            yield before + between + match.group()
        before, after_before = match.group(), match.end()


def _stem_or_mark(text: str) -> str:
    """For a text without a whole word: how its word begins, or its first mark."""
    if begun := _BEGUN.search(text):
        return f"{begun.group()}*"
    mark = _MARK.search(text)
    return mark.group() if mark else ""


def _ends_word(parts: tuple[Node, ...]) -> bool:
    """Whether these parts always end with a space or a word boundary."""
    return _all_apart(parts[::-1], -1)


def _begins_apart(parts: tuple[Node, ...]) -> bool:
    """Whether these parts always begin with a space or a word boundary."""
    return _all_apart(parts, 0)


def _all_apart(parts: tuple[Node, ...], side: int) -> bool:
    """Whether the first part that is present, optional or not, has a space or a word boundary on this side."""
    for part in parts:
        may_be_absent = isinstance(part, Repeat) and part.low == 0
        if not _is_apart(part.part if isinstance(part, Repeat) else part, side):
            return False
        if not may_be_absent:
            return True
    return False


def _is_apart(node: Node, side: int) -> bool:
    """Whether every match of a tree has a space or a word boundary on one side: 0 its beginning, -1 its end."""
    match node:
        case Char(literal=str(literal)):
            return literal[side] == " "
        case Edge():
            return True
        case Concat(parts):
            return _all_apart(parts[::-1] if side else parts, side)
        case Choice(options):
            return all(_is_apart(option, side) for option in options)
        case Repeat(part, low, _):
            return low > 0 and _is_apart(part, side)
        case _:
            return False


def _union(several: list[Beginnings]) -> Beginnings:
    """All of them; of two equal texts the one that may not be extended wins."""
    merged: Beginnings = {}
    for beginnings in several:
        for text, whole in beginnings.items():
            merged[text] = whole and merged.get(text, True)
    return merged


def _closed(found: Beginnings) -> Beginnings:
    return dict.fromkeys(found, False)


# True wherever we are not in the middle of a word, whatever the pattern begins or ends with.
BOUNDARY = rf"(?:(?<![{WORD_CHARACTERS}])|(?![{WORD_CHARACTERS}]))"
_REPEATED = regex(r"(?<!\\)\{([0-9]+)(?:,([0-9]+))?\}")
_MOST_CUTS = 30  # tries to shorten a pattern for its author
_INSIDE_WORD = regex(rf"(?<=[{WORD_CHARACTERS}])[{WORD_CHARACTERS}]")


class PreparedPattern(msgspec.Struct, frozen=True):
    """All that matching needs to know about one wording; made once from its source, and cached with the pack."""

    source: str
    expression: str
    bounded: bool  # whether a match must not begin inside a word
    longest: int
    required_words: RequiredWords


def prepare(
    source: str, language: Language, lists: WordLists, finder: RequiredWordsFinder | None = None
) -> PreparedPattern:
    """A pattern made ready; PatternError if it is malformed. What it costs is for `checked` to say.

    A `finder` that is used for all patterns of a pack looks at each list only once.
    """
    node = parse(source, lists)
    required = (finder or required_words_finder(language)).find(node)
    return PreparedPattern(source, expression(node, language), language.spaced, width(node)[1], required)


def checked(source: str, lists: WordLists) -> Node:
    """The tree of a pattern whose cost is within the bound; PatternError for any other."""
    try:
        node = parse(source, lists)
        steps = cost(node)
    except RecursionError:
        raise PatternError("is too long or nested too deeply: split it into several", 1) from None
    if steps > MOST_STEPS:
        raise PatternError(
            f"can take {steps:,} steps at one place of a text, and at most {MOST_STEPS:,} are allowed: "
            + _advice(source, lists),
            1,
        )
    return node


def _advice(source: str, lists: WordLists) -> str:
    """The pattern with its longest repetitions shortened until its cost is allowed."""
    shorter = source
    for _ in range(_MOST_CUTS):
        longest = max(_REPEATED.finditer(shorter), key=lambda found: int(found[2] or found[1]), default=None)
        if longest is None or int(longest[2] or longest[1]) < 2:
            break
        low, high = int(longest[1]), int(longest[2] or longest[1]) // 2
        shorter = f"{shorter[: longest.start()]}{{{min(low, high)},{high}}}{shorter[longest.end() :]}"
        if cost(parse(shorter, lists)) <= MOST_STEPS:
            return f"shorten its repetitions, as in '{shorter}'"
    return "split it into several patterns, or use fewer alternatives that begin with each other"


def required_words_finder(language: Language, common: Sequence[str] = ()) -> RequiredWordsFinder:
    return RequiredWordsFinder(spaced=language.spaced, common=frozenset(common))


class Pattern:
    """One wording of a rule. Its expression is compiled when it is first needed: most never are."""

    def __init__(self, prepared: PreparedPattern) -> None:
        self.source = prepared.source
        self.longest = prepared.longest
        self._expression = prepared.expression
        self._bounded = prepared.bounded

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._expression)

    @cached_property
    def _at_end(self) -> re.Pattern[str]:
        """The same, but only at the end of what it is given."""
        return re.compile(rf"{self._expression}[ ,:\"']{{0,2}}\Z")

    def spans(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """Every match from left to right, none overlapping."""
        found: list[tuple[int, int]] = []
        search = self._compiled.search
        while match := search(text, start, end):
            if self._begins_badly(text, match):
                start = match.start() + 1
            else:
                found.append(match.span())
                start = match.end()
        return found

    def is_in(self, text: str, start: int, end: int) -> bool:
        return self._is_found(self._compiled, text, start, end)

    def begins(self, text: str, start: int, end: int) -> bool:
        """Whether it matches at the very start."""
        match = self._compiled.match(text, start, end)
        return match is not None and not self._begins_badly(text, match)

    def ends(self, words: str) -> bool:
        """Whether it matches at the very end of some words, a comma, colon or quote behind it apart."""
        return self._is_found(self._at_end, words, 0, len(words))

    def _is_found(self, expression: re.Pattern[str], text: str, start: int, end: int) -> bool:
        while match := expression.search(text, start, end):
            if not self._begins_badly(text, match):
                return True
            start = match.start() + 1
        return False

    def _begins_badly(self, text: str, match: re.Match[str]) -> bool:
        return self._bounded and _INSIDE_WORD.match(text, match.start()) is not None


def expression(node: Node, language: Language) -> str:
    """The expression of a whole pattern.

    The boundary in front is left out where `re` can search for a fixed beginning, which is several times faster;
    `Pattern` checks it afterwards.
    """
    boundary = BOUNDARY if language.spaced else ""
    in_front = "" if has_fixed_beginning(node) else boundary
    return f"{in_front}(?:{_emit(settled(node), language)}){boundary}"


def _emit(node: Node, language: Language) -> str:
    match node:
        case Char(literal=str(literal)):
            return re.escape(literal)
        case Char(source=source):
            return _emit_class(source, language)
        case Edge():
            return BOUNDARY if language.spaced else ""
        case Concat(parts):
            return "".join(_emit(part, language) for part in parts)
        case Choice():
            return f"(?:{'|'.join(_emit(option, language) for option in factored(node))})"
        case Repeat(part, low, high):
            # The shortest gap shows the tightest evidence.
            lazy = "?" if isinstance(part, Char) and part.is_gap else ""
            return f"(?:{_emit(part, language)}){{{low},{high}}}{'+' if node.settled else lazy}"


def _emit_class(source: str, language: Language) -> str:
    if source == ".":
        return f"[^{re.escape(language.stops)}]"
    return f"[{WORD_CHARACTERS}]" if source == r"\w" else source
