"""A pattern made ready: the words that it requires, and the expression of `re` to try where they stand."""

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

import msgspec

from synthesis.rules.ambiguity import ways
from synthesis.rules.language import WORD_CHARACTERS, Language, common_words
from synthesis.rules.required_words import RequiredWords, RequiredWordsFinder
from synthesis.rules.syntax import Char, Choice, Concat, Edge, Node, PatternError, Repeat, WordLists, parse, width

# Ways to match at one place. `re` tries them all where a pattern fails, so this bounds the time at each character; it
# leaves room for two gaps of 200 characters, or for one and a few optional words.
MOST_WAYS = 50_000
# True wherever we are not in the middle of a word, whatever the pattern begins or ends with.
BOUNDARY = rf"(?:(?<![{WORD_CHARACTERS}])|(?![{WORD_CHARACTERS}]))"
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
    """A pattern made ready; PatternError if it cannot be used.

    A `finder` that is used for all patterns of a pack looks at each list only once.
    """
    node = checked(source, lists)
    required = (finder or required_words_finder(language)).find(node)
    return PreparedPattern(source, expression(node, language), language.spaced, width(node)[1], required)


def checked(source: str, lists: WordLists) -> Node:
    """The tree of a pattern that is sure to take linear time; PatternError for any other."""
    node = parse(source, lists)
    count = ways(node)
    if count > MOST_WAYS:
        raise PatternError(
            f"could match in {count:,} ways at one place (at most {MOST_WAYS:,} are allowed), which takes "
            "too long: use fewer or shorter gaps",
            1,
        )
    return node


def required_words_finder(language: Language) -> RequiredWordsFinder:
    return RequiredWordsFinder(spaced=language.spaced, common=common_words(language.code))


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
    return f"{in_front}(?:{_emit(node, language)}){boundary}"


def has_fixed_beginning(node: Node) -> bool:
    """Whether all that a tree matches begins with a letter of its own, so that a search for it is quick."""
    match node:
        case Choice(options):
            return all(map(has_fixed_beginning, options))
        case Concat(parts):
            return bool(parts) and has_fixed_beginning(parts[0])
        case _:
            return _split(node) is not None


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
        case Choice(options):
            return f"(?:{_emit_choice(options, language)})"
        case Repeat(part, low, high):
            # The shortest gap shows the tightest evidence.
            lazy = "?" if isinstance(part, Char) and part.is_gap else ""
            return f"(?:{_emit(part, language)}){{{low},{high}}}{lazy}"


def _emit_choice(options: Sequence[Node], language: Language) -> str:
    """The options, those with the same first letter together: a letter that begins none fails at once.

    Options with different first letters exclude each other, so bringing them together changes no match.
    """
    by_letter: dict[str, list[Node]] = defaultdict(list)
    for option in options:
        split = _split(option)
        if split is None:
            return "|".join(_emit(option, language) for option in options)
        by_letter[split[0]].append(split[1])
    return "|".join(
        re.escape(letter) + (_emit(rests[0], language) if len(rests) == 1 else f"(?:{_emit_choice(rests, language)})")
        for letter, rests in by_letter.items()
    )


def _split(node: Node) -> tuple[str, Node] | None:
    """The first letter of what a tree matches, and the rest; None where it has no fixed first letter."""
    if isinstance(node, Char) and node.literal:
        return node.literal[0], Char(node.literal[1:]) if node.literal[1:] else Concat(())
    if isinstance(node, Concat) and node.parts and (first := _split(node.parts[0])):
        return first[0], Concat((first[1], *node.parts[1:]))
    return None


def _emit_class(source: str, language: Language) -> str:
    if source == ".":
        return f"[^{re.escape(language.stops)}]"
    return f"[{WORD_CHARACTERS}]" if source == r"\w" else source
