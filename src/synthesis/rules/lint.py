"""Rules lint the rules: what a pack may say, but had better not."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from synthesis.rules.cost import MOST_STEPS, cost
from synthesis.rules.factoring import has_fixed_beginning
from synthesis.rules.language import language_of
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Pack, Rule
from synthesis.rules.syntax import WordLists, parse
from synthesis.rules.text import normalise_pattern

FEWEST_EXAMPLES = 2
LONGEST_PATTERN = 200  # a speaker reviews a pattern at a glance, or not at all
EXCERPT = 60
_PROTECTED = re.compile(r"\\.|\[.[^\]]*\]")  # an escape or a class: its brackets and bars stand for themselves
_INNERMOST = re.compile(r"\(([^()]*)\)")
_HIDDEN = str.maketrans("(|)", "\ue000\ue001\ue002")
_SHOWN = str.maketrans("\ue000\ue001\ue002", "(|)")


class PatternCost(NamedTuple):
    """The pattern of a pack that can take the most steps at one place of a text."""

    language: str
    steps: int
    source: str

    def __str__(self) -> str:
        return (
            f"{self.language}: at most {self.steps:,} of {MOST_STEPS:,} steps at one place, by '{_start(self.source)}'"
        )


class LintMessage(NamedTuple):
    """Something to fix in a rule, a guard or a list, and where."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


def costs(rules: RuleSet, below: RuleSet | None = None) -> dict[str, dict[str, int]]:
    """The cost of every pattern in force, by language and source; without those that `below` has already.

    Working out what the bundled packs cost takes minutes, and their tests hold them to the bound.
    """
    found: dict[str, dict[str, int]] = {}
    for language, pack in rules.packs.items():
        lists = WordLists(pack.lists)
        known = set(below.packs[language].patterns()) if below and language in below.packs else set()
        found[language] = {source: cost(parse(source, lists)) for source in {*pack.patterns()} - known}
    return found


def greatest_costs(costs: Mapping[str, Mapping[str, int]]) -> list[PatternCost]:
    """The most expensive pattern of each language."""
    return [
        PatternCost(language, *max((steps, source) for source, steps in of_patterns.items()))
        for language, of_patterns in costs.items()
        if of_patterns
    ]


def lint(rules: RuleSet, costs: Mapping[str, Mapping[str, int]]) -> Iterator[LintMessage]:
    """Every message on every pack's guards and lists, then on every rule, in their order."""
    for pack in rules.packs.values():
        yield from _shared(pack, costs.get(pack.language, {}))
    wordings = _wordings(rules)
    for rule in rules.rules:
        for text in (
            *_few_examples(rule),
            *_vague_texts(rule),
            *_repeated(rule, wordings),
            *_slow(rule, rules),
            *(text for source in _sources(rule) for text in _hard_to_read(source)),
            *(text for source in _sources(rule) for text in _expensive(source, costs.get(rule.language, {}))),
        ):
            yield LintMessage(f"{rule.file}:{rule.line}: {rule.id}", text)


def _shared(pack: Pack, costs: Mapping[str, int]) -> Iterator[LintMessage]:
    """What many rules use has no rule's place: its own name leads to it."""
    for name, guard in pack.guards.items():
        for source in guard.patterns:
            texts = (*_hard_to_read(source), *_expensive(source, costs))
            yield from (LintMessage(f"{pack.language}: guard {name}", text) for text in texts)
    for name, words in pack.lists.items():
        place = f"{pack.language}: list <{name}>"
        yield from (LintMessage(place, text) for word in words for text in _long(word))
        yield from (LintMessage(place, text) for text in _repeated_alternatives("|".join(words)))


def _sources(rule: Rule) -> Iterator[str]:
    yield from rule.patterns
    yield from rule.sentence.patterns if rule.sentence else ()
    yield from rule.unless.patterns if rule.unless else ()


def _few_examples(rule: Rule) -> Iterator[str]:
    for kind, examples in (("match", rule.match), ("miss", rule.miss)):
        if len(examples) < FEWEST_EXAMPLES:
            yield f"has {len(examples)} `{kind}` examples; give at least {FEWEST_EXAMPLES}"
        if len(set(examples)) < len(examples):
            yield f"repeats a `{kind}` example; replace one"


def _vague_texts(rule: Rule) -> Iterator[str]:
    for field in ("why", "instead"):
        for language, text in getattr(rule, field).items():
            if len(text.split()) < 3 and language_of(language).spaced:
                yield f"its `{field}` says too little: '{text}'"


def _wordings(rules: RuleSet) -> dict[tuple[str, str, str], list[str]]:
    owners: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for rule in rules.rules:
        for pattern in rule.patterns:
            owners[rule.language, rule.signal, pattern].append(rule.id)
    return owners


def _repeated(rule: Rule, wordings: Mapping[tuple[str, str, str], list[str]]) -> Iterator[str]:
    for pattern in rule.patterns:
        owners = wordings[rule.language, rule.signal, pattern]
        if len(owners) > 1 and owners[0] == rule.id:
            yield f"the pattern '{pattern}' appears {len(owners)} times: {', '.join(sorted(set(owners)))}"


def _slow(rule: Rule, rules: RuleSet) -> Iterator[str]:
    """Patterns that need no word in particular are tried on every line, and on every word if they begin with any."""
    pack, prepared = rules.packs[rule.language], rules.patterns(rule.language)
    for source in rule.patterns:
        if not prepared[source].required_words and not has_fixed_beginning(parse(source, WordLists(pack.lists))):
            yield f"the pattern '{source}' has no word that every match holds, so it is tried everywhere"


def _expensive(source: str, costs: Mapping[str, int]) -> Iterator[str]:
    if costs.get(source, 0) > MOST_STEPS // 2:
        yield (
            f"a pattern can take {costs[source]:,} steps at one place, more than half of the {MOST_STEPS:,} that are "
            f"allowed: use fewer or shorter gaps: '{_start(source)}'"
        )


def _hard_to_read(source: str) -> Iterator[str]:
    yield from _long(source)
    yield from _repeated_alternatives(source)


def _long(source: str) -> Iterator[str]:
    if len(source) > LONGEST_PATTERN:
        yield (
            f"a pattern has {len(source)} characters, more than {LONGEST_PATTERN}: split it into several, or move "
            f"words into a list named by their meaning: '{_start(source)}'"
        )


def _repeated_alternatives(source: str) -> Iterator[str]:
    repeated = {
        (word, times): choice
        for choice in _choices(source)
        for word, times in Counter(choice).items()
        if times > 1 and word
    }
    for (word, times), choice in repeated.items():
        shown = _start("|".join(choice).translate(_SHOWN))
        yield f"'{word.translate(_SHOWN)}' appears {times} times among the alternatives '{shown}'; keep one"


def _choices(source: str) -> Iterator[list[str]]:
    """The alternatives of every group, innermost first; a group that is an alternative itself adds its own.

    Read from the text, not from the tree: that takes a tenth of the time, and the words stay as they are written.
    """
    source = _PROTECTED.sub(lambda found: found[0].translate(_HIDDEN), normalise_pattern(source)).replace("(?:", "(")
    while group := _INNERMOST.search(source):
        yield group[1].split("|")
        before, after = source[: group.start()], source[group.end() :]
        is_alternative = before[-1:] in {"", "(", "|"} and after[:1] in {"", ")", "|"}
        source = before + (group[1] if is_alternative else group[0].translate(_HIDDEN)) + after
    yield source.split("|")


def _start(source: str) -> str:
    return source if len(source) <= EXCERPT else f"{source[:EXCERPT]}..."
