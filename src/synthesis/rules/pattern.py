"""A pattern made ready: its literals to look for, and the expression to try where they stand."""

import re
from functools import cached_property

import msgspec

from synthesis.rules.ambiguity import ways
from synthesis.rules.detection import common_words
from synthesis.rules.language import WORD_CHARACTERS, Language
from synthesis.rules.literals import Literals, literals_of
from synthesis.rules.syntax import Char, Choice, Edge, Node, PatternError, Repeat, Run, WordLists, parse, width

# True wherever we are not in the middle of a word, whatever the pattern begins or ends with.
_BOUNDARY = rf"(?:(?<![{WORD_CHARACTERS}])|(?![{WORD_CHARACTERS}]))"


MOST_WAYS = 50_000


class PreparedPattern(msgspec.Struct, frozen=True):
    """All that matching needs of one wording; made once from its source, and kept with the pack."""

    source: str
    expression: str
    longest: int
    literals: Literals | None

    @property
    def frequency(self) -> float:
        """Roughly how often its literals are met; without any it must be tried everywhere."""
        return self.literals.frequency if self.literals else 1.0


def prepare(source: str, language: Language, lists: WordLists) -> PreparedPattern:
    """A pattern that is sure to take linear time; PatternError for any other."""
    node = parse(source, lists)
    count = ways(node)
    if count > MOST_WAYS:
        raise PatternError(
            f"could match in {count:,} ways at one place (at most {MOST_WAYS:,} are allowed), so its time is not "
            "bounded well: use fewer or shorter gaps",
            1,
        )
    return PreparedPattern(
        source, _expression(node, language), width(node)[1], literals_of(node, common_words(language.code))
    )


class Pattern:
    """One wording of a rule. Its expression is compiled when it is first needed: most never are."""

    def __init__(self, prepared: PreparedPattern) -> None:
        self.source = prepared.source
        self.literals = prepared.literals
        self.longest = prepared.longest
        self._expression = prepared.expression

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self._expression)

    @cached_property
    def at_end(self) -> re.Pattern[str]:
        """The same, but only at the end of what it is given: for words that stand before a hit."""
        return re.compile(rf"{self._expression}[ ,:\"']{{0,2}}\Z")

    def may_be_in(self, words: str) -> bool:
        """Whether one of its literals stands in a short text; quicker than a search, and mostly false."""
        return self.literals is None or any(map(words.__contains__, self.literals.rarest))

    def spans(self, text: str, places: list[int] | None) -> list[tuple[int, int]]:
        """Every match from left to right, none overlapping; `places` are where its literals stand."""
        literals = self.literals
        if places is None or literals is None:
            return [match.span() for match in self.compiled.finditer(text)]
        if len(places) > 1:
            places.sort()
        return self._at(text, places) if literals.lead == 0 else self._near(text, places, literals)

    def _at(self, text: str, places: list[int]) -> list[tuple[int, int]]:
        """Matches that begin where a literal stands."""
        found: list[tuple[int, int]] = []
        match_at = self.compiled.match
        free = 0
        for place in places:
            if place >= free and (match := match_at(text, place)):
                found.append(match.span())
                free = match.end()
        return found

    def _near(self, text: str, places: list[int], literals: Literals) -> list[tuple[int, int]]:
        """Matches that hold a literal further on."""
        found: list[tuple[int, int]] = []
        # One more than the longest match, so that the boundary at its end sees the next character.
        after = self.longest + 1 - literals.least_lead
        free = 0
        for place in places:
            match = self.compiled.search(text, max(free, place - literals.lead), place + after)
            if match:
                found.append(match.span())
                free = match.end()
        return found


def _expression(node: Node, language: Language) -> str:
    if not language.spaced:
        return f"(?:{_emit(node, language)})"
    return f"{_BOUNDARY}(?:{_emit(node, language)}){_BOUNDARY}"


def _emit(node: Node, language: Language) -> str:
    match node:
        case Char(literal=str(literal)):
            return re.escape(literal)
        case Char(source=source):
            return _emit_class(source, language)
        case Edge():
            return _BOUNDARY if language.spaced else ""
        case Run(parts):
            return "".join(_emit(part, language) for part in parts)
        case Choice(options):
            return f"(?:{'|'.join(_emit(option, language) for option in options)})"
        case Repeat(part, low, high):
            # The shortest gap shows the tightest evidence.
            lazy = "?" if isinstance(part, Char) and part.is_gap else ""
            return f"(?:{_emit(part, language)}){{{low},{high}}}{lazy}"


def _emit_class(source: str, language: Language) -> str:
    if source == ".":
        return f"[^{re.escape(language.stops)}]"
    return f"[{WORD_CHARACTERS}]" if source == r"\w" else source
