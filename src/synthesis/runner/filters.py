"""Which cases of a file are run."""

import hashlib
from collections.abc import Iterable
from heapq import nsmallest
from itertools import islice

import msgspec

from synthesis.model import Case


class Filters(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a user asked to see. Empty means everything."""

    tags: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()  # checks in place of those that the cases name
    sample: int | None = None
    seed: int = 0
    limit: int | None = None
    places: frozenset[tuple[str, int]] | None = None  # file and line of the chosen cases

    @property
    def choose(self) -> bool:
        """Whether some of the wanted cases must be chosen before the run."""
        return self.sample is not None or self.limit is not None

    def wanted(self, cases: Iterable[Case]) -> list[Case]:
        """The cases that fit by tag, id and check, with the wanted checks only."""
        return [case for case in map(self._with_checks, cases) if case.checks and self._wanted(case)]

    def chosen(self, cases: Iterable[Case]) -> list[Case]:
        """Of the wanted cases the sample, then the first of them up to the limit, in the order of the input.

        A sample holds the cases whose hash with the seed is smallest: which they are depends on no other case's place.
        """
        found: Iterable[Case] = cases
        if self.sample is not None:
            least = nsmallest(self.sample, ((self._lot(case), place, case) for place, case in enumerate(cases)))
            found = (case for _, _, case in sorted(least, key=lambda drawn: drawn[1]))
        return list(islice(found, self.limit))

    def _lot(self, case: Case) -> bytes:
        return hashlib.sha256(f"{self.seed}:{case.id}".encode()).digest()

    def _wanted(self, case: Case) -> bool:
        return (
            # Nobody knows the tags of a row that could not be read.
            (not self.tags or case.problem is not None or not set(self.tags).isdisjoint(case.tags))
            and (not self.ids or case.id in self.ids)
            and (self.places is None or (case.source is not None and case.source.place in self.places))
        )

    def _with_checks(self, case: Case) -> Case:
        """The case with the checks that are wanted of it; labels of those it loses go with them."""
        if not self.checks and not self.instead:
            return case
        asked = self.instead or case.checks
        kept = tuple(name for name in asked if not self.checks or name in self.checks)
        dropped = set(case.checks) - set(kept)
        labels = {name: value for name, value in (case.expected or {}).items() if name not in dropped}
        return msgspec.structs.replace(case, checks=kept, expected=labels or None)
