"""Which cases of a file are run."""

import hashlib
from collections.abc import Iterable, Iterator
from heapq import nsmallest
from itertools import islice

import msgspec

from synthesis.errors import OptionError, Problem
from synthesis.model import Case
from synthesis.read.lines import STDIN
from synthesis.runner.reading import Reader, file_units
from synthesis.runner.spec import RunSpec

Places = frozenset[tuple[str, int]]  # file and line of the chosen cases


def chosen_places(spec: RunSpec) -> Places | None:
    """Where the cases of the sample or below the limit are; found in a first pass that evaluates nothing."""
    if not spec.chooses:
        return None
    if any(str(file.path) == STDIN for file in spec.inputs):
        message = "--limit and --sample need a file: standard input cannot be read twice"
        raise OptionError(message, hint="Save it first.")
    reader, selection = Reader.of(spec), CaseSelection(spec)

    def wanted() -> Iterator[Case]:
        for file in spec.inputs:
            for unit in file_units(file, spec):
                if not isinstance(unit, Problem):
                    for reading in reader.read(unit):
                        yield from selection.wanted(reading.cases)

    return frozenset(case.source.place for case in selection.chosen(wanted()) if case.source)


class CaseSelection:
    """The cases that a run asks for, each with the checks that it asks for."""

    def __init__(self, spec: RunSpec, places: Places | None = None) -> None:
        self._spec = spec
        self._places = places

    def wanted(self, cases: Iterable[Case]) -> list[Case]:
        """The cases that fit by tag, id, check and place, with the wanted checks only."""
        return [case for case in map(self._with_checks, cases) if case.checks and self._wanted(case)]

    def chosen(self, cases: Iterable[Case]) -> list[Case]:
        """Of the wanted cases the sample, then the first of them up to the limit, in the order of the input.

        A sample holds the cases whose hash with the seed is smallest, so that no other case's place decides about one.
        """
        found: Iterable[Case] = cases
        if self._spec.sample is not None:
            least = nsmallest(self._spec.sample, ((self._lot(case), place, case) for place, case in enumerate(cases)))
            found = (case for _, _, case in sorted(least, key=lambda drawn: drawn[1]))
        return list(islice(found, self._spec.limit))

    def _lot(self, case: Case) -> bytes:
        return hashlib.sha256(f"{self._spec.seed}:{case.id}".encode()).digest()

    def _wanted(self, case: Case) -> bool:
        tags, ids = self._spec.tags, self._spec.ids
        return (
            # Nobody knows the tags of a row that could not be read.
            (not tags or case.problem is not None or not set(tags).isdisjoint(case.tags))
            and (not ids or case.id in ids or (case.source is not None and case.source.id in ids))
            and (self._places is None or (case.source is not None and case.source.place in self._places))
        )

    def _with_checks(self, case: Case) -> Case:
        """The case with the checks that are wanted of it; labels of those it loses go with them."""
        only, instead = self._spec.only, self._spec.checks
        if not only and not instead:
            return case
        asked = instead or case.checks
        kept = tuple(name for name in asked if not only or name in only)
        dropped = set(case.checks) - set(kept)
        labels = {name: value for name, value in (case.expected or {}).items() if name not in dropped}
        return msgspec.structs.replace(case, checks=kept, expected=labels or None)
