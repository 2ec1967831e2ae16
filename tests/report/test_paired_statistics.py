"""Paired rates: the exact test and the interval agree with textbooks, with brute force, and with each other."""

import random
from collections import Counter
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesis.stats import difference, mcnemar, paired_interval


@pytest.mark.parametrize(
    ("lost", "won", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (0, 5, 0.0625),
        (0, 6, 0.03125),
        (2, 10, 158 / 4096),  # 2 * (1 + 12 + 66) / 2^12
        (5, 5, 1.0),
    ],
)
def test_mcnemar_by_hand(lost: int, won: int, p: float) -> None:
    assert mcnemar(lost, won) == pytest.approx(p)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_exact_binomial_test(lost: int, won: int) -> None:
    changed = lost + won
    tail = sum(Fraction(comb(changed, k), 2**changed) for k in range(min(lost, won) + 1))
    assert mcnemar(lost, won) == pytest.approx(float(min(Fraction(1), 2 * tail)), rel=1e-9)
    assert mcnemar(lost, won) == pytest.approx(mcnemar(won, lost))


def test_the_interval_is_what_drawing_many_resamples_gives() -> None:
    lost, won, pairs = 4, 13, 60
    changes = [-1] * lost + [1] * won + [0] * (pairs - lost - won)
    drawn = random.Random(7)
    sums = sorted(sum(drawn.choices(changes, k=pairs)) for _ in range(20_000))
    low, high = paired_interval(lost, won, pairs)
    assert low * pairs == pytest.approx(sums[500], abs=1)
    assert high * pairs == pytest.approx(sums[19_500], abs=1)


@pytest.mark.parametrize(("lost", "won", "pairs"), [(900, 1100, 5000), (40, 60, 4000)])
def test_the_interval_of_many_pairs_is_near_the_normal_one(lost: int, won: int, pairs: int) -> None:
    mean = (won - lost) / pairs
    margin = 1.96 * (((lost + won) / pairs - mean**2) / pairs) ** 0.5
    assert paired_interval(lost, won, pairs) == pytest.approx((mean - margin, mean + margin), abs=2 / pairs)


@settings(deadline=None)
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 100))
def test_laws_of_the_interval(lost: int, won: int, same: int) -> None:
    pairs = lost + won + same
    if pairs == 0:
        assert difference(lost, won, pairs) is None
        return
    low, high = paired_interval(lost, won, pairs)
    assert -1 <= low <= (won - lost) / pairs <= high <= 1
    other_low, other_high = paired_interval(won, lost, pairs)
    assert (-other_high, -other_low) == pytest.approx((low, high), abs=1.01 / pairs)


def test_few_changes_show_nothing() -> None:
    for won in range(6):
        found = difference(0, won, 100)
        assert found is not None
        assert not found.is_shown


def test_many_one_sided_changes_show_a_difference() -> None:
    found = difference(1, 15, 100)
    assert found is not None
    assert found.is_shown
    assert found.low > 0


def test_equal_changes_show_nothing_however_many() -> None:
    found = difference(5000, 5000, 100_000)
    assert found is not None
    assert not found.is_shown


def test_chance_alone_is_rarely_called_a_difference() -> None:
    """Under no true difference, at most about one comparison in twenty may claim one."""
    drawn = random.Random(3)
    verdicts: Counter[bool] = Counter()
    for _ in range(400):
        lost = sum(drawn.random() < 0.5 for _ in range(30))
        found = difference(lost, 30 - lost, 200)
        assert found is not None
        verdicts[found.is_shown] += 1
    assert verdicts[True] <= 30
