"""A sentence as the offline judge compares it: words of meaning, names, quantities, denials and quantifiers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from synthesis.judge.offline.answers import split_passage
from synthesis.judge.offline.lexicon import FAMILY_PREFIX, Lexicon, Phrase, family
from synthesis.judge.offline.quantities import quantities
from synthesis.judge.offline.values import Lexeme, Quantity, lexemes
from synthesis.lazy import regex

LIGHT, HEAVY, NAME = 0.3, 1.0, 1.5  # what a word weighs in a claim
_BOUND_REACH = 5  # lexemes before a quantity in which the words of its bound begin


class Word(NamedTuple):
    """A word of meaning and its place among the lexemes."""

    at: int
    text: str
    family: str
    weight: float
    is_name: bool


class Sentence(NamedTuple):
    """One sentence, or two that follow one another."""

    text: str
    passage: int
    lexemes: list[Lexeme]
    words: list[Word]
    quantities: list[Quantity]
    negations: list[int]
    quantifiers: list[tuple[int, str]]
    phrases: frozenset[Phrase]  # its single words, and the pairs and threes that opposites are made of
    passive: bool
    known: Lexicon
    single: bool = True


def read(text: str, known: Lexicon, passage: int = 0, names: frozenset[str] = frozenset()) -> Sentence:
    """`names` are words that are written as names elsewhere in the context."""
    found = lexemes(text)
    amounts = quantities(found, known)
    taken = {at for one in amounts for at in range(one.start, one.end)}
    marked = list(_quantifiers(found, known))
    negations = list(_negations(found, known))
    said = taken | set(negations) | {at for at, _ in marked} | set(_of_bounds(found, known, amounts))
    return Sentence(
        text=text,
        passage=passage,
        lexemes=found,
        words=[word for word in _words(found, known, names) if word.at not in said],
        quantities=amounts,
        negations=negations,
        quantifiers=marked,
        phrases=_runs(found),
        passive=any(lexeme.low in known.passive for lexeme in found),
        known=known,
    )


def _words(found: Sequence[Lexeme], known: Lexicon, names: frozenset[str]) -> Iterator[Word]:
    for at, lexeme in enumerate(found):
        if lexeme.kind != "word" or lexeme.low in known.function or len(lexeme.text) < 2:
            continue
        kin = family(lexeme.low, known.name)
        name = lexeme.text in names or _is_name(found, at, known)
        weight = NAME if name else LIGHT if kin in known.light else HEAVY
        yield Word(at, lexeme.text, kin, weight, name)


def names_in(text: str, known: Lexicon) -> set[str]:
    """The words that are written as names."""
    found = lexemes(text)
    return {
        lexeme.text
        for at, lexeme in enumerate(found)
        if lexeme.kind == "word" and lexeme.low not in known.function and _is_name(found, at, known)
    }


def _is_name(found: Sequence[Lexeme], at: int, known: Lexicon) -> bool:
    before = found[at - 1] if at else None
    if known.name == "th":
        return (before is not None and before.low in known.before_names) or found[at].text[:1].isascii()
    if not found[at].text[0].isupper() or before is None or before.text in (".", ":"):
        return False
    if known.name != "de":
        return True
    follows = at + 1 < len(found) and found[at + 1].text[:1].isupper() and found[at + 1].kind == "word"
    led = before.text[0].isupper() and before.kind == "word" and at > 1
    return before.low in known.before_names or follows or led


def _negations(found: Sequence[Lexeme], known: Lexicon) -> Iterator[int]:
    skipped = {at for phrase in known.harmless for at in places(phrase, found)}
    for at, lexeme in enumerate(found):
        runs = {(lexeme.low,), tuple(one.low for one in found[at : at + 2])}
        if at not in skipped and (runs & known.negations or lexeme.low.endswith("n't")):
            yield at


def _quantifiers(found: Sequence[Lexeme], known: Lexicon) -> Iterator[tuple[int, str]]:
    longest = sorted(known.quantifiers, key=lambda phrase: (-len(phrase), phrase))
    taken: set[int] = set()
    for phrase in longest:
        for at in places(phrase, found):
            if not taken & set(range(at, at + len(phrase))):
                taken |= set(range(at, at + len(phrase)))
                yield at, known.quantifiers[phrase]


def _of_bounds(found: Sequence[Lexeme], known: Lexicon, amounts: Sequence[Quantity]) -> Iterator[int]:
    """The words of "at least" and its like beside a quantity."""
    phrases = [*known.bounds.items(), *known.bounds_after.items()]
    for one in amounts:
        for phrase in (phrase for phrase, bound in phrases if one.bound and bound == one.bound):
            for at in places(phrase, found):
                if one.start - _BOUND_REACH <= at <= one.end + 1:
                    yield from range(at, at + len(phrase))


def places(phrase: Phrase, found: Sequence[Lexeme]) -> list[int]:
    """Where a phrase begins."""
    return [
        at
        for at in range(len(found) - len(phrase) + 1)
        if found[at].low == phrase[0] and all(found[at + step].low == word for step, word in enumerate(phrase))
    ]


def _runs(found: Sequence[Lexeme]) -> frozenset[Phrase]:
    low = [lexeme.low for lexeme in found]
    return frozenset(tuple(low[at : at + size]) for size in (1, 2, 3) for at in range(len(low) - size + 1))


# A text cut into sentences.


_THAI_GAP = regex(r"(?<=[\u0e00-\u0e4e]) +(?=[\u0e00-\u0e4e])")
_SHORT = 12  # letters; a piece of a Thai sentence that is shorter goes with the next


def cut(text: str, language: str) -> Iterator[str]:
    """The sentences of a passage. Thai has no marks at the end: a space is one."""
    for sentence in split_passage(text):
        yield from _apart(sentence.text) if language == "th" else (sentence.text,)


def _apart(text: str) -> Iterator[str]:
    held = ""
    for part in _THAI_GAP.split(text):
        held = f"{held} {part}".strip()
        if len(held) >= _SHORT:
            yield held
            held = ""
    if held:
        yield held


FEWEST_WORDS = 3  # of a clause; what is shorter is an item of a list


def clauses_of(text: str, known: Lexicon) -> list[str]:
    """The clauses of a sentence: cut at semicolons, and at commas before a word that joins clauses."""
    found: list[str] = []
    for part in known.clause_break.split(text):
        if found and len(part.split()) < FEWEST_WORDS and known.name != "th":
            return []
        found.append(part)
    return found if len(found) > 1 else []


# Which words of a source a word of a claim can be.


def alike(one: str, other: str, known: Lexicon) -> bool:
    """Of two families, that of a claim first: the same, one that means the same, or a part of a compound."""
    if one == other or one in known.same.get(other, ()):
        return True
    if known.name == "th":
        return min(len(one), len(other)) >= 3 and (one in other or other in one)
    shared = _shared_prefix(one, other)
    if shared >= FAMILY_PREFIX and shared >= max(len(one), len(other)) - 4:
        return True
    return known.name == "de" and len(one) >= 4 and (other.endswith(one) or (other.startswith(one) and len(one) >= 5))


def _shared_prefix(one: str, other: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
