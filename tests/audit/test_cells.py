"""Small counts are hidden, and totals do not reveal them."""

from synthesis.audit.document import hidden_cells, hidden_counts


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
