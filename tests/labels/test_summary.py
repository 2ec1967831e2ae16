"""What labels say together: agreement by first answers, disputes, precision and recall."""

import pytest

from synthesis.errors import OptionError
from synthesis.labels import (
    NOT_DRAWN,
    Label,
    Person,
    RowSampling,
    RunSampling,
    StratifiedSample,
    checked_person,
    consensus,
    letters,
    summarize,
)

ANA, BO, CY = (Person(name, True) for name in ("Ana", "Bo", "Cy"))
CHECK = "topic_pivot"


def label(position, person, answer, first=None, given="2026-11-01T08:00:00.000Z"):
    return Label(position, CHECK, person, answer, first or answer, given)


def figures(labels, verdicts, **more):
    flagged = {CHECK: sum(outcome == "fail" for outcome in verdicts.values())}
    return summarize(labels, {(place, CHECK): outcome for place, outcome in verdicts.items()}, flagged, **more)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (["yes"], "yes"),
        (["yes", "yes", "no"], "yes"),
        (["yes", "no"], None),
        (["no", "does_not_apply", "does_not_apply"], "does_not_apply"),
        (["no", "does_not_apply"], "no"),
        (["yes", "no", "does_not_apply"], "no"),
        ([], None),
    ],
)
def test_more_than_half_decide(answers, said):
    assert consensus(answers) == said


def test_precision_counts_the_failures_on_which_people_are_of_one_mind():
    said = [(0, "yes"), (1, "yes"), (2, "no"), (3, "does_not_apply"), (5, "yes")]
    labels = [label(place, ANA, answer) for place, answer in said]
    labels += [label(1, BO, "no"), label(4, BO, "skip")]
    found = figures(labels, {0: "fail", 1: "fail", 2: "fail", 3: "fail", 4: "fail", 5: "pass"})
    (one,) = found.questions
    assert one.precision.value == pytest.approx(1 / 3)  # 0 right; 2 and 3 wrong; 1 disputed; 4 skipped; 5 passed
    assert (one.precision.labelled, one.precision.drawn) == (3, 5)
    cells = one.against_people
    assert (cells.both, cells.check_only, cells.people_only, cells.neither) == (1, 2, 1, 0)
    assert one.answers == {"does_not_apply": 1, "no": 2, "yes": 3}
    assert found.disputed == [(1, CHECK)]
    assert (found.people, found.unverified, found.labels) == (2, 0, 6)


def test_recall_is_given_for_a_drawn_run_alone():
    labels = [label(0, ANA, "yes"), label(1, ANA, "yes")]
    verdicts = {0: "fail", 1: "pass"}
    (plain,) = figures(labels, verdicts).questions
    assert plain.recall.value is None
    assert plain.recall.reason == NOT_DRAWN
    rows = (RowSampling("flagged", 1.0), RowSampling("rest", 0.25))
    (drawn,) = figures(labels, verdicts, sampling=RunSampling(7, rows)).questions
    assert drawn.recall.value == pytest.approx(1 / 5)  # the second case stands for four


def test_agreement_goes_by_first_answers_and_leaves_skips_out():
    labels = [label(place, who, "yes" if place < 4 else "no") for place in range(8) for who in (ANA, BO)]
    labels += [label(place, CY, "skip") for place in range(8)]
    assert figures(labels, {}).questions[0].agreement.alpha == 1
    changed = [label(place, BO, "yes", first="no") for place in range(4)]
    kept = [one for one in labels if not (one.person == BO and one.position < 4)]
    (one,) = figures(kept + changed, {}).questions
    assert one.agreement.alpha < 0.2
    assert one.disputed == 0
    assert one.agreement.interval is not None


def test_no_agreement_without_a_second_person():
    (one,) = figures([label(0, ANA, "yes")], {}).questions
    assert one.agreement.reason == "no two have rated the same cases"


def test_no_and_does_not_apply_are_no_dispute():
    assert figures([label(0, ANA, "no"), label(0, BO, "does_not_apply")], {}).disputed == []


def test_names_become_letters_in_the_order_of_first_labels():
    labels = [label(0, BO, "no", given="2026-11-01"), label(1, ANA, "no", given="2026-11-02"), label(2, BO, "yes")]
    assert letters(labels) == {BO: "A", ANA: "B"}
    many = [label(n, Person(f"{n:02}", False), "no", given=f"{n:03}") for n in range(28)]
    assert list(letters(many).values())[25:] == ["Z", "AA", "AB"]


@pytest.mark.parametrize("name", ["", "  ", "a\x1b[31m", "x" * 81, "\u202eevil"])
def test_a_name_that_cannot_be_shown_is_refused(name):
    with pytest.raises(OptionError, match="usable name"):
        checked_person(name, verified=False)


def test_a_drawn_run_is_asked_about_stratum_by_stratum():
    sample = StratifiedSample[None](4, seed=1)
    for number in range(40):
        sample.add(str(number), "ab"[number % 2], None)
    drawn = RunSampling.of_rows(sample.rows(), 1)
    assert [drawn.rows[position].stratum for position in drawn.order()] == ["a", "b", "a", "b"]
    assert RunSampling.of_conditions({"sampling": {"seed": 1, "rows": [{"stratum": "a", "probability": 0}]}}) is None
    assert RunSampling.of_conditions({}) is None
