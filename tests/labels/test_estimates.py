"""Rates over all rows from a labelled sample: worked examples, laws, and coverage on drawn samples."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesis.labels import SampleLabel, missed_at_most, precision, recall, weighted_rate
from synthesis.stats import wilson_interval


def cell(stratum, probability, *, positive=0, negative=0, unlabelled=0, flagged=False):
    said = [True] * positive + [False] * negative + [None] * unlabelled
    return [SampleLabel(stratum, probability, flagged, answer) for answer in said]


def test_a_rate_counts_each_row_for_as_many_as_it_stands_for():
    # 100 flagged of which 80 % are positive, 900 others of which 10 % are: 80 + 90 of 1000.
    rows = [
        *cell("flagged", 0.5, positive=40, negative=10, flagged=True),
        *cell("rest", 0.1, positive=9, negative=81),
    ]
    found = weighted_rate(rows)
    assert found.value == pytest.approx(0.17)
    assert found.interval[0] < 0.17 < found.interval[1]
    assert (found.labelled, found.drawn) == (140, 140)
    assert precision(rows).value == pytest.approx(0.8)
    assert recall(rows).value == pytest.approx(80 / 170)


def test_one_stratum_of_endless_rows_has_the_wilson_interval():
    found = weighted_rate(cell("all", 1e-9, positive=7, negative=33))
    assert found.interval == pytest.approx(wilson_interval(7, 40))


def test_a_stratum_that_was_labelled_whole_leaves_no_doubt():
    found = weighted_rate(cell("all", 1.0, positive=7, negative=33))
    assert found.interval == [0.175, 0.175]


def test_skipped_rows_widen_the_interval_and_leave_the_weights_alone():
    rows = cell("rest", 0.1, positive=1, negative=9, unlabelled=90) + cell("flagged", 1.0, positive=10, flagged=True)
    found = weighted_rate(rows)
    assert found.value == pytest.approx((10 + 0.1 * 1000) / 1010)
    assert (found.labelled, found.drawn) == (20, 110)


def test_without_a_label_in_a_stratum_nothing_is_said():
    rows = cell("flagged", 1.0, positive=10, flagged=True) + cell("rest", 0.1, unlabelled=5)
    for figure in (weighted_rate(rows), recall(rows)):
        assert figure.value is None
        assert figure.interval is None
        assert figure.reason == "no unflagged row of the stratum 'rest' has a label yet"
    assert precision(rows).value == 1.0
    assert weighted_rate([]).reason == "no row was drawn"
    assert precision(cell("rest", 0.1, negative=5)).reason == "the check flags no drawn row"


def test_recall_is_unknown_while_no_positive_is_found_among_the_unflagged():
    rows = cell("flagged", 1.0, positive=30, flagged=True) + cell("rest", 1e-9, negative=100)
    found = recall(rows)
    assert found.value is None
    assert found.interval is None
    assert found.reason == "nobody has found a positive among the unflagged"
    assert found.missed_at_most == pytest.approx(1 - 0.05 ** (1 / 100))


def test_the_bound_is_the_worst_that_all_strata_together_allow():
    # Among 60 + 40 labels without a positive, p and q with (1-p)^60 (1-q)^40 = 0.05 are possible; searched by hand.
    rows = cell("near", 1e-9 * 0.6 / 0.3, negative=60) + cell("rest", 1e-9 * 0.4 / 0.7, negative=40)
    shares = (step / 10_000 for step in range(487))
    worst = max(0.3 * p + 0.7 * (1 - (0.05 / (1 - p) ** 60) ** (1 / 40)) for p in shares)
    assert missed_at_most(rows) == pytest.approx(worst, abs=1e-6)


def test_nothing_is_missed_where_everything_unflagged_was_labelled():
    assert missed_at_most(cell("rest", 1.0, negative=5)) == 0
    assert missed_at_most(cell("rest", 0.5, positive=1, negative=5)) is None


def test_a_probability_outside_of_0_and_1_is_refused():
    with pytest.raises(ValueError, match="probability 0"):
        weighted_rate(cell("rest", 0.0, negative=1))


ANSWERS = st.lists(
    st.builds(SampleLabel, st.sampled_from("ab"), st.sampled_from([0.05, 0.5, 1.0]), st.booleans(), st.booleans()),
    min_size=1,
    max_size=30,
)


@given(ANSWERS, st.randoms())
def test_an_interval_holds_its_estimate_within_0_and_1_whatever_the_order(rows, shuffle):
    figures = [weighted_rate(rows), precision(rows), recall(rows)]
    for figure in figures:
        if figure.value is not None:
            low, high = figure.interval
            assert -1e-9 <= low <= figure.value + 1e-9
            assert figure.value - 1e-9 <= high <= 1 + 1e-9
    shuffle.shuffle(rows)
    assert [weighted_rate(rows), precision(rows), recall(rows)] == figures


@pytest.mark.parametrize(("figure", "truth"), [(weighted_rate, 0.0397), (recall, 0.0130 / 0.0397)])
def test_intervals_hold_the_truth_in_about_95_of_100_samples(figure, truth):
    """20,000 rows: 400 flagged (260 positive), 1,600 near (160), 18,000 rest (374); 70 labels of each."""
    population = {"flagged": (400, 260), "near": (1600, 160), "rest": (18_000, 374)}
    draw, held, unknown = random.Random(5), 0, 0
    for _ in range(300):
        rows = []
        for stratum, (size, positive) in population.items():
            found = sum(place < positive for place in draw.sample(range(size), 70))
            flagged = stratum == "flagged"
            rows += cell(stratum, 70 / size, positive=found, negative=70 - found, flagged=flagged)
        estimate = figure(rows)
        unknown += estimate.value is None
        held += estimate.value is None or estimate.interval[0] <= truth <= estimate.interval[1]
    assert unknown == 0
    assert 0.92 <= held / 300 <= 1
