"""Small counts are hidden, and totals do not reveal them."""

import random
from fractions import Fraction

from synthesis.audit.document import hidden_cells, hidden_counts, hidden_in_sums


def test_a_small_cell_takes_the_next_smallest_with_it() -> None:
    assert hidden_cells({"a": (3,), "b": (9,), "c": (100,)}) == {"a", "b"}


def test_two_small_cells_of_less_than_five_together_take_a_third() -> None:
    assert hidden_cells({"a": (1,), "b": (2,), "c": (30,), "d": (9,)}) == {"a", "b", "d"}


def test_large_and_empty_cells_are_shown() -> None:
    assert hidden_cells({"a": (5,), "b": (0,), "c": (12,)}) == set()


def test_a_cell_is_hidden_for_any_of_its_counts() -> None:
    assert hidden_cells({"a": (50, 2), "b": (60, 8), "c": (70, 30)}) == {"a", "b"}


def test_an_empty_cell_hides_nothing_so_it_is_not_the_second() -> None:
    assert hidden_cells({"a": (4,), "b": (0,), "c": (40,)}) == {"a", "c"}


def test_a_count_and_its_rest() -> None:
    assert hidden_counts([{"with": 2, "without": 50}]) == {"with", "without"}


SUMS = (
    ("all", "referred", "never"),
    ("referred", "at once", "later"),
    ("later", "1", "2", "3"),
    ("all", "closed", "open"),
)
TIES = (("never", "never too"),)


def computable(hidden: set[str], sums: tuple[tuple[str, ...], ...]) -> set[str]:
    """The hidden counts that follow from the sums, by elimination."""
    names = sorted(hidden)
    lines = [[Fraction((name in parts) - (name == total)) for name in names] for total, *parts in sums]
    for column in range(len(names)):
        pivot = next((one for one in lines if one[column] and not any(one[:column])), None)
        if pivot is not None:
            pivot[:] = [value / pivot[column] for value in pivot]
            for one in lines:
                if one is not pivot and one[column]:
                    one[:] = [value - one[column] * other for value, other in zip(one, pivot, strict=True)]
    return {names[line.index(1)] for line in lines if sum(map(bool, line)) == 1 and 1 in line}


def test_no_small_count_follows_from_totals_of_totals() -> None:
    chance = random.Random(4)
    for _ in range(300):
        counts = {name: chance.choice((0, 1, 3, 6, 9, 40)) for name in ("at once", "never", "1", "2", "3")}
        counts["later"] = counts["1"] + counts["2"] + counts["3"]
        counts["referred"] = counts["at once"] + counts["later"]
        counts["all"] = counts["referred"] + counts["never"]
        counts["open"] = chance.randint(0, counts["all"])
        counts |= {"closed": counts["all"] - counts["open"], "never too": counts["never"]}
        hidden = hidden_in_sums(counts, SUMS, TIES)
        assert {name for name, count in counts.items() if 0 < count < 5} <= hidden
        assert ("never" in hidden) is ("never too" in hidden)
        known = computable({name for name in hidden if counts[name]}, SUMS)
        assert not [name for name in known if counts[name] < 5], (counts, hidden)


def test_a_tie_hides_no_more_than_it_takes() -> None:
    counts = {"all": 103, "referred": 63, "never": 40, "at once": 60, "later": 3, "at once too": 61, "later too": 3}
    counts["never too"] = 39
    sums = (
        ("all", "referred", "never"),
        ("referred", "at once", "later"),
        ("all", "at once too", "later too", "never too"),
    )
    ties = tuple((name, f"{name} too") for name in ("at once", "later", "never"))
    assert hidden_in_sums(counts, sums, ties) == {"at once", "later", "at once too", "later too"}
