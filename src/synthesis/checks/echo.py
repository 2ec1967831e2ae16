"""Which of the user's own words a reply takes up: a sign that both speak of the same thing."""

from collections.abc import Iterator

from synthesis.rules.reading import Reading
from synthesis.rules.text import Span

SHORTEST = 3
ENDING = 3  # letters that may differ between kindred forms of a long word
PARROT = 5  # so many telling words and none of its own: the reply only repeats

# Words that any talk holds, whatever it is about; one of them in common says nothing.
_ENGLISH = """
able about actually after again ago ain aint all almost already also although always and another any anybody
anymore anyone anything anyway anyways are aren arent around away back bad basically because become been
before being believe best better big bit both bro but came can cannot cant come comes could couldn couldnt
damn day days definitely did didn didnt different does doesn doesnt doing don done dont down dude each
either else enough especially even ever every everybody everyday everyone everything exactly far feel
feeling feelings feels felt find first for forward from fuck fucked fucking full get gets getting give gives
goes going gone gonna good got great guess guy guys had happen happened happens hard has hasn hasnt have
havent having heard hell hello help helped helps her here hey him his honestly hope how idea idk ill im
important instead into isn isnt issue issues its itself ive just keep kind kinda know knows last lately
later least less let life like literally little lol long look looking looks lot made make makes making man
many matter may maybe mean means meh might mind moment months more most much must myself need needs never
new next nobody not nothing now off often ok okay old one ones only other others our out over own part
people perhaps person place please point possible pretty probably problem problems question quite rather
read real really reason remember right said same say saying says see seem seems sense she shit should
shouldn since sir situation small some somebody someone something sometimes soon sorry sort spend start
started still stop stuff such suppose sure take takes taking talk talking tbh tell than thank thanks that
thats the their them themselves then there these they thing things think thinking this those though thought
through time times today together told too took tried try trying turn two understand until use used using
usually very via wait want wanted wants was wasn wasnt way ways week weeks well went were what when where
which while who whole why will wish with without won wonder wont worse worst worth would wouldn wouldnt
wrong yea yeah year years yep yes yet you your youre yours yourself
"""
_EVERYDAY = {"en": frozenset(_ENGLISH.split())}
CONSTANTS = {"shortest": SHORTEST, "ending": ENDING, "parrot": PARROT, "everyday": _EVERYDAY}


def taken_up(user: Reading, reply: Reading) -> list[Span]:
    """Where the reply uses a telling word of the user's, or a kindred one; nowhere if it only repeats."""
    everyday = _EVERYDAY.get(user.language.code, frozenset())
    told = {family for family, _ in _telling(user, everyday)}
    families = list(_telling(reply, everyday))
    if _is_parrot(told, families):
        return []
    return [reply.word_span(number) for family, number in families if family in told]


def only_repeats(user: Reading, reply: Reading) -> bool:
    """Whether a reply has no telling word of its own: alike, and yet it takes nothing up."""
    everyday = _EVERYDAY.get(user.language.code, frozenset())
    return _is_parrot({family for family, _ in _telling(user, everyday)}, list(_telling(reply, everyday)))


def _is_parrot(told: set[str], families: list[tuple[str, int]]) -> bool:
    return len(families) >= PARROT and all(family in told for family, _ in families)


def _telling(reading: Reading, everyday: frozenset[str]) -> Iterator[tuple[str, int]]:
    """The family of each telling word, and the number of the word in its text."""
    for number, word in enumerate(reading.words):
        if len(word) >= SHORTEST and word not in everyday:
            yield _family(word), number


def _family(word: str) -> str:
    """The beginning that kindred forms share: `lonely` and `loneliness`, `depressed` and `depression`."""
    return word[: max(SHORTEST + 1, len(word) - ENDING)]
