"""Loads packs: one folder per language, any number of YAML files in it.

    pack.yaml       the manifest: language, name, version, licence, sources, how its text falls into words
    texts.yaml      texts in the language: feedback, absences, notices; read when it is needed
    *.yaml          slots, lists, guards, defaults per signal, and rules, each with its proof

A pack whose manifest says `written_in: phrases` has phrases (`phrases.py`) wherever words are looked for; one without
has patterns (`syntax.py`), except under `phrases` and `slots`. Among phrases, a pattern stands between slashes.

A pack is checked in full before anything is evaluated.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from synthesis.documents import Field, read_yaml
from synthesis.errors import Place, RuleError, did_you_mean
from synthesis.lazy import regex
from synthesis.model.texts import Advice, Texts
from synthesis.rules.detection import read_detection
from synthesis.rules.pattern import checked
from synthesis.rules.phrases import pattern_of, patterns_of
from synthesis.rules.schema import (
    FORMS,
    RULE_SEVERITIES,
    DetectionWords,
    GuardRule,
    Pack,
    Rule,
    SentenceRule,
    Signal,
    Wording,
    signal_of,
)
from synthesis.rules.syntax import PatternError, WordLists
from synthesis.rules.text import FACTS, MANIFEST, read_language

TEXTS = "texts.yaml"
TABLES = "checks"  # the folder of tables in a folder of packs
_ID = regex(r"[a-z_]+\.[a-z_]+\.[a-z0-9-]+")
_GUARD_PATTERNS = ("before", "after", "sentence")
_SENTENCE_PATTERNS = ("starts", "has", "also", "lacks")
_RULE_FIELDS = (
    *("id", "group", "why", "instead", "phrases", "pattern", "patterns", "slots", "sentence", "list_items", "label"),
    *("guards", "except", "match", "miss", "severity", "rare"),
)
_RENAMED = {"unless": "except"}
PATTERNS, PHRASES = "patterns", "phrases"  # what a pack is written in
_SECTIONS = ("slots", "lists", "guards", "defaults", "rules")
T = TypeVar("T")
Sections = Sequence[tuple[Mapping[str, Field], str]]  # of each file, with its name


def load_pack(
    folder: Path, signals: Mapping[str, Signal], below: Mapping[str, Pack] | None = None, *, trusted: bool = False
) -> Pack:
    """The pack in one language folder; it may use the lists and guards of the pack of its language in `below`.

    The patterns of a `trusted` pack, which tests prove, are not checked until they are needed: that takes seconds.
    """
    manifest = _manifest(folder)
    language = manifest["language"].text()
    inherited = (below or {}).get(language)
    sections = [(read_yaml(path).mapping(_SECTIONS), str(path)) for path in pack_files(folder)]
    lists = dict(inherited.lists) if inherited else {}
    lists.update(_lists(sections, frozenset(lists)))
    written_in = manifest["written_in"].one_of((PATTERNS, PHRASES)) if "written_in" in manifest else PATTERNS
    checker = _PatternChecker(lists, inherited.patterns() if inherited else (), written_in, trusted=trusted)
    guards = dict(inherited.guards) if inherited else {}
    guards.update((name, _guard(field, name, checker)) for name, field in _entries_of_all(sections, "guards"))
    reader = _RuleReader(language, signals, guards, checker)
    return Pack(
        language=language,
        name=manifest["name"].text(),
        version=manifest["version"].text(),
        licence=manifest["licence"].text(),
        sources=_optional(manifest, "sources", Field.texts, ()),
        rules=tuple(rule for section, file in sections for rule in reader.rules(section, file)),
        guards=guards,
        lists=lists,
        detection=read_detection(manifest.get("detection"), inherited),
        spoken=read_language(manifest, inherited.spoken if inherited else None),
        absent={concept: reason.text() for concept, reason in _entries(manifest, "absent")},
    )


def detection_words(folder: Path) -> DetectionWords:
    """The words by which the language of a pack is known, without reading the rest of it."""
    return read_detection(_manifest(folder).get("detection"), None)


def pack_files(folder: Path) -> list[Path]:
    """The files of a pack that hold rules, in the order in which they are read."""
    return sorted(path for path in folder.glob("*.yaml") if path.name not in (MANIFEST, TEXTS))


def load_texts(folder: Path) -> Texts:
    """What a pack says in its language; a pack need not say anything."""
    if not (folder / TEXTS).is_file():
        return Texts()
    root = read_yaml(folder / TEXTS).mapping(("feedback", "absences", "notices"))
    feedback = root["feedback"].mapping(("lead", "checks")) if "feedback" in root else {}
    return Texts(
        lead=_optional(feedback, "lead", Field.text, ""),
        feedback={check: sentence.text() for check, sentence in _entries(feedback, "checks")},
        absences={
            (check, name): _absence(field)
            for check, names in _entries(root, "absences")
            for name, field in names.mapping().items()
        },
        notices=tuple(map(_notice, root["notices"].items())) if "notices" in root else (),
    )


def _absence(field: Field) -> Advice:
    entries = field.mapping(("missing", "better"))
    for required in ("missing", "better"):
        if required not in entries:
            field.fail(f"an absence needs '{required}'")
    return Advice(entries["missing"].text(), entries["better"].text())


def _notice(field: Field) -> str:
    try:
        re.compile(field.text())
    except re.error as error:
        field.fail(f"is not a regular expression: {error}")
    return field.text()


def _manifest(folder: Path) -> dict[str, Field]:
    root = read_yaml(folder / MANIFEST)
    known = ("language", "name", "version", "licence", "sources", "written_in", "detection", "absent", *FACTS)
    manifest = root.mapping(known)
    for field in ("language", "name", "version", "licence"):
        if field not in manifest:
            root.fail(f"the manifest lacks '{field}'")
    return manifest


def _entries(section: Mapping[str, Field], key: str) -> Iterable[tuple[str, Field]]:
    """The names and values of a mapping that may be absent."""
    return section[key].mapping().items() if key in section else ()


def _entries_of_all(sections: Sections, key: str) -> Iterator[tuple[str, Field]]:
    """The entries of all files of a pack. They share their names, so one that comes twice would hide the other."""
    files: dict[str, str] = {}
    for section, file in sections:
        for name, field in _entries(section, key):
            if name in files:
                field.fail(f"'{name}' is also among the {key} of {Path(files[name]).name}: rename one of them")
            files[name] = file
            yield name, field


def _lists(sections: Sections, below: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """The words of each list and slot, as patterns; those of one rule under a name that begins with its id."""
    found = {name: words.texts() for name, words in _entries_of_all(sections, "lists")}
    slots = {name: ("", words) for name, words in _entries_of_all(sections, "slots")}
    for section, _ in sections:
        for rule in section["rules"].items() if "rules" in section else ():
            entries = rule.mapping()
            if "slots" in entries and "id" in entries:
                own = own_slots(entries["id"].text())
                slots.update((f"{own}{name}", (own, words)) for name, words in _entries(entries, "slots"))
    names = {*below, *found, *slots}
    for name, (own, words) in slots.items():
        found[name] = tuple(pattern for _, pattern in _translated(words, names, own))
    return found


def own_slots(rule_id: str) -> str:
    """What the names of a rule's own slots begin with."""
    return f"{rule_id}/"


