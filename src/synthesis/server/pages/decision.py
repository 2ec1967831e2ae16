"""How topic_pivot decided: its table, with the line that the reply met."""

from typing import Any, NamedTuple

from synthesis.checks import pivot
from synthesis.checks.pivot import BORDERLINE_PASS, CLEAR_FAIL, CLEAR_PASS, DECISION_TABLES
from synthesis.model import CaseResult
from synthesis.model.result import ERROR
from synthesis.settings import TRAFFIC

STRENGTHS = {
    CLEAR_PASS: "pass",
    BORDERLINE_PASS: "pass (borderline)",
    CLEAR_FAIL: "fail",
}


class DecisionLine(NamedTuple):
    """A line of topic_pivot's decision table: decided, passed over before, or not reached."""

    condition: str
    outcome: str
    passes: bool
    decides: bool
    reached: bool


class Decision(NamedTuple):
    """The table with the line that decided, for the reply of `turn`; no evidence if the check does not apply."""

    lines: list[DecisionLine]
    evidence: dict[str, Any] | None
    turn: int


def decision_of(result: CaseResult) -> Decision | None:
    """How topic_pivot decided; None if it was not asked for or ended in error."""
    check = result.checks.get(pivot.NAME)
    if check is None or check.outcome == ERROR:
        return None
    names = [row.name for row in DECISION_TABLES[TRAFFIC]]
    decided = names.index(check.evidence["decision"]) if check.applicable else -1
    lines = [
        DecisionLine(
            row.condition,
            STRENGTHS[row.strength],
            row.strength != CLEAR_FAIL,
            number == decided,
            number <= decided,
        )
        for number, row in enumerate(DECISION_TABLES[TRAFFIC])
    ]
    # A result over several turns carries the evidence of the one that decided.
    turn = next((number for number, one in enumerate(check.turns) if one.evidence == check.evidence), 0)
    return Decision(lines, check.evidence if check.applicable else None, turn)
