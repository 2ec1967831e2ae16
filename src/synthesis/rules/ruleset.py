"""All rules in force: the bundled packs, the user's own on top, less those that are disabled."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from synthesis.errors import OptionError, did_you_mean
from synthesis.garbage import without_collection
from synthesis.io import PACKS
from synthesis.model.texts import Texts
from synthesis.rules.cache import cached_pack, cached_patterns, cached_program
from synthesis.rules.detection import Detected, Detector, neighbours
from synthesis.rules.loader import language_folders, load_pack, load_texts
from synthesis.rules.matcher import Matcher, PythonReader
from synthesis.rules.native.program import Program, program
from synthesis.rules.native.reader import NativeReader, library
from synthesis.rules.pattern import PreparedPattern, prepare, required_words_finder
from synthesis.rules.prose import prose
from synthesis.rules.reading import Message, Reader, Reading
from synthesis.rules.schema import Pack, Rule, Signal, deciding_part
from synthesis.rules.syntax import PatternError, WordLists
from synthesis.rules.text import UNDETERMINED, Language, language_of

Also = Callable[[Mapping[str, Language]], Mapping[str, object]]
COMMON = 250  # words of a pack's list for detection, which begins with the most common ones: poor keys for patterns


class RuleSet:
    """Rules by language, ready to be matched against either side of a conversation."""

    def __init__(
        self,
        packs: Sequence[Pack],
        signals: Mapping[str, Signal],
        patterns: "PatternStore",
        also: Also | None = None,
        learned: Any = None,
    ) -> None:
        self.packs = {pack.language: pack for pack in packs}
        self._signals = signals
        self._patterns = patterns
        self._also = also
        self.learned = learned  # the reader that `checks.learned` knows; None: rules alone
        self._matchers: dict[tuple[str, str, frozenset[str] | None], Matcher] = {}

    @property
    def languages(self) -> list[str]:
        return sorted(self.packs)

    def with_signals(self, names: Collection[str]) -> "RuleSet":
        """Only the rules of these signals: faster, where nothing else is read."""
        return RuleSet(
            [
                msgspec.structs.replace(pack, rules=tuple(rule for rule in pack.rules if rule.signal in names))
                for pack in self.packs.values()
            ],
            self._signals,
            self._patterns,
            self._also,
            self.learned,
        )

    @property
    def learned_rules(self) -> list[Rule]:
        """What the learned reader finds, told like rules: of every language (""), and without patterns."""
        return [] if self.learned is None else list(self.learned.rules)

    def language(self, code: str) -> Language:
        """How the text of a language falls into words and sentences."""
        return self.packs[code].spoken if code in self.packs else language_of(code)

    def texts(self, language: str) -> Texts:
        """The texts of a language; empty where no pack has any."""
        return self._patterns.texts(language)

    @cached_property
    def detector(self) -> Detector:
        """Tells in which of the packs' languages a text is."""
        return Detector({language: pack.detection for language, pack in self.packs.items()})

    @cached_property
    def rules(self) -> list[Rule]:
        """Every rule, by language and id."""
        return sorted((rule for pack in self.packs.values() for rule in pack.rules), key=lambda r: (r.language, r.id))

    @cached_property
    def covered(self) -> frozenset[tuple[str, str]]:
        """Each language with each signal that it has a rule for."""
        return frozenset((rule.language, rule.signal) for pack in self.packs.values() for rule in pack.rules)

    def patterns(self, language: str) -> Mapping[str, PreparedPattern]:
        """Every pattern of a language, by its source."""
        return self._patterns.of(language)

    def matcher(self, language: str, where: str, signals: frozenset[str] | None = None) -> Matcher:
        """The matcher for one side and some signals (None: all); built when first asked for."""
        key = (language, where, signals)
        if key not in self._matchers:
            pack = self.packs[language]
            patterns = self.patterns(language)
            self._matchers[key] = Matcher(self.wanted(*key), pack.guards, patterns, spaced=pack.spoken.spaced)
        return self._matchers[key]

    @without_collection()
    def read(self, messages: Sequence[Message]) -> list[Reading]:
        """The reading of each message; one whose language has no rules has no hits.

        Of a reply, what is said to the person is read; a user's message as a whole.
        """
        spoken = [message._replace(text=_spoken(message)) for message in messages]
        readings = self.reader.read(spoken)
        apart = [number for number, message in enumerate(messages) if spoken[number].text != message.text]
        if apart:
            self._read_whole([messages[number] for number in apart], [readings[number] for number in apart])
        return readings

    def _read_whole(self, messages: Sequence[Message], readings: Sequence[Reading]) -> None:
        """Take the words from the originals, and what counts in the whole of them."""
        asked = [self._whole if message.signals is None else self._whole & message.signals for message in messages]
        originals = [
            message._replace(signals=signals, language=Detected(reading.language.code, reading.language_by))
            for message, signals, reading in zip(messages, asked, readings, strict=True)
        ]
        for message, reading, whole in zip(messages, readings, self.reader.read(originals), strict=True):
            reading.hits = [hit for hit in reading.hits if hit.rule.signal not in self._whole]
            reading.quote(message.text, whole.hits)

    @cached_property
    def _whole(self) -> frozenset[str]:
        """The signals that count in the whole of a reply."""
        return frozenset(name for name, signal in self._signals.items() if signal.whole)

    @cached_property
    def reader(self) -> Reader:
        """The compiled reader where there is one, else Python's."""
        compiled = library()
        return NativeReader(self, compiled) if compiled else PythonReader(self)

    def program(self, language: str) -> Program:
        """What the compiled reader runs for a language."""
        return self._patterns.program(language)

    def language_of(self, message: Message) -> tuple[Language, str]:
        """The language in which a message is read, and how that was decided."""
        code, how = message.language or self.detector.detect(message.text)
        return self.language(code if code in self.packs else UNDETERMINED), how

    def wanted(self, language: str, where: str, signals: frozenset[str] | None) -> list[Rule]:
        """The rules for one side and some signals (None: all)."""
        return [rule for rule in self.packs[language].rules if self._is_wanted(rule, where, signals)]

    def _is_wanted(self, rule: Rule, where: str, signals: frozenset[str] | None) -> bool:
        return self._signals[rule.signal].where == where and (signals is None or rule.signal in signals)

    @cached_property
    def hash(self) -> str:
        """Changes when, and only when, something changes that can change a verdict."""
        in_use = {rule.signal for rule in self.rules}
        spoken = {code: pack.spoken for code, pack in self.packs.items()}
        content: tuple[object, ...] = (
            {language: deciding_part(pack) for language, pack in self.packs.items()},
            {name: deciding_part(self._signals[name]) for name in in_use},
            {language: self._patterns.lists_below(language) for language in self.packs},
            neighbours(),
            self._also(spoken) if self._also else {},
        )
        # How the bundled languages fall into words goes with the version of the package, as the code does.
        own = {code: deciding_part(each) for code, each in spoken.items() if each != self._patterns.as_bundled(code)}
        content = (*content, own) if own else content
        return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()[:16]