def _each(field: Field) -> Iterable[Field]:
    return field.items() if field.is_list() else (field,)


def _translated(field: Field, slots: Collection[str], own: str) -> Iterator[tuple[Field, str]]:
    """The patterns that phrases stand for: those of a list, or of one text with bars between them."""
    if not field.is_list():
        yield from ((field, pattern) for pattern in _read_phrase(field, partial(patterns_of, slots=slots, own=own)))
        return
    yield from ((item, _one_phrase(item, slots, own)) for item in field.items())


def _one_phrase(field: Field, slots: Collection[str], own: str) -> str:
    (pattern,) = _read_phrase(field, lambda said: [pattern_of(said, slots, own)])
    return pattern


def _read_phrase(field: Field, read: Callable[[str], list[str]]) -> list[str]:
    """What is between slashes is a pattern already."""
    said = field.text()
    if len(said) > 2 and said[0] == said[-1] == "/":
        return [said[1:-1]]
    try:
        return read(said)
    except PatternError as error:
        message = f"the phrase cannot be used: {error.message}"
        field.fail(message, column=error.column + field.quote_width, hint=f"In: {said}")


def _guard(field: Field, name: str, checker: "_PatternChecker", own: str = "") -> GuardRule:
    entries = field.mapping(("why", *_GUARD_PATTERNS, "quoted"))
    patterns = {key: checker.take(entries[key], own) for key in _GUARD_PATTERNS if key in entries}
    quoted = "quoted" in entries and entries["quoted"].boolean()
    if not patterns and not quoted:
        field.fail("a guard needs at least one of: before, after, sentence, quoted")
    return GuardRule(name=name, why=_optional(entries, "why", Field.text, ""), quoted=quoted, **patterns)


