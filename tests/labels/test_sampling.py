"""A sample from strata: seeded, independent of order, and honest about each row's probability."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesis.errors import OptionError
from synthesis.labels import StratifiedSample, allocate

STRATA = ("flagged", "near", "rest")
ROWS = [(f"row {number}", STRATA[min(2, number % 7)]) for number in range(700)]  # 100, 100 and 500


def sample_of(rows, size=60, seed=7):
    sample = StratifiedSample[str](size, seed=seed)
    for key, stratum in rows:
        sample.add(key, stratum, key.upper())
    return sample


def test_each_stratum_gives_its_share_with_its_probability():
    rows = sample_of(ROWS).rows()
    assert Counter((row.stratum, row.probability) for row in rows) == {
        ("flagged", 0.2): 20,
        ("near", 0.2): 20,
        ("rest", 0.04): 20,
    }
    assert all(row.item == row.key.upper() for row in rows)
    assert len({row.key for row in rows}) == 60


@given(st.permutations(ROWS[:70]), st.integers(0, 70))
def test_neither_the_order_of_the_rows_nor_the_workers_that_read_them_change_the_sample(rows, cut):
    whole = sample_of(ROWS[:70], size=9)
    one, other = sample_of(rows[:cut], size=9), sample_of(rows[cut:], size=9)
    one.merge(other)
    assert one.rows() == whole.rows()
    assert one.counts == whole.counts


def test_another_seed_draws_other_rows():
    assert sample_of(ROWS).rows() == sample_of(ROWS).rows()
    assert sample_of(ROWS).rows() != sample_of(ROWS, seed=8).rows()


def test_every_row_of_a_stratum_is_drawn_equally_often():
    drawn = Counter(row.key for seed in range(400) for row in sample_of(ROWS[:70], size=12, seed=seed).rows())
    rest = [drawn[key] for key, stratum in ROWS[:70] if stratum == "rest"]  # 4 of 50: 32 of 400 expected
    assert sum(rest) == 4 * 400
    assert min(rest) > 12
    assert max(rest) < 56


def test_memory_holds_no_more_than_the_sample_of_each_stratum():
    sample = sample_of(((f"row {number}", "rest") for number in range(5000)), size=10)
    assert len(sample._kept["rest"]) == 10
    assert sample.counts == {"rest": 5000}


def test_what_a_small_stratum_cannot_give_the_others_give():
    assert allocate(200, {"flagged": 12, "near": 500, "rest": 100_000}) == {"flagged": 12, "near": 94, "rest": 94}
    assert allocate(200, {"flagged": 3, "near": 0, "rest": 5}) == {"flagged": 3, "rest": 5}
    assert allocate(200, {}) == {}


def test_shares_divide_the_sample_and_no_stratum_is_left_without_a_row():
    shares = {"flagged": 0.5, "near": 0.5}
    assert allocate(10, {"flagged": 99, "near": 99, "rest": 99}, shares) == {"flagged": 5, "near": 4, "rest": 1}


def test_an_empty_sample_is_refused():
    with pytest.raises(OptionError, match="a sample of 0 rows is empty"):
        StratifiedSample[str](0)


def test_samples_of_different_seeds_are_not_merged():
    with pytest.raises(ValueError, match="size or seed"):
        sample_of(ROWS).merge(sample_of(ROWS, seed=8))
