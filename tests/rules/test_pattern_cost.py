"""The cost of a pattern bounds every search for it, and what costs more is refused before any text is read."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from drawn_patterns import drawn_patterns
from hypothesis import assume, example, given
from hypothesis import strategies as st

from synthesis.checks import signals
from synthesis.errors import RuleError
from synthesis.rules.analysis import MOST_STEPS, cost, factored, settled
from synthesis.rules.pattern import BOUNDARY, Pattern, checked, prepare
from synthesis.rules.ruleset import load_rules
from synthesis.rules.syntax import (
    ANY,
    Char,
    Choice,
    Concat,
    Edge,
    Node,
    PatternError,
    Repeat,
    WordLists,
    blocks,
    parse,
    set_of,
)
from synthesis.rules.text import language_of

NO_LISTS = WordLists()
NESTED = "x(?:" + "|".join("a" * n + mark for n in range(1, 14) for mark in ("", "!")) + "){0,13}y"
WIDE = "zq|(?:(?:(?:a ){200}){200}){200}b"
HEAVY = "a.{0,200}b.{0,200}c"
RULE = """
rules:
  - id: agency.negative.my-own
    group: mine
    pattern: '{pattern}'
    why: It is only a test.
    instead: Say something else here.
"""

patterns = drawn_patterns()
texts = st.text("ab! ", max_size=14) | st.sampled_from(["a" * 14, "ab" * 7, "a " * 7, "aab!" * 4])


class CountingMatcher:
    """A matcher that tries one way after the other, remembers nothing, and counts what it looks at."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.steps = 0

    def ends(self, node: Node, at: int) -> Iterator[int]:
        match node:
            case Char(literal=str(literal)):
                for letter in literal:
                    self.steps += 1
                    if self.text[at : at + 1] != letter:
                        return
                    at += 1
                yield at
            case Char(source=source):
                self.steps += 1
                if re.compile(source).match(self.text, at):
                    yield at + 1
            case Edge():
                self.steps += 1
                if re.compile(BOUNDARY).match(self.text, at):
                    yield at
            case Concat(parts):
                yield from self.in_sequence(parts, at)
            case Choice():
                for option in factored(node):
                    yield from self.ends(option, at)
            case Repeat(part, low, high, settled=True):
                yield from self.repeated_once(part, low, high, at)
            case Repeat(part, low, high):
                yield from self.repeated(part, low, high, at)

    def in_sequence(self, parts: tuple[Node, ...], at: int) -> Iterator[int]:
        if not parts:
            yield at
            return
        for end in self.ends(parts[0], at):
            yield from self.in_sequence(parts[1:], end)

    def repeated_once(self, part: Node, low: int, high: int, at: int) -> Iterator[int]:
        begun = at
        while at - begun < high and (end := next(self.ends(part, at), None)):
            at = end
        if at - begun >= low:
            yield at

    def repeated(self, part: Node, low: int, high: int, at: int) -> Iterator[int]:
        self.steps += 1
        if high:
            for end in self.ends(part, at):
                yield from self.repeated(part, max(0, low - 1), high - 1, end)
        if not low:
            yield at


def steps_at_worst(node: Node, text: str) -> int:
    most = 0
    for start in range(len(text) + 1):
        matcher = CountingMatcher(text)
        for _ in matcher.ends(node, start):
            pass
        most = max(most, matcher.steps)
    return most


@given(patterns, texts)
@example("(a|ab|aab){0,4}!", "aab!" * 4)
@example("(?:a?){0,4}b", "a" * 14)
@example("a.{0,4}a.{0,4}b", "a" * 14)
@example("(a|a!|aa|aa!){0,3}b", "a" * 14)
def test_no_search_takes_more_steps_than_the_cost(source: str, text: str) -> None:
    try:
        node = parse(source)
    except PatternError:
        assume(False)
    bound = cost(node)
    assume(bound < 5_000)
    assert steps_at_worst(settled(node), text) <= bound


