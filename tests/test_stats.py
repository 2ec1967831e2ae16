"""The statistics agree with published examples, with values computed by hand and with brute force, and obey laws."""

import random
from collections import Counter
from fractions import Fraction
from math import comb, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesis.stats import (
    MOST_DRAWN,
    Bounds,
    agreement_of,
    binomial_probability,
    bootstrap_interval,
    difference,
    effective_size,
    exact_interval,
    krippendorff_alpha,
    mcnemar,
    mean_interval,
    mean_of_counts,
    paired_interval,
    pass_hat_k,
    quadratic_weighted_kappa,
    quantile,
    share_interval,
    unseen_at_most,
    weighted_sum,
    wilson_interval,
)


def alpha_of(units):
    return krippendorff_alpha(Counter(tuple(sorted(unit)) for unit in units))


# Published examples, and values computed by hand.


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
    assert alpha_of(units) == pytest.approx(0.815, abs=5e-4)


def test_krippendorff_alpha_by_hand():
    # Units (1,1) (1,2) (2,2): n1 = n2 = 3, distance (6 - 3)^2 = 9. Observed 9, expected 3*3*9/5 = 81/5.
    assert alpha_of([[1, 1], [1, 2], [2, 2]]) == pytest.approx(1 - 9 / (81 / 5))


@pytest.mark.parametrize("units", [[], [[1], [4]], [[3, 3], [3, 3]]])
def test_krippendorff_alpha_is_undefined_without_pairs_or_variation(units):
    assert alpha_of(units) is None


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


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [(9, 12, 0.4281, 0.9451), (0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0), (0, 0, 0.0, 1.0), (50, 299, 0.1268, 0.2145)],
)
def test_the_exact_interval_is_that_of_clopper_and_pearson(count: int, total: int, low: float, high: float) -> None:
    assert exact_interval(count, total) == pytest.approx([low, high], abs=1e-4)


def test_wilson_interval_of_dependent_observations_is_wider():
    # 100 clusters of 10 that are all alike are worth 100 observations (99 of them: one is spent on the mean).
    alike, mixed = {(10, 10): 20, (0, 10): 80}, {(2, 10): 100}
    assert effective_size(alike) == pytest.approx(99)
    assert effective_size(mixed) == 1000
    assert effective_size({(3, 10): 1}) == 1
    assert effective_size({(0, 4): 50}) == 200
    low, high = wilson_interval(0.2 * 99, 99)
    assert high - low > 3 * (wilson_interval(200, 1000)[1] - wilson_interval(200, 1000)[0])


def test_single_observations_are_worth_themselves():
    assert effective_size({(1, 1): 30, (0, 1): 70}) == pytest.approx(99)


@pytest.mark.parametrize(("trials", "rate", "successes"), [(10, 0.3, 3), (5, 0.0, 0), (5, 1.0, 5), (200, 0.01, 7)])
def test_binomial_probability(trials, rate, successes):
    exact = comb(trials, successes) * rate**successes * (1 - rate) ** (trials - successes)
    assert binomial_probability(trials, rate, successes) == pytest.approx(exact)


def test_the_bound_of_what_a_sample_does_not_show():
    # One stratum: 1 - 0.05^(1/n), the "rule of three"; one that is a tenth of all counts a tenth.
    assert unseen_at_most([(1.0, 60)]) == pytest.approx(1 - 0.05 ** (1 / 60))
    assert unseen_at_most([(0.1, 60)]) == pytest.approx((1 - 0.05 ** (1 / 60)) / 10)
    assert unseen_at_most([(0.5, 30), (0.5, 30)]) == pytest.approx(unseen_at_most([(1.0, 60)]), rel=0.01)
    assert unseen_at_most([]) == 0


def test_quantiles_are_linear_between_ranks():
    # R: quantile(c(1, 2, 4, 8), c(0, .25, .5, .9, 1)) with its default type 7.
    found = [quantile([1, 2, 4, 8], share) for share in (0, 0.25, 0.5, 0.9, 1)]
    assert found == pytest.approx([1, 1.75, 3, 6.8, 8])