class _PatternChecker:
    """Checks every pattern once, and reports a bad one at its place in the file."""

    def __init__(
        self, lists: Mapping[str, Sequence[str]], seen: Iterable[str], written_in: str, *, trusted: bool
    ) -> None:
        self._slots = lists
        self._lists = WordLists(lists)
        self._seen = set(seen)
        self._written_in = written_in
        self._trusted = trusted

    def take(self, field: Field, own: str = "") -> tuple[str, ...]:
        """The patterns of a list, or the only one; several phrases may be one text."""
        if self._written_in == PATTERNS:
            return tuple(self.pattern(item) for item in _each(field))
        return tuple(self._checked(pattern, item) for item, pattern in _translated(field, self._slots, own))

    def pattern(self, item: Field) -> str:
        return self._checked(item.text(), item)

    def phrase(self, item: Field, own: str) -> str:
        """The pattern that one phrase stands for."""
        return self._checked(_one_phrase(item, self._slots, own), item)

    def _checked(self, source: str, item: Field) -> str:
        if not self._trusted and source not in self._seen:
            self._seen.add(source)
            self._check(source, item)
        return source

    def _check(self, source: str, item: Field) -> None:
        try:
            checked(source, self._lists)
        except PatternError as error:
            kind, column = ("pattern", error.column) if source in item.text() else ("phrase", 1)
            message = f"the {kind} cannot be used: {error.message}"
            item.fail(message, column=column + item.quote_width, hint=f"In: {item.text()}")


