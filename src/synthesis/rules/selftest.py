"""Every rule proves itself: its `match` examples must fire it, its `miss` examples must not."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from synthesis.rules.language import language_of
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Rule, Signal
from synthesis.rules.text import Text


class ExampleFailure(NamedTuple):
    """An example that does not do what its rule says."""

    rule: Rule
    example: str
    should_match: bool

    def __str__(self) -> str:
        wish = "should match, but does not" if self.should_match else "should not match, but does"
        return f"{self.rule.file}:{self.rule.line}: {self.rule.id}: {wish}: {self.example}"


def fires(rules: RuleSet, rule: Rule, example: str, signal: Signal) -> bool:
    """Whether a rule has a hit that counts in an example."""
    text = Text(example, language_of(rule.language))
    limit = text.anchor_end if signal.anchor else len(text.normal)
    hits = rules.matcher(rule.language, signal.where).scan([text])[0]
    return any(hit.rule.id == rule.id and hit.start < limit for hit in hits)


def example_failures(rules: RuleSet, signals: Mapping[str, Signal]) -> Iterator[ExampleFailure]:
    """Every example that contradicts its rule, in the order of the rules."""
    for rule in rules.rules:
        for should_match, examples in ((True, rule.match), (False, rule.miss)):
            for example in examples:
                if fires(rules, rule, example, signals[rule.signal]) != should_match:
                    yield ExampleFailure(rule, example, should_match)


def example_count(rules: RuleSet) -> int:
    return sum(len(rule.match) + len(rule.miss) for rule in rules.rules)
