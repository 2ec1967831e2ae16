"""The statistics agree with published examples and with values computed by hand."""

from collections import Counter

import pytest

from synthesis.stats import (
    bootstrap_interval,
    krippendorff_alpha_ordinal,
    mean_of_counts,
    pass_hat_k,
    quadratic_weighted_kappa,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [
        # R. Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        # by hand: z^2 = 3.8415; 10 of 10: 1 / (1 + z^2/10) = 0.7225
        (10, 10, 0.7225, 1.0),
    ],
)
def test_wilson_interval(successes, total, low, high):
    assert wilson_interval(successes, total) == pytest.approx([low, high], abs=5e-5)


def test_wilson_interval_of_nothing_is_undefined():
    assert wilson_interval(0, 0) is None


def test_krippendorff_alpha_of_the_four_observer_example():
    # K. Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", example C: ordinal alpha 0.815.
    observers = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    columns = zip(*(row.split() for row in observers), strict=True)
    units = [[int(score) for score in column if score != "."] for column in columns]
    assert krippendorff_alpha_ordinal(units) == pytest.approx(0.815, abs=5e-4)


def test_krippendorff_alpha_by_hand():
    # Units (1,1) (1,2) (2,2): n1 = n2 = 3, distance (6 - 3)^2 = 9. Observed 9, expected 3*3*9/5 = 81/5.
    assert krippendorff_alpha_ordinal([[1, 1], [1, 2], [2, 2]]) == pytest.approx(1 - 9 / (81 / 5))


@pytest.mark.parametrize("units", [[], [[1], [4]], [[3, 3], [3, 3]]])
def test_krippendorff_alpha_is_undefined_without_pairs_or_variation(units):
    assert krippendorff_alpha_ordinal(units) is None


def test_kappa_of_two_categories_is_cohens_kappa():
    # The grant-proposal example of the literature: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no gives 0.4.
    assert quadratic_weighted_kappa({(1, 1): 20, (1, 2): 5, (2, 1): 10, (2, 2): 15}) == pytest.approx(0.4)


def test_quadratic_kappa_by_hand():
    # Pairs (1,1) (2,3) (3,3): observed 1. First 1,2,3; second 1,3,3: squares 0+4+4 + 1+1+1 + 4+0+0 = 15.
    assert quadratic_weighted_kappa({(1, 1): 1, (2, 3): 1, (3, 3): 1}) == pytest.approx(1 - 3 * 1 / 15)


@pytest.mark.parametrize("pairs", [{}, {(4, 4): 9}])
def test_kappa_is_undefined_without_variation(pairs):
    assert quadratic_weighted_kappa(pairs) is None


def test_kappa_of_constant_but_different_raters_is_zero():
    assert quadratic_weighted_kappa({(4, 5): 9}) == 0


def test_pass_hat_k_by_hand():
    # Three samples pass 4, 2 and 0 of 4 trials. k=2: (6 + 1 + 0) / (3 * 6).
    assert pass_hat_k([4, 2, 0], 4, 1) == pytest.approx(0.5)
    assert pass_hat_k([4, 2, 0], 4, 2) == pytest.approx(7 / 18)
    assert pass_hat_k([4, 2, 0], 4, 4) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("passes", "k"), [([], 1), ([1], 0), ([1], 5)])
def test_pass_hat_k_outside_its_range_is_undefined(passes, k):
    assert pass_hat_k(passes, 4, k) is None


def test_bootstrap_interval_of_a_mean_is_near_the_normal_one_for_many_values():
    # 500 ones and 500 fives: mean 3, standard error 2 / sqrt(1000) = 0.0632, so 3 +- 0.124.
    low, high = bootstrap_interval([1, 5] * 500, mean_of_counts)
    assert low == pytest.approx(3 - 0.124, abs=0.01)
    assert high == pytest.approx(3 + 0.124, abs=0.01)


def test_bootstrap_draws_follow_the_binomial_distribution():
    # Of 4 values half are 1: the share of resamples without any 1 must be near (1/2)^4 = 0.0625.
    without = Counter()

    def note(counts):
        without[counts.get(1, 0)] += 1
        return 0.0

    bootstrap_interval([1, 1, 2, 2], note, resamples=20_000)
    expected = {0: 1, 1: 4, 2: 6, 3: 4, 4: 1}
    for ones, ways in expected.items():
        assert without[ones] / 20_000 == pytest.approx(ways / 16, abs=0.012)


def test_bootstrap_interval_is_undefined_for_one_value_or_an_undefined_statistic():
    assert bootstrap_interval([4], mean_of_counts) is None
    assert bootstrap_interval([4, 5], lambda counts: None) is None