@given(patterns, texts)
def test_random_patterns_find_what_re_finds(source: str, text: str) -> None:
    try:
        ready = prepare(source, language_of("en"), NO_LISTS)
        assume(cost(parse(source)) < 5_000)
    except PatternError:
        assume(False)
    tight = re.sub(r"(\.\{\d+,\d+\})", r"\1?", source).replace(r"\b", BOUNDARY)
    plain = [match.span() for match in re.finditer(f"{BOUNDARY}(?:{tight}){BOUNDARY}", text)]
    assert Pattern(ready).spans(text, 0, len(text)) == plain


@pytest.mark.parametrize("source", [NESTED, WIDE, HEAVY, "(?:a?){0,200}b", "(a|b|ab){0,30}c", r"(\w{1,9} ?){0,9}x"])
def test_what_costs_too_much_is_refused_with_its_cost_and_a_shorter_form(source: str) -> None:
    with pytest.raises(PatternError, match=f"steps at one place of a text, and at most {MOST_STEPS:,} are") as raised:
        checked(source, NO_LISTS)
    shorter = re.search(r"as in '(.*)'$", raised.value.message)
    assert shorter
    checked(shorter[1], NO_LISTS)


def test_the_bound_has_room_for_two_gaps_of_180_characters_and_not_for_two_of_200() -> None:
    checked("a.{0,180}b.{0,180}c", NO_LISTS)
    with pytest.raises(PatternError, match="at most 100,000"):
        checked(HEAVY, NO_LISTS)


def test_a_pack_with_such_a_rule_stops_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "pack.yaml").write_text("language: en\nname: m\nversion: '1'\nlicence: MIT\n", encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(RULE.format(pattern=HEAVY), encoding="utf-8")
    with pytest.raises(RuleError, match=r"can take 121,606 steps .* at most 100,000 .* 'a\.\{0,100\}b") as raised:
        load_rules(signals(), [tmp_path])
    assert raised.value.place is not None
    assert (raised.value.place.file, raised.value.place.line) == (str(tmp_path / "mine.yaml"), 5)


@pytest.mark.parametrize(
    ("source", "reason", "column"),
    [
        ("a{0,²}b", "needs both bounds", 3),
        ("ab[z-a]b", "the range 'z-a' runs backwards: write 'a-z'", 3),
        ("(" * 400 + "a" + ")" * 400, "nested more than 20 deep", 22),
        ("|".join("a" * n for n in range(1, 800)), "too long or nested too deeply", 1),
    ],
)
def test_a_bad_pattern_is_refused_at_its_column(source: str, reason: str, column: int) -> None:
    with pytest.raises(PatternError, match=re.escape(reason)) as raised:
        checked(source, NO_LISTS)
    assert raised.value.column == column


def test_words_that_cannot_begin_alike_do_not_add_up() -> None:
    assert cost(parse("(red|green|blue) (house|home)")) < 25
    assert cost(parse("you (really |very |so ){0,3}should")) < 100


@pytest.mark.parametrize("piece", ["a", "ab", "a!b", "abc ", "axb"])
def test_ten_times_the_text_takes_ten_times_the_steps(piece: str) -> None:
    node = settled(parse("a.{0,15}b.{0,15}c!"))

    def steps(length: int) -> int:
        matcher = CountingMatcher(piece * (length // len(piece)))
        return sum(1 for start in range(length) for _ in matcher.ends(node, start)) + matcher.steps

    assert steps(3_000) <= 10.5 * steps(300)


@given(st.lists(st.text("abcdefghij", min_size=1, max_size=6), max_size=40))
@example(["a" + letter for letter in "bcdefghij"] * 4)
def test_sets_divide_the_characters_into_parts_that_do_not_overlap(texts: list[str]) -> None:
    sets = list(map(set_of, texts))
    parts = blocks(sets)
    assert 0 not in parts
    assert sum(parts) == ANY  # no character twice, none left out
    assert all(part & each in (0, part) for part in parts for each in sets)
