"""The rules of a language as a program: flat arrays, which the native reader checks once when it loads them.

They are made from what the Python matcher prepares, so that both makers follow from the same preparation.
"""

from collections.abc import Iterable, Mapping

import msgspec

from synthesis.rules.conditions import FEW, REACH, SLACK, PreparedGuard, PreparedSentence
from synthesis.rules.index import members
from synthesis.rules.language import Language
from synthesis.rules.matcher import Matcher, PreparedRule
from synthesis.rules.native.code import CodeWriter
from synthesis.rules.native.sections import Sections
from synthesis.rules.required_words import MOST_SETS, STEM
from synthesis.rules.schema import FORMS
from synthesis.rules.syntax import WordLists, parse

MAGIC, FORMAT = 0x53594E50, 2
NO_CODE = 0  # in place of where a pattern begins, which is counted from 1


class Program(msgspec.Struct, frozen=True):
    """What the native reader runs, and what the numbers in its answers mean."""

    numbers: bytes
    rules: list[str]  # ids
    wordings: list[str]  # sources of patterns; empty for a sentence rule


def program(language: Language, matcher: Matcher, lists_of: Mapping[str, WordLists]) -> Program:
    """The program of all rules of a language; `lists_of` says with which lists each pattern was prepared."""
    writer = CodeWriter(language)
    index = matcher.index
    numbers = range(len(index.required))
    places: list[int] = []
    for number in numbers:
        if number in index.patterns:
            pattern = index.patterns[number]
            lists = lists_of[pattern.source]
            places += (writer.pattern(parse(pattern.source, lists), lists.is_list) + 1, pattern.longest)
        else:
            places += (NO_CODE, 0)
    sections = Sections(MAGIC, FORMAT)
    sections.add([language.spaced, REACH, SLACK, FEW, STEM, MOST_SETS])
    sections.add_texts(sorted(language.abbreviations))
    writer.finish(sections)
    sections.add(places)
    _add_required(sections, index.required)
    guards = {id(guard): number for number, guard in enumerate(matcher.guards.values())}
    sections.add([number for guard in matcher.guards.values() for number in _guard(guard)])
    sections.add(list(_rules(matcher.rules, guards)))
    return Program(
        sections.to_bytes(),
        [rule.rule.id for rule in matcher.rules],
        [index.patterns[number].source if number in index.patterns else "" for number in numbers],
    )


def _add_required(sections: Sections, required: Iterable[tuple[tuple[str, ...], ...]]) -> None:
    texts: dict[str, int] = {}
    numbers: list[int] = []
    for sets in required:
        numbers.append(len(sets))
        for words in sets:
            numbers += (len(words), *(texts.setdefault(word, len(texts)) for word in words))
    sections.add_texts(texts)
    sections.add(numbers)


def _counted(numbers: list[int]) -> Iterable[int]:
    return len(numbers), *numbers


def _guard(guard: PreparedGuard) -> Iterable[int]:
    yield guard.quoted
    for patterns in (guard.before, guard.after, guard.sentence):
        yield from _counted(members(patterns))


def _rules(rules: list[PreparedRule], guards: Mapping[int, int]) -> Iterable[int]:
    ranks = {rule_id: rank for rank, rule_id in enumerate(sorted(rule.rule.id for rule in rules))}
    for rule in rules:
        yield ranks[rule.rule.id]
        yield rule.rule.list_items
        yield from _counted(rule.patterns)
        yield from _counted([guards[id(guard)] for guard in rule.guards])
        yield rule.sentence is not None
        if rule.sentence:
            yield from _sentence(rule.sentence)


def _sentence(sentence: PreparedSentence) -> Iterable[int]:
    yield sentence.number
    yield FORMS.index(sentence.form)
    for patterns in (sentence.starts, sentence.has, sentence.also, sentence.lacks):
        yield from _counted(members(patterns))
