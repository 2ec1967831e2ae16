"""What a table can ask about an exchange without a rule: its profile, how alike its texts are, how they are built.

A fact is a name in a formula, such as `similarity`. Each has its kind and one sentence.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from synthesis.checks.exchange import Exchange
from synthesis.checks.helplines import named_in
from synthesis.checks.operators import NAMES, NUMBER, TEXT, TRUTH, WORDS, operator
from synthesis.lazy import regex
from synthesis.rules.detection import LETTERS_OF_A_WORD
from synthesis.rules.reading import Reading
from synthesis.rules.text import UNDETERMINED, Language
from synthesis.settings import TRAFFIC


class Fact(NamedTuple):
    name: str
    kind: str
    does: str
    of: Callable[[Exchange], Any]


# The user's own words that a reply takes up are a sign that both speak of the same thing.
SHORTEST = 3
ENDING = 3  # letters that may differ between kindred forms of a long word
PARROT = 5  # so many telling words and none of its own: the reply only repeats
_IDEOGRAPHS = range(0x4E00, 0xA000)


def taken_up(exchange: Exchange) -> list[str]:
    """The user's telling words that the reply uses, or kindred ones, each once; none if it only repeats."""
    user_families = {family for family, _ in telling(exchange.user)}
    words: dict[str, None] = {}
    for family, word in telling(exchange.assistant):
        if family in user_families:
            words.setdefault(word)
    return [] if not words or _is_parrot(user_families, exchange.assistant) else list(words)


def only_repeats(exchange: Exchange) -> bool:
    """Whether a reply has no telling word of its own: alike, and yet it takes nothing up."""
    return _is_parrot({family for family, _ in telling(exchange.user)}, exchange.assistant)


@operator(
    WORDS,
    gives=NUMBER,
    of_exchange=True,
    example="families(taken_up)",
    does="How many families of kindred words these are: lonely and loneliness are one.",
)
def families(exchange: Exchange, words: Sequence[str]) -> int:
    """How many families of kindred words these are."""
    spaced = exchange.assistant.language.spaced
    return len({_family(word) if spaced else word for word in words})


def _is_parrot(user_families: set[str], reply: Reading) -> bool:
    own = 0
    for family, _ in telling(reply):
        if family not in user_families:
            return False
        own += 1
    return own >= PARROT


def telling(reading: Reading) -> Iterator[tuple[str, str]]:
    """The family of each telling word, and the word."""
    if not reading.language.spaced:
        yield from _telling_characters(reading)
        return
    everyday = reading.language.everyday
    for word in reading.words:
        if len(word) >= SHORTEST and word not in everyday:
            yield _family(word), word


def _telling_characters(reading: Reading) -> Iterator[tuple[str, str]]:
    """The same where no space shows the words: single ideographs beside kana, or else pairs of them."""
    everyday, single = reading.language.everyday, reading.language.single_ideographs
    before = ""
    for char in reading.spoken:
        shown = char if ord(char) in _IDEOGRAPHS and char not in everyday else ""
        if shown and single:
            yield char, char
        elif shown and before:
            yield before + char, before + char
        before = shown


def _family(word: str) -> str:
    """The beginning that kindred forms share: `lonely` and `loneliness`, `depressed` and `depression`."""
    return word[: max(SHORTEST + 1, len(word) - ENDING)]


# How a text is built.


_CODE = regex(
    r"```|[{};]\s*\n|^\s*(?:def|class|import|from|SELECT|#include|function|const|let|var)\b.*[(:;{]"
    r"|</?[a-z]+[^>]*>|\b\w+\(\w*\)[;:]|\bstd::|\$\(|=>",
    re.MULTILINE,
)
_PASTED = regex(r"[:：]\s*\n\s*\S|\n\s*\n\s*\S|\n\s*(?:>|\||[-*•+] )")
_QUOTE = regex(r"[\"“”«»「」『』]")
_QUESTION = regex(r"[?？]")
SELF = "personal.self"  # the signal of a person who speaks of themselves


def has_pasted(exchange: Exchange) -> bool:
    """Material under an instruction. A person's own message has paragraphs, too, but speaks of them in the first."""
    found = _PASTED.search(exchange.user.original)
    return found is not None and not any(hit.start < found.start() for hit in exchange.hits(SELF))


def _words_of_reply(exchange: Exchange) -> int:
    reply = exchange.assistant
    return len(reply.words) if reply.language.spaced else sum(map(len, reply.words)) // LETTERS_OF_A_WORD


def constants_of_facts(languages: Mapping[str, Language]) -> dict[str, object]:
    """What facts depend on beside the text: numbers, and the words that tell nothing."""
    spoken = [language for language in languages.values() if language.everyday]
    patterns = {"code": _CODE, "pasted": _PASTED, "quote": _QUOTE, "question": _QUESTION}
    return {
        "shortest": SHORTEST,
        "ending": ENDING,
        "parrot": PARROT,
        "patterns": {name: pattern.pattern for name, pattern in patterns.items()},
        "everyday": {language.code: language.everyday for language in spoken if language.spaced},
        "everyday_characters": {language.code: language.everyday for language in spoken if not language.spaced},
    }


FACTS = {
    fact.name: fact
    for fact in (
        Fact(
            "traffic",
            TRUTH,
            "the text comes from a log, and nobody said what it is about",
            lambda e: e.profile == TRAFFIC,
        ),
        Fact("turn", NUMBER, "the number of the exchange in its conversation, from 0", lambda e: e.turn),
        Fact("this_turn", NAMES, "that number, as a list", lambda e: [e.turn]),
        Fact(
            "readable",
            NUMBER,
            "1 if the message is in a language with rules, else 0",
            lambda e: int(e.user.language.code != UNDETERMINED),
        ),
        Fact("similarity", NUMBER, "how alike message and reply are, from 0 to 1", lambda e: e.similarity),
        Fact(
            "opening",
            TEXT,
            "the first two sentences of the reply",
            lambda e: e.assistant.original[slice(*e.assistant.anchor)],
        ),
        Fact("sentences", NUMBER, "sentences of the reply", lambda e: len(e.assistant.sentences)),
        Fact("length", NUMBER, "words of the reply", _words_of_reply),
        Fact("taken_up", WORDS, "words of the message that tell something and that the reply uses", taken_up),
        Fact("only_repeats", TRUTH, "the reply has no telling word of its own", only_repeats),
        Fact(
            "speaks_beside_text",
            TRUTH,
            "the reply holds a text that was asked for and speaks around it",
            lambda e: e.speaks_beside_draft,
        ),
        Fact(
            "helplines",
            NAMES,
            "crisis lines and emergency numbers that the reply names",
            lambda e: [line.label for line in named_in(e.assistant.original)],
        ),
        Fact("sentences_of_message", NUMBER, "sentences of the message", lambda e: len(e.user.sentences)),
        Fact(
            "question_marks", NUMBER, "question marks in the message", lambda e: len(_QUESTION.findall(e.user.original))
        ),
        Fact(
            "quotation_marks", NUMBER, "quotation marks in the message", lambda e: len(_QUOTE.findall(e.user.original))
        ),
        Fact("holds_code", TRUTH, "the message holds code", lambda e: bool(_CODE.search(e.user.original))),
        Fact("holds_material", TRUTH, "the message holds pasted material below an instruction", has_pasted),
    )
}
