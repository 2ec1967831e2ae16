"""Languages: how their text falls into words and sentences."""

from dataclasses import dataclass

# `\w` alone splits Hindi words at vowel signs and words with combining accents; the danda is not a letter.
WORD_CHARACTERS = r"\w\u0300-\u036f\u0900-\u0963\u0966-\u097f"

UNDETERMINED = "und"


@dataclass(frozen=True, slots=True)
class Language:
    """How the text of one language falls into words and sentences."""

    code: str
    name: str
    spaced: bool = True
    abbreviations: frozenset[str] = frozenset()

    @property
    def stops(self) -> str:
        """Characters that end a sentence by themselves; elsewhere a mark needs white space behind it."""
        return "\n।" if self.spaced else "\n।。!?"


def _abbreviations(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ENGLISH = "dr mr mrs ms prof st vs e.g i.e approx dept inc no"

LANGUAGES = {
    language.code: language
    for language in (
        Language("en", "English", abbreviations=_abbreviations(_ENGLISH)),
        Language("es", "Spanish", abbreviations=_abbreviations("sr sra srta dr dra ud uds p.ej aprox núm")),
        Language("it", "Italian", abbreviations=_abbreviations("sig dott dr prof ecc es pag")),
        Language("fr", "French", abbreviations=_abbreviations("m mme mlle dr pr p.ex env")),
        Language("pt", "Portuguese", abbreviations=_abbreviations("sr sra dr dra prof p.ex aprox")),
        Language("ja", "Japanese", spaced=False),
        Language("zh", "Chinese", spaced=False),
        Language("hi", "Hindi", abbreviations=_abbreviations("डॉ श्री")),
    )
}


def language_of(code: str) -> Language:
    """The language of a code; a code that is none of ours still has words and sentences."""
    return LANGUAGES.get(code) or Language(code, code)


def primary(code: str) -> str:
    """The language of a code with a region or in capitals: `pt` of `pt-BR`, `en` of `EN_us`."""
    return code.replace("_", "-").split("-")[0].lower()