def test_a_weighted_sum_has_the_interval_of_its_parts():
    rate = Bounds(0.3, 0.2, 0.5)
    assert weighted_sum([(1.0, rate)]) == pytest.approx(rate)
    both = weighted_sum([(0.5, rate), (0.5, rate)])  # independent: margins add up as squares do
    assert both == pytest.approx((0.3, 0.3 - 0.1 / sqrt(2), 0.3 + 0.2 / sqrt(2)))


def test_a_share_of_two_estimates():
    assert share_interval(Bounds(0.2, 0.2, 0.2), Bounds(0.6, 0.6, 0.6)) == pytest.approx([0.25, 0.25])
    low, high = share_interval(Bounds(0.2, 0.1, 0.3), Bounds(0.6, 0.5, 0.7))
    assert 0 < low < 0.25 < high < 1
    assert share_interval(Bounds(0.0, 0.0, 0.1), Bounds(0.6, 0.5, 0.7))[0] == 0


def test_agreement_says_why_a_figure_is_missing():
    assert agreement_of([(1,), (4,)]).reason == "no two have rated the same samples"
    assert "same score throughout" in agreement_of([(3, 3)] * 9).reason
    few = agreement_of([(1, 1), (1, 2), (2, 2)])
    assert few.alpha is not None
    assert (few.interval, few.reason) == (None, "no interval for fewer than 6 samples")
    assert agreement_of([(1, 1), (1, 2), (2, 2)] * 4).interval is not None


# Laws that hold for every input.


SCORES = st.integers(1, 5)
UNITS = st.lists(st.lists(SCORES, max_size=5), max_size=12)
PAIRS = st.dictionaries(st.tuples(SCORES, SCORES), st.integers(1, 30), max_size=12)


@st.composite
def rates(draw):
    total = draw(st.integers(1, 5000))
    return draw(st.integers(0, total)), total


@given(rates())
def test_a_wilson_interval_holds_its_rate_and_stays_within_0_and_1(rate):
    successes, total = rate
    low, high = wilson_interval(successes, total)
    assert 0 <= low <= successes / total <= high <= 1
    assert low < high


@given(rates())
def test_wilson_intervals_of_a_rate_and_its_complement_mirror_each_other(rate):
    successes, total = rate
    low, high = wilson_interval(successes, total)
    assert wilson_interval(total - successes, total) == pytest.approx([1 - high, 1 - low])


@given(rates())
def test_a_wilson_interval_narrows_with_more_samples(rate):
    successes, total = rate
    low, high = wilson_interval(successes, total)
    finer_low, finer_high = wilson_interval(4 * successes, 4 * total)
    assert finer_high - finer_low < high - low


@given(st.lists(SCORES, min_size=2, max_size=40), st.randoms())
def test_a_bootstrap_interval_lies_within_the_values_and_ignores_their_order(scores, shuffle):
    low, high = bootstrap_interval(scores, mean_of_counts, resamples=100)
    assert min(scores) <= low <= high <= max(scores)
    shuffle.shuffle(scores)
    assert bootstrap_interval(scores, mean_of_counts, resamples=100) == [low, high]


@given(st.lists(SCORES, min_size=2, max_size=40), st.integers(0, 1000))
def test_a_resample_is_as_large_as_the_sample(scores, seed):
    sizes = set()

    def size(counts):
        sizes.add(sum(counts.values()))
        return 0.0

    bootstrap_interval(scores, size, seed=seed, resamples=20)
    assert sizes == {len(scores)}


def test_the_state_of_the_global_generator_does_not_matter():
    random.seed(1)
    first = bootstrap_interval([1, 2, 5], mean_of_counts)
    random.seed(2)
    assert bootstrap_interval([1, 2, 5], mean_of_counts) == first


@given(UNITS, st.randoms())
def test_alpha_is_at_most_one_and_ignores_the_order_of_units_and_raters(units, shuffle):
    alpha = alpha_of(units)
    assert alpha is None or alpha <= 1
    shuffle.shuffle(units)
    for unit in units:
        shuffle.shuffle(unit)
    assert alpha_of(units) == (None if alpha is None else pytest.approx(alpha))


