"""The page shows the decision table of topic_pivot with the line that decided."""

from synthesis.api import load_cases
from synthesis.io import CASES
from synthesis.run.evaluator import Evaluator
from synthesis.server.pages.runs import decision_of
from synthesis.settings import TRAFFIC


def test_for_every_bundled_case_the_marked_line_is_the_verdict() -> None:
    evaluator, seen = Evaluator(profile=TRAFFIC), set()
    for case in load_cases(CASES):
        result = evaluator.evaluate([case])[0]
        found = decision_of(result)
        if found is None:
            assert "topic_pivot" not in result.checks
            continue
        deciding = [line for line in found.lines if line.decides]
        assert len(deciding) == (1 if result.checks["topic_pivot"].applicable else 0)
        assert all(line.passes == result.checks["topic_pivot"].passed for line in deciding)
        seen |= {found.lines.index(line) for line in deciding}
    assert len(seen) >= 3
