"""Ids that come back are found among millions, each with the place where it was first."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from synthesis.read.conversations import SHARES, name_hash, repeated_places

# Few enough to come back, of either sign, in one share and in several.
HASHES = st.lists(st.sampled_from([0, 1, -1, SHARES, -SHARES, 2 * SHARES, (1 << 63) - 1, -(1 << 63), 5]), max_size=30)


@given(HASHES)
def test_each_later_place_is_paired_with_the_first_in_the_order_of_the_later(hashes: list[int]) -> None:
    first = {value: hashes.index(value) for value in hashes}
    expected = [(first[value], place) for place, value in enumerate(hashes) if first[value] != place]
    assert repeated_places(array("q", hashes)) == expected


def test_one_id_that_comes_back_is_found_among_many() -> None:
    hashes = array("q", [name_hash(f"case {number % 49_999}") for number in range(50_000)])
    assert repeated_places(hashes) == [(0, 49_999)]
