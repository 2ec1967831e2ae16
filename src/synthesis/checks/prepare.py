"""Prepares the bundled packs of some languages: `python -m synthesis.checks.prepare en es`.

`hatch_build.py` runs it when the package is built, and puts what it finds in the cache folder beside the code.
"""

import sys

from synthesis.checks.registry import rules_in_force
from synthesis.rules import cache


def prepare(languages: list[str]) -> None:
    """Fill the cache with all that reading texts in these languages needs."""
    cache.SHIPPED = None  # what an earlier build left must not stand in for this one
    rules = rules_in_force()
    cache.cached_tables()
    for language in languages:
        rules.patterns(language)
        rules.program(language)


if __name__ == "__main__":
    prepare(sys.argv[1:])
