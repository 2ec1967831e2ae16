"""Which cases of a file are run."""

import random
from collections.abc import Collection, Iterable

import msgspec

from synthesis.errors import OptionError, did_you_mean
from synthesis.model import Case


class Filters(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a user asked to see. Empty means everything."""

    tags: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    sample: int | None = None
    seed: int = 0
    limit: int | None = None

    def apply(self, cases: Iterable[Case]) -> list[Case]:
        """The cases that remain, in their order: first by tag, id and check, then the sample, then the limit."""
        kept = [case for case in map(self._with_checks, cases) if case.checks and self._wanted(case)]
        if self.sample is not None and self.sample < len(kept):
            chosen = random.Random(self.seed).sample(range(len(kept)), self.sample)
            kept = [kept[index] for index in sorted(chosen)]
        return kept[: self.limit]

    def _wanted(self, case: Case) -> bool:
        if case.problem is not None:  # nobody knows what it would have been
            return not self.ids or case.id in self.ids
        return (not self.tags or not set(self.tags).isdisjoint(case.tags)) and (not self.ids or case.id in self.ids)

    def _with_checks(self, case: Case) -> Case:
        if not self.checks:
            return case
        return msgspec.structs.replace(case, checks=tuple(name for name in case.checks if name in self.checks))

    def require_matches(self, cases: Collection[Case], known_ids: Iterable[str]) -> None:
        """An id that is not there, or filters that leave nothing, are a mistake and not an empty success."""
        known = set(known_ids)
        for name in self.ids:
            if name not in known:
                raise OptionError(f"no case has the id '{name}'", hint=_near(name, known))
        if not cases:
            raise OptionError("no case is left after the filters", hint="Check --tag, --id, --check and --limit.")


def _near(name: str, known: set[str]) -> str:
    return did_you_mean(name, known) if len(known) <= 40 else "Check its spelling."
