"""A pattern's tree as an expression of `re`, written so that it fails early where it does not match."""

import re
from collections import defaultdict
from collections.abc import Sequence

from synthesis.rules.language import WORD_CHARACTERS, Language
from synthesis.rules.syntax import Char, Choice, Edge, Node, Repeat, Run

# True wherever we are not in the middle of a word, whatever the pattern begins or ends with.
BOUNDARY = rf"(?:(?<![{WORD_CHARACTERS}])|(?![{WORD_CHARACTERS}]))"


def expression(node: Node, language: Language) -> str:
    """The expression of a whole pattern.

    The boundary in front is left out where `re` can search for a fixed beginning, which is several times quicker;
    whoever uses the expression looks at it afterwards.
    """
    boundary = BOUNDARY if language.spaced else ""
    in_front = "" if has_fixed_beginning(node) else boundary
    return f"{in_front}(?:{_emit(node, language)}){boundary}"


def has_fixed_beginning(node: Node) -> bool:
    """Whether all that a tree matches begins with a letter of its own, so that a search for it is quick."""
    match node:
        case Choice(options):
            return all(map(has_fixed_beginning, options))
        case Run(parts):
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
        case Run(parts):
            return "".join(_emit(part, language) for part in parts)
        case Choice(options):
            return f"(?:{_emit_choice(options, language)})"
        case Repeat(part, low, high):
            # The shortest gap shows the tightest evidence.
            lazy = "?" if isinstance(part, Char) and part.is_gap else ""
            return f"(?:{_emit(part, language)}){{{low},{high}}}{lazy}"


def _emit_choice(options: Sequence[Node], language: Language) -> str:
    """The options, those with the same first letter together: a letter that begins none is turned down at once.

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
        return node.literal[0], Char(node.literal[1:]) if node.literal[1:] else Run(())
    if isinstance(node, Run) and node.parts and (first := _split(node.parts[0])):
        return first[0], Run((first[1], *node.parts[1:]))
    return None


def _emit_class(source: str, language: Language) -> str:
    if source == ".":
        return f"[^{re.escape(language.stops)}]"
    return f"[{WORD_CHARACTERS}]" if source == r"\w" else source