class PatternStore:
    """The patterns of all packs, prepared for a language when its first text is read."""

    def __init__(self, signals: Mapping[str, Signal]) -> None:
        self._signals = signals
        self._layers: dict[str, list[Layer]] = defaultdict(list)
        self._ready: dict[str, PreparedPacks] = {}
        self._texts: dict[str, Texts] = {}

    def add(self, pack: Pack, key: str, folder: Path) -> None:
        self._layers[pack.language].append((pack, key, folder))

    def lists_below(self, language: str) -> list[dict[str, tuple[str, ...]]]:
        """The word lists of every pack under the topmost one: a list that is replaced still serves the rules below."""
        return [pack.lists for pack, _, _ in self._layers[language][:-1]]

    def as_bundled(self, language: str) -> Language | None:
        """How the text of a language falls into words by the bundled pack."""
        layers = self._layers.get(language, ())
        return next((pack.spoken for pack, _, folder in layers if folder.parent == PACKS), None)

    def texts(self, language: str) -> Texts:
        """What the packs of a language say, a higher one in place of those below it."""
        if language not in self._texts:
            texts = Texts()
            for _, _, folder in self._layers.get(language, ()):
                texts = load_texts(folder).on_top_of(texts)
            self._texts[language] = texts
        return self._texts[language]

    def of(self, language: str) -> Mapping[str, PreparedPattern]:
        """Every pattern of a language by its source; one that a lower pack has too keeps that pack's word lists."""
        return self._prepared(language).patterns

    def program(self, language: str) -> Program:
        """All rules of a language for the compiled reader, those too that a set of rules leaves out."""
        return self._prepared(language).program

    def _prepared(self, language: str) -> "PreparedPacks":
        if language not in self._ready:
            layers = self._layers[language]
            keys = (language, *(key for _, key, _ in layers))
            self._ready[language] = _shared.setdefault(keys, PreparedPacks(layers, self._signals))
        return self._ready[language]


