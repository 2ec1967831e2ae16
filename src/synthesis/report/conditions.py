"""What was in force in two runs, and what may therefore be said about their difference.

A verdict is a measurement, and profile, checks, rules and version are its ruler. Runs of another profile or of other
checks answer another question; runs of other rules measure the same question differently, so that a change may come
from the rules and not from the replies. Only one ruler allows "better" and "worse".
"""

from collections.abc import Iterable, Mapping
from typing import Any

from synthesis.errors import InputError
from synthesis.settings import FORMER_PROFILES

Conditions = dict[str, tuple[Any, Any]]  # only those that differ: before, after
PROFILE, CHECKS, RULES, VERSION, SIMILARITY = "profile", "checks", "rules", "tool version", "similarity"
JUDGE, RUBRIC = "judge", "rubric"
MEASURED_DIFFERENTLY = "measured differently"  # in place of better and worse
_PATHS = {
    VERSION: ("tool", "version"),
    RULES: ("rules", "hash"),
    SIMILARITY: ("similarity",),
    PROFILE: ("profile",),
    "input": ("input", "sha256"),
}
_QUESTION = (PROFILE, CHECKS)
_RULER = (*_QUESTION, RULES, VERSION, SIMILARITY, JUDGE, RUBRIC)


def changed_conditions(before: Mapping[str, Any], after: Mapping[str, Any]) -> Conditions:
    """The conditions that differ between two report headers."""
    pairs = {name: (_at(before, path), _at(after, path)) for name, path in _PATHS.items()}
    pairs[PROFILE] = tuple(FORMER_PROFILES.get(name, name) for name in pairs[PROFILE])
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def changed_checks(before: Iterable[frozenset[str]], after: Iterable[frozenset[str]]) -> Conditions:
    """The checks that were asked of the shared cases, where they are not the same ones."""
    pair = tuple(", ".join(sorted(frozenset().union(*sets))) for sets in (before, after))
    return {CHECKS: (pair[0], pair[1])} if pair[0] != pair[1] else {}


def question_changes(conditions: Mapping[str, Any]) -> list[str]:
    """What makes two runs answers to different questions."""
    return [name for name in _QUESTION if name in conditions]


def ruler_changes(conditions: Mapping[str, Any]) -> list[str]:
    """Why neither of two runs may be called better."""
    return [name for name in _RULER if name in conditions]


def require_one_question(conditions: Mapping[str, Any]) -> None:
    """InputError where the runs do not answer the same question."""
    changed = question_changes(conditions)
    if changed:
        told = "; ".join(f"{name}: {conditions[name][0]} -> {conditions[name][1]}" for name in changed)
        raise InputError(
            f"the runs cannot be compared, they were evaluated differently ({told})",
            hint="Evaluate both the same way (--reevaluate does, where the texts are stored), or list the changes with "
            "--across.",
        )


def _at(header: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = header
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