class _RuleReader:
    """Reads the rules of one language, with the signals, guards and lists that they may name."""

    def __init__(
        self,
        language: str,
        signals: Mapping[str, Signal],
        guards: Mapping[str, GuardRule],
        checker: _PatternChecker,
    ) -> None:
        self.language = language
        self._signals = signals
        self._guards = guards
        self._checker = checker
        self._seen: dict[str, str] = {}

    def rules(self, section: Mapping[str, Field], file: str) -> list[Rule]:
        if "rules" not in section:
            return []
        defaults = self._defaults(section)
        return [self._rule(field, file, defaults) for field in section["rules"].items()]

    def _defaults(self, section: Mapping[str, Field]) -> dict[str, tuple[str, ...]]:
        """Guards that every rule of a signal has in this file."""
        if "defaults" not in section:
            return {}
        entries = section["defaults"].mapping()
        for signal, field in entries.items():
            if signal not in self._signals:
                field.fail(f"no check knows the signal '{signal}'", hint=did_you_mean(signal, self._signals))
        return {signal: self._guard_names(field.mapping(("guards",))["guards"]) for signal, field in entries.items()}

    def _guard_names(self, field: Field) -> tuple[str, ...]:
        for name in field.texts():
            if name not in self._guards:
                field.fail(f"no guard is called '{name}'", hint=did_you_mean(name, self._guards))
        return field.texts()

    def _rule(self, field: Field, file: str, defaults: Mapping[str, tuple[str, ...]]) -> Rule:
        entries = field.mapping(_RULE_FIELDS, _RENAMED)
        for required in ("id", "group", "why", "instead"):
            if required not in entries:
                field.fail(f"a rule needs '{required}'")
        rule_id = self._id(entries["id"], file)
        signal = signal_of(rule_id)
        slots = own_slots(rule_id)
        wordings, sentence = self._what(field, entries, slots)
        own = self._guard_names(entries["guards"]) if "guards" in entries else ()
        return Rule(
            id=rule_id,
            language=self.language,
            group=entries["group"].text(),
            why=_texts_by_language(entries["why"]),
            instead=_texts_by_language(entries["instead"]),
            patterns=tuple(wording.pattern for wording in wordings),
            wordings=wordings,
            sentence=sentence,
            list_items=_optional(entries, "list_items", Field.whole_number, 0),
            label=_optional(entries, "label", Field.text, ""),
            guards=tuple(dict.fromkeys((*defaults.get(signal, ()), *own))),
            exception=_guard(entries["except"], rule_id, self._checker, slots) if "except" in entries else None,
            match=tuple(dict.fromkeys((*filter(None, (each.proof for each in wordings)), *_texts(entries, "match")))),
            miss=_texts(entries, "miss"),
            severity=_optional(entries, "severity", lambda value: value.one_of(RULE_SEVERITIES), "fail"),
            rare=_optional(entries, "rare", Field.text, ""),
            file=file,
            line=field.line,
        )

    def _id(self, field: Field, file: str) -> str:
        rule_id = field.text()
        if not _ID.fullmatch(rule_id):
            field.fail(
                f"'{rule_id}' is not a rule id", hint="An id reads check.signal.name: agency.negative.you-should"
            )
        signal = signal_of(rule_id)
        if signal not in self._signals:
            field.fail(f"no check knows the signal '{signal}'", hint=did_you_mean(signal, self._signals))
        here = f"{file}:{field.line}"
        if rule_id in self._seen:
            field.fail(f"the id '{rule_id}' appears twice; first at {self._seen[rule_id]}")
        self._seen[rule_id] = here
        return rule_id

    def _what(
        self, field: Field, entries: Mapping[str, Field], own: str
    ) -> tuple[tuple[Wording, ...], SentenceRule | None]:
        wordings = tuple(
            Wording(said.text(), self._pattern(key, said, own), proof.text() if proof else "")
            for key in (PHRASES, "pattern", PATTERNS)
            if key in entries
            for said, proof in _with_proofs(entries[key])
        )
        sentence = self._sentence(entries["sentence"], own) if "sentence" in entries else None
        if not wordings and sentence is None and "list_items" not in entries:
            field.fail("a rule needs 'phrases', 'patterns', 'sentence' or 'list_items'")
        if not wordings and "label" not in entries:
            field.fail("a rule without phrases needs a 'label': its one-line form, as in 'question: to the user'")
        return wordings, sentence

    def _pattern(self, key: str, said: Field, own: str) -> str:
        return self._checker.phrase(said, own) if key == PHRASES else self._checker.pattern(said)

    def _sentence(self, field: Field, own: str) -> SentenceRule:
        entries = field.mapping(("form", *_SENTENCE_PATTERNS))
        form = entries["form"].one_of(FORMS) if "form" in entries else "any"
        patterns = {key: self._checker.take(entries[key], own) for key in _SENTENCE_PATTERNS if key in entries}
        if not patterns.get("starts") and not patterns.get("has"):
            field.fail("a sentence rule needs 'starts' or 'has': a form alone says too little")
        return SentenceRule(form=form, **patterns)


def _with_proofs(field: Field) -> Iterator[tuple[Field, Field | None]]:
    """Each wording with the example beside it, if there is one."""
    if field.is_mapping():
        yield from field.pairs()
    else:
        yield from ((said, None) for said in _each(field))


def _texts_by_language(field: Field) -> dict[str, str]:
    if not field.is_mapping():
        return {"en": field.text()}
    texts = {language: text.text() for language, text in field.mapping().items()}
    if "en" not in texts:
        field.fail("an English text is needed (en: ...)")
    return texts


def _texts(entries: Mapping[str, Field], key: str) -> tuple[str, ...]:
    return entries[key].texts() if key in entries else ()


def _optional(entries: Mapping[str, Field], key: str, read: Callable[[Field], T], default: T) -> T:
    return read(entries[key]) if key in entries else default


def require_folder(root: Path) -> None:
    if not root.is_dir():
        raise RuleError(
            "is not a folder of rules", place=Place(str(root)), hint="Give a folder with a pack.yaml in it."
        )


def language_folders(root: Path) -> list[Path]:
    """The language folders of a directory of packs; a directory with a manifest is one itself."""
    require_folder(root)
    if (root / MANIFEST).is_file():
        return [root]
    folders = sorted(path.parent for path in root.glob(f"*/{MANIFEST}"))
    if not folders and not (root / TABLES).is_dir():
        raise RuleError(
            "contains no pack",
            place=Place(str(root)),
            hint=f"A pack is a folder with a {MANIFEST} (language, name, ...).",
        )
    return folders