class PreparedPacks:
    """The packs of one language, made ready; rule sets with the same packs share them, as they weigh 25 MB each."""

    def __init__(self, layers: Sequence["Layer"], signals: Mapping[str, Signal]) -> None:
        self._layers = layers
        self._signals = signals

    @cached_property
    def patterns(self) -> Mapping[str, PreparedPattern]:
        ready: dict[str, PreparedPattern] = {}
        for pack, key, folder in self._layers:
            new = cached_patterns(key, partial(self._prepared, pack, folder, frozenset(ready)))
            ready = new | ready
        return ready

    @cached_property
    def program(self) -> Program:
        keys = "".join(key for _, key, _ in self._layers)
        return cached_program(hashlib.sha256(keys.encode()).hexdigest()[:32], self._program)

    def _program(self) -> Program:
        pack: Pack | None = None
        lists_of: dict[str, WordLists] = {}
        for layer, _, _ in self._layers:
            pack = _on_top(pack, layer)
            lists = WordLists(layer.lists)
            lists_of = dict.fromkeys(layer.patterns(), lists) | lists_of
        assert pack is not None
        matcher = Matcher(pack.rules, pack.guards, self.patterns, spaced=pack.spoken.spaced)
        return program(pack.spoken, matcher, lists_of)

    def _prepared(self, pack: Pack, folder: Path, known: frozenset[str]) -> dict[str, PreparedPattern]:
        lists = WordLists(pack.lists)
        finder = required_words_finder(pack.spoken, pack.detection.words[:COMMON])
        try:
            return {
                source: prepare(source, pack.spoken, lists, finder)
                for source in dict.fromkeys(pack.patterns())
                if source not in known
            }
        except PatternError:
            load_pack(folder, self._signals)  # a trusted pack with a bad pattern after all: says where it is
            raise


Layer = tuple[Pack, str, Path]  # a pack, the key of what its patterns depend on, and its folder
_shared: WeakValueDictionary[tuple[str, ...], PreparedPacks] = WeakValueDictionary()


def _spoken(message: Message) -> str:
    return message.text if message.where == "user" else prose(message.text, message.answers)


def load_rules(
    signals: Mapping[str, Signal],
    folders: Iterable[str | Path] = (),
    disabled: Iterable[str] = (),
    also: Also | None = None,
    learned: Any = None,
) -> RuleSet:
    """The bundled packs, then `folders` in order (a rule of the same id replaces the earlier one), less `disabled`.

    `also` tells what checks decide by beside the rules, such as thresholds; it becomes part of the hash.
    """
    packs: dict[str, Pack] = {}
    patterns = PatternStore(signals)
    key = ""
    for root in (PACKS, *map(Path, folders)):
        below, key_below = dict(packs), key
        for folder in language_folders(root):
            load = partial(load_pack, folder, signals, below, trusted=root == PACKS)
            pack, own_key = cached_pack(folder, key_below, signals, load)
            packs[pack.language] = _on_top(packs.get(pack.language), pack)
            patterns.add(pack, own_key, folder)
            key = hashlib.sha256(f"{key}{own_key}".encode()).hexdigest()
    return RuleSet(_without(list(packs.values()), set(disabled)), signals, patterns, also, learned)


def bundled_languages() -> list[str]:
    """The languages of the packs that are bundled with the package."""
    return [folder.name for folder in language_folders(PACKS)]


def _on_top(below: Pack | None, pack: Pack) -> Pack:
    if below is None:
        return pack
    rules = {rule.id: rule for rule in (*below.rules, *pack.rules)}
    inherited = ("guards", "lists", "detection", "spoken")  # by the loader
    return msgspec.structs.replace(
        below, rules=tuple(rules.values()), **{name: getattr(pack, name) for name in inherited}
    )


def _without(packs: list[Pack], disabled: set[str]) -> list[Pack]:
    known = {rule.id for pack in packs for rule in pack.rules}
    for name in sorted(disabled - known):
        raise OptionError(f"no rule is called '{name}', so it cannot be disabled", hint=did_you_mean(name, known))
    return [
        msgspec.structs.replace(pack, rules=tuple(rule for rule in pack.rules if rule.id not in disabled))
        for pack in packs
    ]
