"""The rules in force, read once in each process."""

from functools import cache

from synthesis.checks.registry import rules_in_force
from synthesis.rules.ruleset import RuleSet


@cache
def loaded_rules(folders: tuple[str, ...], disabled: tuple[str, ...]) -> RuleSet:
    return rules_in_force(folders, disabled)
