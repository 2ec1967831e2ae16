"""A person's answers about a case. Frozen, no I/O."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from synthesis.errors import OptionError

YES, NO, DOES_NOT_APPLY, SKIP = "yes", "no", "does_not_apply", "skip"
ANSWERS = (YES, NO, DOES_NOT_APPLY, SKIP)  # to the question whether a check should fail a reply
SCORES = ("1", "2", "3", "4", "5", SKIP)  # to the question which score an answer deserves
MOST_NAME = 80  # characters


class Person(NamedTuple):
    """Someone who labels. `verified`: by a token of their own; otherwise the name is what somebody typed."""

    name: str
    verified: bool


class Label(msgspec.Struct, frozen=True):
    """What one person says about one case: the answer that counts now, and the first one, given blind.

    `question` is the name of a check, or of an axis of a judged run. `given` is when the first answer came, in UTC.
    """

    position: int
    question: str
    person: Person
    answer: str
    first_answer: str
    given: str


def checked_person(name: str, *, verified: bool) -> Person:
    """A person of this name; OptionError for a name that cannot be shown."""
    shown = " ".join(name.split())
    if not shown or len(shown) > MOST_NAME or not shown.isprintable():
        raise OptionError("this is not a usable name", hint=f"Use 1 to {MOST_NAME} printable characters.")
    return Person(shown, verified)


def letters(labels: Sequence[Label]) -> dict[Person, str]:
    """A, B, C for the people of a run, in the order of their first label: names stay on the server."""
    people = dict.fromkeys(label.person for label in sorted(labels, key=lambda label: (label.given, label.person)))
    return {person: _letter(number) for number, person in enumerate(people)}


def _letter(number: int) -> str:
    """A to Z, then AA, AB, ..."""
    before, last = divmod(number, 26)
    return (_letter(before - 1) if before else "") + chr(ord("A") + last)
