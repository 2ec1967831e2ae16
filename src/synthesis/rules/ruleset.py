"""All rules in force: the bundled packs, the user's own on top, less those that are disabled."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from synthesis.garbage import without_collection
from synthesis.io import PACKS
from synthesis.model.texts import Texts
from synthesis.rules.cache import (
    cached_detection,
    cached_image,
    cached_index,
    cached_pack,
    cached_patterns,
    cached_texts,
    cached_words,
    pack_key,
    stack_key,
)
from synthesis.rules.detection import Detected, Detector, neighbours
from synthesis.rules.loader import language_folders, load_pack, load_texts
from synthesis.rules.matcher import Matcher, PythonReader
from synthesis.rules.native.library import Library, library
from synthesis.rules.native.program import DetectionProgram, Image, Program, program
from synthesis.rules.native.reader import NativeReader, Sides, image_of
from synthesis.rules.pattern import PreparedPattern, prepare, required_words_finder
from synthesis.rules.prose import prose
from synthesis.rules.reading import Message, Reader, Reading
from synthesis.rules.schema import Pack, Rule, Signal, deciding_part, signal_of
from synthesis.rules.stack import Index, KnownWords, Layer, Packs, on_top, require_rules, stacked, without
from synthesis.rules.syntax import PatternError, WordLists
from synthesis.rules.text import UNDETERMINED, Language, language_of
from synthesis.settings import AUTHORED

_encode = msgspec.json.Encoder(order="deterministic").encode
Also = Callable[[Mapping[str, Language]], Mapping[str, object]]
_SIDES = ("user", "assistant")
COMMON = 250  # words of a pack's list for detection, which begins with the most common ones: poor keys for patterns


class RuleSet:
    """Rules by language, ready to be matched against either side of a conversation."""

    def __init__(
        self,
        packs: Sequence[Pack] | Packs,
        signals: Mapping[str, Signal],
        patterns: "PatternStore",
        also: Also | None = None,
        learned: Any = None,
        index: Index | None = None,
    ) -> None:
        self.packs: Mapping[str, Pack] = packs if isinstance(packs, Packs) else {pack.language: pack for pack in packs}
        self._index = index  # what is known of the packs before they are read; None: they have to be asked
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
        packs = Packs({language: partial(_with_signals, self.packs, language, names) for language in self.packs})
        index = self._index.with_signals(names) if self._index else None
        return RuleSet(packs, self._signals, self._patterns, self._also, self.learned, index)

    def arranged(self, change: Callable[[Pack], Pack], name: str) -> "RuleSet":
        """Every pack of every language changed, under a name for what is kept of it."""
        store = self._patterns.arranged(change, name)
        return RuleSet(store.packs(), self._signals, store)

    @property
    def learned_rules(self) -> list[Rule]:
        """What the learned reader finds, told like rules: of every language (""), and without patterns."""
        return [] if self.learned is None else list(self.learned.rules)

    def language(self, code: str) -> Language:
        """How the text of a language falls into words and sentences."""
        return self._spoken[code] if code in self._spoken else language_of(code)

    @cached_property
    def _spoken(self) -> Mapping[str, Language]:
        return self._index.spoken if self._index else {code: pack.spoken for code, pack in self.packs.items()}

    def texts(self, language: str) -> Texts:
        """The texts of a language; empty where no pack has any."""
        return self._patterns.texts(language)

    @cached_property
    def detector(self) -> Detector:
        """Tells in which of the packs' languages a text is."""
        known = cached_words(self._index.key, self._known_words) if self._index else self._known_words()
        return Detector(known.ours, known.neighbours)

    def _known_words(self) -> KnownWords:
        return KnownWords({language: pack.detection for language, pack in self.packs.items()}, neighbours())

    @property
    def detection(self) -> DetectionProgram:
        """What the compiled reader tells languages apart by; the detector in Python is made only where it is asked."""
        if self._index is None:
            return DetectionProgram.of(self.detector)
        return cached_detection(self._index.key, lambda: DetectionProgram.of(self.detector))

    @cached_property
    def rules(self) -> list[Rule]:
        """Every rule, by language and id."""
        return sorted((rule for pack in self.packs.values() for rule in pack.rules), key=lambda r: (r.language, r.id))

    @property
    def count(self) -> int:
        """How many rules there are."""
        known = self._index.count if self._index else None
        return len(self.rules) if known is None else known

    @cached_property
    def covered(self) -> frozenset[tuple[str, str]]:
        """Each language with each signal that it has a rule for."""
        if self._index:
            return self._index.covered
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
        return self.native or PythonReader(self)

    @cached_property
    def native(self) -> NativeReader | None:
        """The compiled reader, where there is one."""
        compiled = library()
        return NativeReader(self, compiled) if compiled else None

    def image(self, language: str) -> Image:
        """What the compiled library runs for a language."""
        return self._patterns.image(language)

    def language_of(self, message: Message) -> tuple[Language, str]:
        """The language in which a message is read, and how that was decided."""
        code, how = message.language or self.detector.detect(message.text)
        return self.language(code if code in self._spoken else UNDETERMINED), how

    def wanted(self, language: str, where: str, signals: frozenset[str] | None) -> list[Rule]:
        """The rules for one side and some signals (None: all)."""
        return [rule for rule in self.packs[language].rules if self._is_wanted(rule, where, signals)]

    def _is_wanted(self, rule: Rule, where: str, signals: frozenset[str] | None) -> bool:
        return self._signals[rule.signal].where == where and (signals is None or rule.signal in signals)

    @cached_property
    def hash(self) -> str:
        """Changes when, and only when, something changes that can change a verdict."""
        if self._index and self._index.hash is not None:
            return self._index.hash
        in_use = {rule.signal for rule in self.rules}
        spoken = self._spoken
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
        return hashlib.sha256(_encode(content)).hexdigest()[:16]


