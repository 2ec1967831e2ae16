"""The table that the page shows decides as the check does."""

from hypothesis import given
from hypothesis import strategies as st

from synthesis import run_case
from synthesis.api import load_cases
from synthesis.bundled import CASES
from synthesis.checks.pivot import Facts, decide
from synthesis.server.decision import LINES, decision_of, taken_line

facts = st.builds(
    Facts,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.one_of(st.floats(0, 1), st.sampled_from([0.2999, 0.3, 0.4499, 0.45])),
)


@given(facts)
def test_the_first_line_that_holds_says_what_the_check_decides(facts: Facts) -> None:
    assert LINES[taken_line(facts)].strength == decide(facts).strength


def test_for_every_bundled_case_the_marked_line_is_the_verdict() -> None:
    seen = set()
    for case in load_cases(CASES):
        result = run_case(case)
        found = decision_of(result, case.exchanges)
        if found is None:
            assert "topic_pivot" not in result.checks
            continue
        taken = [row for row in found.rows if row.taken]
        assert len(taken) == (1 if result.checks["topic_pivot"].applicable else 0)
        assert all(row.passes == result.checks["topic_pivot"].passed for row in taken)
        seen |= {found.rows.index(row) for row in taken}
    assert len(seen) >= 3
