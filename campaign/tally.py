"""What every kind of fault has in common: numbered tries, each drawn from the seed, and a tally of what failed.

A try depends on kind, seed and number alone, so any failure can be run again on its own.
"""

import random
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

Attempt = Callable[[random.Random, int, Path], None]  # one try in a folder of its own; raises Broken


class Broken(Exception):  # noqa: N818  (a promise that is broken, not an error of this program)
    """The product did not do what it documents."""


def expect(holds: object, otherwise: str) -> None:
    """Raise Broken with these words unless it holds."""
    if not holds:
        raise Broken(otherwise)


@dataclass(frozen=True)
class Budget:
    """How many tries at most, and for how long new ones are begun."""

    tries: int
    seconds: float


@dataclass(frozen=True)
class Setting:
    """What a kind prepares itself with: a folder for all tries, the seed, and whether this is the full campaign."""

    folder: Path
    seed: int
    full: bool


@dataclass(frozen=True)
class Kind:
    """One kind of fault. `prepare` sets up what all tries share and yields the function that makes one try."""

    name: str
    what: str
    prepare: Callable[[Setting], AbstractContextManager[Attempt]]
    quick: Budget
    full: Budget

    def budget(self, full: bool) -> Budget:
        return self.full if full else self.quick


@dataclass(frozen=True)
class Failure:
    """A try that failed, and how to run it again."""

    kind: str
    seed: int
    number: int
    what: str

    def __str__(self) -> str:
        return f"{self.kind} seed {self.seed} number {self.number}: {self.what}"


@dataclass
class Tally:
    """The outcome of one kind."""

    kind: str
    planned: int
    tries: int = 0
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)


def run_kind(
    kind: Kind,
    seed: int,
    budget: Budget,
    *,
    full: bool = False,
    number: int | None = None,
    progress: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Make the tries of one kind, or only the one with this number."""
    numbers: Iterable[int] = range(budget.tries) if number is None else (number,)
    tally = Tally(kind.name, budget.tries if number is None else 1)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"campaign-{kind.name}-", ignore_cleanup_errors=True) as home:
        shared = Path(home, "shared")
        shared.mkdir()
        try:
            with kind.prepare(Setting(shared, seed, full)) as attempt:
                for one in numbers:
                    if tally.tries and time.monotonic() - began > budget.seconds:
                        break
                    _make_try(kind, seed, one, attempt, Path(home), tally)
                    tally.seconds = time.monotonic() - began
                    progress(tally)
        except Exception as error:
            tally.failures.append(Failure(kind.name, seed, -1, f"could not be prepared: {_in_short(error)}"))
    tally.seconds = time.monotonic() - began
    return tally


def _make_try(kind: Kind, seed: int, number: int, attempt: Attempt, home: Path, tally: Tally) -> None:
    chance = random.Random(f"{kind.name}/{seed}/{number}")
    tally.tries += 1
    with tempfile.TemporaryDirectory(prefix="try-", dir=home, ignore_cleanup_errors=True) as folder:
        try:
            attempt(chance, number, Path(folder))
        except Broken as broken:
            tally.failures.append(Failure(kind.name, seed, number, str(broken)))
        except Exception as error:  # a fault of the campaign itself must not pass for a success either
            tally.failures.append(Failure(kind.name, seed, number, f"the try itself failed: {_in_short(error)}"))


def _in_short(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
