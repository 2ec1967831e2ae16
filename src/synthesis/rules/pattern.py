"""A pattern made ready: the words that it requires, and the expression of `re` to try where they stand."""

import re
from collections.abc import Sequence
from functools import cached_property

import msgspec

from synthesis.rules.cost import MOST_STEPS, cost
from synthesis.rules.factoring import factored, has_fixed_beginning
from synthesis.rules.language import WORD_CHARACTERS, Language
from synthesis.rules.required_words import RequiredWords, RequiredWordsFinder
from synthesis.rules.settling import settled
from synthesis.rules.syntax import PatternError, WordLists, parse
from synthesis.rules.tree import Char, Choice, Concat, Edge, Node, Repeat, width

# True wherever we are not in the middle of a word, whatever the pattern begins or ends with.
BOUNDARY = rf"(?:(?<![{WORD_CHARACTERS}])|(?![{WORD_CHARACTERS}]))"
_REPEATED = re.compile(r"(?<!\\)\{([0-9]+)(?:,([0-9]+))?\}")
_MOST_CUTS = 30  # tries to shorten a pattern for its author
_is_inside_word = re.compile(rf"(?<=[{WORD_CHARACTERS}])[{WORD_CHARACTERS}]").match


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
        return self._bounded and _is_inside_word(text, match.start()) is not None


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
