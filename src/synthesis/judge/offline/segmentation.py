"""Words of scripts that only a dictionary can divide: Thai, Lao, Burmese, Khmer.

ICU does it, through the package icu4py (the extra `segmentation`). Pairs of characters do not: in these scripts most
pairs of one text are in any other.
"""

from collections.abc import Iterator
from functools import cache

# Letters, vowel signs and tone marks, without digits and punctuation.
LETTERS = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ecf\u1000-\u103f\u1050-\u109f\u1780-\u17d3"


@cache
def can_segment() -> bool:
    """Whether the extra is installed."""
    try:
        import icu4py.breakers  # noqa: F401
    except ImportError:
        return False
    return True


def words_in(run: str) -> Iterator[tuple[int, str]]:
    """Each word of a run of such letters with its place; the run as it is where the extra is missing."""
    if not can_segment():
        yield 0, run  # a stray name in a text of another script, see `refuse_incomparable`
        return
    from icu4py.breakers import WordBreaker

    at = 0
    # ICU chooses the dictionary by the letters; the locale only matters to other scripts.
    for word in WordBreaker(run, "th"):
        yield at, word
        at += len(word)