@given(st.lists(SCORES, min_size=2), st.integers(2, 4))
def test_alpha_is_one_exactly_when_raters_agree_on_varied_units(scores, raters):
    alpha = alpha_of([[score] * raters for score in scores])
    assert alpha == (1 if len(set(scores)) > 1 else None)


@given(UNITS)
def test_alpha_depends_on_the_order_of_scores_alone(units):
    alpha = alpha_of(units)
    stretched = alpha_of([[score * score * 10 for score in unit] for unit in units])
    assert stretched == (None if alpha is None else pytest.approx(alpha))


@given(PAIRS)
def test_kappa_is_between_minus_one_and_one_and_the_same_for_swapped_raters(pairs):
    kappa = quadratic_weighted_kappa(pairs)
    assert kappa is None or -1 - 1e-9 <= kappa <= 1
    swapped = Counter({(other, one): count for (one, other), count in pairs.items()})
    assert quadratic_weighted_kappa(swapped) == (None if kappa is None else pytest.approx(kappa))


@given(PAIRS, st.integers(2, 5))
def test_kappa_does_not_change_when_every_pair_counts_more_often(pairs, times):
    kappa = quadratic_weighted_kappa(pairs)
    more = {pair: times * count for pair, count in pairs.items()}
    assert quadratic_weighted_kappa(more) == (None if kappa is None else pytest.approx(kappa))


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n), min_size=1))))
def test_pass_hat_k_never_rises_with_k_and_starts_at_the_pass_rate(drawn):
    trials, passes = drawn
    curve = [pass_hat_k(passes, trials, k) for k in range(1, trials + 1)]
    assert curve == sorted(curve, reverse=True)
    assert curve[0] == pytest.approx(sum(passes) / (len(passes) * trials))
    assert curve[-1] == pytest.approx(passes.count(trials) / len(passes))


@given(st.dictionaries(st.sampled_from([-0.5, -0.25, 0.0, 0.25, 0.5, 1.0]), st.integers(1, 8), min_size=1))
@settings(max_examples=15)
def test_the_interval_of_a_mean_holds_it_in_any_order(values):
    low, high = mean_interval(values)
    assert [low, high] == mean_interval(dict(reversed(values.items())))
    assert min(values) - 1e-9 <= low <= mean_of_counts(values) + 1e-9
    assert mean_of_counts(values) - 1e-9 <= high <= max(values) + 1e-9


def test_drawing_and_the_normal_interval_agree_where_one_takes_over_from_the_other():
    drawn = Counter({-0.25: 50, 0.0: 300, 0.25: 100, 0.5: MOST_DRAWN - 450})
    normal = drawn + Counter({0.0: 1})
    assert mean_interval(drawn) == pytest.approx(mean_interval(normal), abs=0.002)


def covered(truth, intervals):
    found = list(intervals)
    return sum(low <= truth <= high for low, high in found) / len(found)


def test_the_interval_of_a_mean_covers_the_truth_about_as_often_as_it_says():
    chance = random.Random(3)
    samples = (Counter(chance.choice([-0.25, 0.0, 0.0, 0.25, 0.5]) for _ in range(30)) for _ in range(100))
    assert 0.88 <= covered(0.1, map(mean_interval, samples)) <= 1


def test_the_wilson_interval_covers_the_truth_about_as_often_as_it_says():
    chance = random.Random(4)
    hits = (sum(chance.random() < 0.1 for _ in range(50)) for _ in range(1000))
    assert 0.93 <= covered(0.1, (wilson_interval(found, 50) for found in hits)) <= 0.98


def test_the_wilson_interval_of_clusters_covers_the_truth_about_as_often_as_it_says():
    chance = random.Random(5)

    def interval():  # 80 conversations of 10 turns; each has a rate of its own, 0.2 on average
        clusters = Counter(
            (sum(chance.random() < own for _ in range(10)), 10) for own in chance.choices([0, 0.4], k=80)
        )
        rate, worth = sum(hits * count for (hits, _), count in clusters.items()) / 800, effective_size(clusters)
        return wilson_interval(rate * worth, worth)

    assert 0.92 <= covered(0.2, (interval() for _ in range(500))) <= 0.98


# Paired rates.


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
