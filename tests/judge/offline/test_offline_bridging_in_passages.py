"""Completeness where the context is plain passages."""

from offline_samples import BRIDGE, WHEN, bridged


def test_a_direct_answer_is_good():
    assert bridged("The harbour bridge was opened in 1932.", BRIDGE, WHEN) == 4


def test_a_direct_answer_with_its_reason_is_excellent():
    answer = "The harbour bridge was opened in 1932, because the mayor wanted a shorter way for cars."
    assert bridged(answer, BRIDGE, WHEN) == 5


def test_nothing_found_fails_where_the_context_has_the_answer():
    assert bridged("I could not find any information about that.", BRIDGE, WHEN) == 1


def test_nothing_found_is_right_where_the_context_has_nothing():
    assert bridged("I could not find any information about that.", BRIDGE, "Who wrote Hamlet?") == 4


def test_advice_without_a_reason_is_descriptive_only():
    question = "I want to cross the bay cheaply. What do you recommend?"
    described = "The harbour bridge carries many cars every day and the toll is charged by day."
    assert bridged(described, BRIDGE, question) == 3


def test_a_bare_list_of_advice_fails():
    question = "I want to cross the bay cheaply. What do you recommend?"
    assert bridged("- Harbour bridge\n- Northern tower", BRIDGE, question) == 1


OPENING = ("The library opens at nine.", "It is closed on Sundays.")


def test_a_short_answer_is_a_direct_one():
    assert bridged("At nine, except on Sundays.", OPENING, "When does the library open?") == 4


def test_a_short_answer_that_the_context_does_not_place_is_not_a_direct_one():
    assert bridged("Bananas.", OPENING, "When does the library open?") == 2
