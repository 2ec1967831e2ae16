"""Packs on top of each other, read when a rule of their language is asked for.

What is asked of all of them at every start (their hash, their languages, what they have rules for) is kept as an
`Index` beside the prepared packs, under a key made of all that it depends on. So a start reads the packs of the
languages that it meets, and no others.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

import msgspec

from synthesis.errors import OptionError, did_you_mean
from synthesis.rules.schema import DetectionWords, Pack
from synthesis.rules.text import Language


class Index(msgspec.Struct, frozen=True):
    """What is known of packs that nobody has read yet."""

    key: str  # of what else is kept for these packs
    languages: tuple[str, ...]  # of each folder, from the lowest to the highest
    spoken: dict[str, Language]
    covered: frozenset[tuple[str, str]]
    count: int | None  # of the rules; None: they have to be counted
    hash: str | None

    def with_signals(self, names: Collection[str]) -> "Index":
        """Of the rules of these signals alone."""
        covered = frozenset(pair for pair in self.covered if pair[1] in names)
        return msgspec.structs.replace(self, covered=covered, count=None, hash=None)


class KnownWords(msgspec.Struct, frozen=True):
    """What languages are recognised by: those of the packs, and their neighbours."""

    ours: dict[str, DetectionWords]
    neighbours: dict[str, DetectionWords]


class Layer:
    """The pack of one folder, and the key of what its patterns depend on."""

    def __init__(self, key: str, folder: Path, load: Callable[[], Pack]) -> None:
        self.key = key
        self.folder = folder
        self._load = load

    @cached_property
    def pack(self) -> Pack:
        return self._load()

    def changed(self, change: Callable[[Pack], Pack], name: str) -> "Layer":
        """The layer with another pack, under a name for what is kept of it."""
        return Layer(f"{self.key}/{name}", self.folder, lambda: change(self.pack))


class Packs(Mapping[str, Pack]):
    """Packs by language, each loaded when it is first asked for."""

    def __init__(self, load: Mapping[str, Callable[[], Pack]]) -> None:
        self._load = load
        self._loaded: dict[str, Pack] = {}

    def __getitem__(self, language: str) -> Pack:
        if language not in self._loaded:
            self._loaded[language] = self._load[language]()
        return self._loaded[language]

    def __contains__(self, language: object) -> bool:
        return language in self._load

    def __iter__(self) -> Iterator[str]:
        return iter(self._load)

    def __len__(self) -> int:
        return len(self._load)


def stacked(layers: Iterable[Layer]) -> dict[str, Pack]:
    """The packs of all layers by language, a higher one on top of those below it."""
    packs: dict[str, Pack] = {}
    for layer in layers:
        packs[layer.pack.language] = on_top(packs.get(layer.pack.language), layer.pack)
    return packs


def on_top(below: Pack | None, pack: Pack) -> Pack:
    if below is None:
        return pack
    rules = {rule.id: rule for rule in (*below.rules, *pack.rules)}
    inherited = ("guards", "lists", "detection", "spoken")  # by the loader
    return msgspec.structs.replace(
        below, rules=tuple(rules.values()), **{name: getattr(pack, name) for name in inherited}
    )


def without(pack: Pack, disabled: Collection[str]) -> Pack:
    return msgspec.structs.replace(pack, rules=tuple(rule for rule in pack.rules if rule.id not in disabled))


def require_rules(packs: Iterable[Pack], disabled: Collection[str]) -> None:
    """Nobody disables a rule that does not exist."""
    known = {rule.id for pack in packs for rule in pack.rules}
    for name in sorted(set(disabled) - known):
        raise OptionError(f"no rule is called '{name}', so it cannot be disabled", hint=did_you_mean(name, known))
