"""What is said in one language about replies. Packs bring it (`texts.yaml`); no verdict depends on it."""

from collections.abc import Callable

import msgspec


class Advice(msgspec.Struct, frozen=True):
    """Why something matters, and what would be better."""

    why: str = ""
    instead: str = ""


class Texts(msgspec.Struct, frozen=True):
    """The texts of one language; what it lacks is empty."""

    lead: str = ""  # how feedback for the writer of a reply begins
    feedback: dict[str, str] = {}  # check -> what its failure asks of the writer
    absences: dict[tuple[str, str], Advice] = {}  # (check, name of what is missing)
    notices: tuple[str, ...] = ()  # patterns of a notice that the user talks to a machine

    def on_top_of(self, below: "Texts") -> "Texts":
        """These texts, and those of `below` that they do not replace; notices add up."""
        return Texts(
            self.lead or below.lead,
            below.feedback | self.feedback,
            below.absences | self.absences,
            tuple(dict.fromkeys((*below.notices, *self.notices))),
        )


TextsOf = Callable[[str], Texts]  # by language code; a language without any has empty ones
ENGLISH = "en"
_NO_ADVICE = Advice()


def no_texts(_: str) -> Texts:
    return Texts()


def on_absence(texts: TextsOf, check: str, name: str, language: str) -> Advice:
    """What to say about something that a reply lacks; in English where the language has no words for it."""
    own = texts(language).absences.get((check, name))
    return own or texts(ENGLISH).absences.get((check, name), _NO_ADVICE)
