"""Prepares the bundled packs of some languages: `python -m synthesis.checks.prepare en es`.

`hatch_build.py` runs it when the package is built, and puts what it finds in the cache folder beside the code.
"""

import sys

from synthesis.checks.registry import measured, rules_in_force
from synthesis.rules import cache
from synthesis.rules.native.library import library


def prepare(languages: list[str]) -> None:
    """Fill the cache with all that reading texts in these languages needs, and touch what is there already."""
    cache.SHIPPED = None  # what an earlier build left must not stand in for this one
    rules = rules_in_force()
    cache.cached_tables()
    measured()
    _ = rules.detector, rules.detection  # made when they are asked for, as all the rest
    for language in languages:
        _ = rules.packs[language], rules.texts(language)
        rules.patterns(language)
        if library():
            rules.image(language)


if __name__ == "__main__":
    prepare(sys.argv[1:])
