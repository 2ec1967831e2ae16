"""Rules lint the rules: what a pack may say, but had better not."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from synthesis.rules.language import language_of
from synthesis.rules.pattern import has_fixed_beginning
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Rule
from synthesis.rules.syntax import WordLists, parse

FEWEST_EXAMPLES = 2


class Remark(NamedTuple):
    """Something to mend in one rule."""

    rule: Rule
    message: str

    def __str__(self) -> str:
        return f"{self.rule.file}:{self.rule.line}: {self.rule.id}: {self.message}"


def lint(rules: RuleSet) -> Iterator[Remark]:
    """Every remark on every rule, in their order."""
    wordings = _wordings(rules)
    for rule in rules.rules:
        for remark in (
            _few_examples(rule),
            _vague_texts(rule),
            *_repeated(rule, wordings),
            *_slow(rule, rules),
        ):
            if remark:
                yield Remark(rule, remark)


def _few_examples(rule: Rule) -> str | None:
    for kind, examples in (("match", rule.match), ("miss", rule.miss)):
        if len(examples) < FEWEST_EXAMPLES:
            return f"has {len(examples)} `{kind}` examples; give at least {FEWEST_EXAMPLES}"
        if len(set(examples)) < len(examples):
            return f"repeats a `{kind}` example"
    return None


def _vague_texts(rule: Rule) -> str | None:
    for field in ("why", "instead"):
        for language, text in getattr(rule, field).items():
            if len(text.split()) < 3 and language_of(language).spaced:
                return f"its `{field}` says too little: '{text}'"
    return None


def _wordings(rules: RuleSet) -> dict[tuple[str, str, str], list[str]]:
    owners: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for rule in rules.rules:
        for pattern in rule.patterns:
            owners[rule.language, rule.signal, pattern].append(rule.id)
    return owners


def _repeated(rule: Rule, wordings: dict[tuple[str, str, str], list[str]]) -> Iterator[str]:
    for pattern in rule.patterns:
        owners = wordings[rule.language, rule.signal, pattern]
        if len(owners) > 1 and owners[0] == rule.id:
            yield f"the pattern '{pattern}' stands {len(owners)} times: {', '.join(sorted(set(owners)))}"


def _slow(rule: Rule, rules: RuleSet) -> Iterator[str]:
    """Patterns that need no word in particular are tried on every line, and on every word if they begin with any."""
    pack, prepared = rules.packs[rule.language], rules.patterns(rule.language)
    for source in rule.patterns:
        if not prepared[source].required_words and not has_fixed_beginning(parse(source, WordLists(pack.lists))):
            yield f"the pattern '{source}' has no word that every match holds, so it is tried everywhere"
