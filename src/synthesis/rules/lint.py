"""Rules lint the rules: what a pack may say, but had better not."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from synthesis.rules.expression import has_fixed_beginning
from synthesis.rules.language import language_of
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Pack, Rule
from synthesis.rules.syntax import Char, Choice, Edge, Node, Repeat, Run, WordLists, parse

FEWEST_EXAMPLES = 2
LONGEST_PATTERN = 200  # a speaker reviews a pattern at a glance, or not at all
EXCERPT = 60


class LintMessage(NamedTuple):
    """Something to fix in a rule, a guard or a list, and where."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


def lint(rules: RuleSet) -> Iterator[LintMessage]:
    """Every message on every pack's guards and lists, then on every rule, in their order."""
    for pack in rules.packs.values():
        yield from _shared(pack)
    wordings = _wordings(rules)
    for rule in rules.rules:
        names = _names(rules.packs[rule.language])
        for text in (
            *_few_examples(rule),
            *_vague_texts(rule),
            *_repeated(rule, wordings),
            *_slow(rule, rules),
            *(text for source in _sources(rule) for text in _hard_to_read(source, names)),
        ):
            yield LintMessage(f"{rule.file}:{rule.line}: {rule.id}", text)


def _shared(pack: Pack) -> Iterator[LintMessage]:
    """What many rules use has no rule's place: its own name leads to it."""
    names = _names(pack)
    for name, guard in pack.guards.items():
        for source in guard.patterns:
            yield from (LintMessage(f"{pack.language}: guard {name}", text) for text in _hard_to_read(source, names))
    for name, words in pack.lists.items():
        place = f"{pack.language}: list <{name}>"
        yield from (LintMessage(place, text) for word in words for text in _long(word))
        yield from (LintMessage(place, text) for text in _repeated_alternatives("|".join(words), names))


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
        if not prepared[source].needs and not has_fixed_beginning(parse(source, WordLists(pack.lists))):
            yield f"the pattern '{source}' has no word that every match holds, so it is tried everywhere"


def _hard_to_read(source: str, names: WordLists) -> Iterator[str]:
    yield from _long(source)
    yield from _repeated_alternatives(source, names)


def _long(source: str) -> Iterator[str]:
    if len(source) > LONGEST_PATTERN:
        yield (
            f"a pattern has {len(source)} characters, more than {LONGEST_PATTERN}: split it into several, or move "
            f"words into a list named by their meaning: '{_start(source)}'"
        )


def _repeated_alternatives(source: str, names: WordLists) -> Iterator[str]:
    for alternatives in _choices(parse(source, names)):
        written = [_written(alternative) for alternative in alternatives]
        for word, times in Counter(written).items():
            if times > 1:
                yield f"'{word}' appears {times} times among the alternatives '{_start('|'.join(written))}'; keep one"


def _start(source: str) -> str:
    return source if len(source) <= EXCERPT else f"{source[:EXCERPT]}..."


def _names(pack: Pack) -> WordLists:
    """Lists that stand for their own names, so that a list's own words are looked at once, not in every pattern."""
    return WordLists({name: (rf"\<{name}\>",) for name in pack.lists})


def _choices(node: Node) -> Iterator[list[Node]]:
    """The alternatives of every choice in a tree; a choice inside a choice adds its own."""
    match node:
        case Choice():
            alternatives = list(_alternatives(node))
            yield alternatives
            for alternative in alternatives:
                yield from _choices(alternative)
        case Run(parts):
            for part in parts:
                yield from _choices(part)
        case Repeat(part):
            yield from _choices(part)


def _alternatives(node: Node) -> Iterator[Node]:
    if isinstance(node, Choice):
        for option in node.options:
            yield from _alternatives(option)
    else:
        yield node


def _written(node: Node) -> str:
    """A tree as a pattern, so that two ways to write the same compare equal."""
    match node:
        case Char(literal, source):
            return literal or source
        case Edge():
            return r"\b"
        case Run(parts):
            return "".join(map(_written, parts))
        case Choice(options):
            return f"({'|'.join(map(_written, options))})"
        case Repeat(part, low, high):
            return f"({_written(part)}){{{low},{high}}}"