class PatternStore:
    """The patterns of all packs, prepared for a language when its first text is read."""

    def __init__(self, signals: Mapping[str, Signal]) -> None:
        self._signals = signals
        self._layers: dict[str, list[Layer]] = defaultdict(list)
        self._ready: dict[str, PreparedPacks] = {}
        self._texts: dict[str, Texts] = {}

    def add(self, pack: Pack, key: str, folder: Path) -> None:
        self.add_layer(pack.language, Layer(key, folder, lambda: pack))

    def add_layer(self, language: str, layer: Layer) -> None:
        self._layers[language].append(layer)

    def arranged(self, change: Callable[[Pack], Pack], name: str) -> "PatternStore":
        """The same layers with other packs."""
        store = PatternStore(self._signals)
        for language, layers in self._layers.items():
            for layer in layers:
                store.add_layer(language, layer.changed(change, name))
        return store

    def packs(self, disabled: Collection[str] = ()) -> Packs:
        """The packs of each language on top of each other, less the rules that are disabled."""
        return Packs({language: partial(_as_one, layers, disabled) for language, layers in self._layers.items()})

    def lists_below(self, language: str) -> list[dict[str, tuple[str, ...]]]:
        """The word lists of every pack under the topmost one: a list that is replaced still serves the rules below."""
        return [layer.pack.lists for layer in self._layers[language][:-1]]

    def as_bundled(self, language: str) -> Language | None:
        """How the text of a language falls into words by the bundled pack."""
        layers = self._layers.get(language, ())
        return next((layer.pack.spoken for layer in layers if layer.folder.parent == PACKS), None)

    def texts(self, language: str) -> Texts:
        """What the packs of a language say, a higher one in place of those below it."""
        if language not in self._texts:
            texts = Texts()
            for layer in self._layers.get(language, ()):
                texts = cached_texts(layer.folder, partial(load_texts, layer.folder)).on_top_of(texts)
            self._texts[language] = texts
        return self._texts[language]

    def of(self, language: str) -> Mapping[str, PreparedPattern]:
        """Every pattern of a language by its source; one that a lower pack has too keeps that pack's word lists."""
        return self._prepared(language).patterns

    def image(self, language: str) -> Image:
        """All rules of a language for the compiled library, those too that a set of rules leaves out."""
        return self._prepared(language).image

    def _prepared(self, language: str) -> "PreparedPacks":
        if language not in self._ready:
            layers = self._layers[language]
            keys = (language, *(layer.key for layer in layers), *sorted(self._signals))
            self._ready[language] = _shared.setdefault(keys, PreparedPacks(layers, self._signals))
        return self._ready[language]


