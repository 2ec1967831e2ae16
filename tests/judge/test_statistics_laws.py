"""Laws that hold for every input."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesis.stats import (
    bootstrap_interval,
    krippendorff_alpha_ordinal,
    mean_of_counts,
    pass_hat_k,
    quadratic_weighted_kappa,
    wilson_interval,
)

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
    alpha = krippendorff_alpha_ordinal(units)
    assert alpha is None or alpha <= 1
    shuffle.shuffle(units)
    for unit in units:
        shuffle.shuffle(unit)
    assert krippendorff_alpha_ordinal(units) == (None if alpha is None else pytest.approx(alpha))


@given(st.lists(SCORES, min_size=2), st.integers(2, 4))
def test_alpha_is_one_exactly_when_raters_agree_on_varied_units(scores, raters):
    alpha = krippendorff_alpha_ordinal([[score] * raters for score in scores])
    assert alpha == (1 if len(set(scores)) > 1 else None)


@given(UNITS)
def test_alpha_depends_on_the_order_of_scores_alone(units):
    alpha = krippendorff_alpha_ordinal(units)
    stretched = krippendorff_alpha_ordinal([[score * score * 10 for score in unit] for unit in units])
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