class PreparedPacks:
    """The packs of one language, made ready; rule sets with the same packs share them, as they weigh 25 MB each."""

    def __init__(self, layers: Sequence[Layer], signals: Mapping[str, Signal]) -> None:
        self._layers = layers
        self._signals = signals

    @cached_property
    def patterns(self) -> Mapping[str, PreparedPattern]:
        ready: dict[str, PreparedPattern] = {}
        for layer in self._layers:
            new = cached_patterns(layer.key, partial(self._prepared, layer, frozenset(ready)))
            ready = new | ready
        return ready

    @cached_property
    def image(self) -> Image:
        compiled = library()
        assert compiled, "only the compiled library asks for it"
        sides = sorted((name, signal.where, signal.profile) for name, signal in self._signals.items())
        keys = "".join([*(layer.key for layer in self._layers), f"{compiled.build}{sides}"])
        return cached_image(hashlib.sha256(keys.encode()).hexdigest()[:32], partial(self._image, compiled))

    def _image(self, compiled: Library) -> Image:
        program = self._program()
        signals = {rule: self._signals[signal_of(rule)] for rule in program.rules}
        messages, replies = ({rule for rule, signal in signals.items() if signal.where == side} for side in _SIDES)
        authored = {rule for rule in messages if signals[rule].profile in {"", AUTHORED}}
        return image_of(compiled, program, Sides(messages, replies, authored))

    def _program(self) -> Program:
        pack: Pack | None = None
        lists_of: dict[str, WordLists] = {}
        for layer in self._layers:
            pack = on_top(pack, layer.pack)
            lists = WordLists(layer.pack.lists)
            lists_of = dict.fromkeys(layer.pack.patterns(), lists) | lists_of
        assert pack is not None
        matcher = Matcher(pack.rules, pack.guards, self.patterns, spaced=pack.spoken.spaced)
        return program(pack.spoken, matcher, lists_of)

    def _prepared(self, layer: Layer, known: frozenset[str]) -> dict[str, PreparedPattern]:
        pack = layer.pack
        lists = WordLists(pack.lists)
        finder = required_words_finder(pack.spoken, pack.detection.words[:COMMON])
        try:
            return {
                source: prepare(source, pack.spoken, lists, finder)
                for source in dict.fromkeys(pack.patterns())
                if source not in known
            }
        except PatternError:
            load_pack(layer.folder, self._signals)  # a trusted pack with a bad pattern after all: says where it is
            raise


_shared: WeakValueDictionary[tuple[str, ...], PreparedPacks] = WeakValueDictionary()


def _spoken(message: Message) -> str:
    return message.text if message.where == "user" else prose(message.text, message.answers)


def _with_signals(packs: Mapping[str, Pack], language: str, names: Collection[str]) -> Pack:
    pack = packs[language]
    return msgspec.structs.replace(pack, rules=tuple(rule for rule in pack.rules if rule.signal in names))


def _as_one(layers: Sequence[Layer], disabled: Collection[str]) -> Pack:
    (pack,) = stacked(layers).values()
    return without(pack, disabled)


@without_collection()
def load_rules(
    signals: Mapping[str, Signal],
    folders: Iterable[str | Path] = (),
    disabled: Iterable[str] = (),
    also: Also | None = None,
    learned: Any = None,
    also_code: str = "",
) -> RuleSet:
    """The bundled packs, then `folders` in order (a rule of the same id replaces the earlier one), less `disabled`.

    `also` tells what checks decide by beside the rules, such as thresholds; it becomes part of the hash. `also_code`
    stands for its code.
    """
    layers, top = _layers(signals, folders)
    disabled = frozenset(disabled)
    # Of the languages `also` can say nothing that their packs and its code do not decide.
    beside = _encode(also({}) if also else {})
    key = stack_key(top, _encode(signals), _encode(sorted(disabled)), beside, also_code.encode())

    def make() -> Index:
        """All packs are read, and checked, before anything is evaluated by them."""
        languages = tuple(layer.pack.language for layer in layers)
        store = _store(signals, languages, layers)
        require_rules(store.packs().values(), disabled)
        return _index_of(RuleSet(store.packs(disabled), signals, store, also), key, languages)

    index = cached_index(key, make)
    store = _store(signals, index.languages, layers)
    return RuleSet(store.packs(disabled), signals, store, also, learned, index)


def _layers(signals: Mapping[str, Signal], folders: Iterable[str | Path]) -> tuple[list[Layer], str]:
    """The packs from the lowest to the highest, none of them read, and the key of all of them."""
    layers: list[Layer] = []
    key = ""
    for root in (PACKS, *map(Path, folders)):
        below, key_below = tuple(layers), key
        for folder in language_folders(root):
            own_key = pack_key(folder, key_below)
            load = partial(_load, folder, own_key, signals, below, trusted=root == PACKS)
            layers.append(Layer(own_key, folder, load))
            key = hashlib.sha256(f"{key}{own_key}".encode()).hexdigest()
    return layers, key


def _load(folder: Path, key: str, signals: Mapping[str, Signal], below: Sequence[Layer], *, trusted: bool) -> Pack:
    return cached_pack(folder, key, signals, lambda: load_pack(folder, signals, stacked(below), trusted=trusted))


def _store(signals: Mapping[str, Signal], languages: Iterable[str], layers: Iterable[Layer]) -> PatternStore:
    store = PatternStore(signals)
    for language, layer in zip(languages, layers, strict=True):
        store.add_layer(language, layer)
    return store


def _index_of(rules: RuleSet, key: str, languages: tuple[str, ...]) -> Index:
    return Index(
        key=key,
        languages=languages,
        spoken={code: pack.spoken for code, pack in rules.packs.items()},
        covered=rules.covered,
        count=rules.count,
        hash=rules.hash,
    )


def bundled_languages() -> list[str]:
    """The languages of the packs that are bundled with the package."""
    return [folder.name for folder in language_folders(PACKS)]
