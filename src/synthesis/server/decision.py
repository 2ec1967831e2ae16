"""The decision table of topic_pivot, line by line, with the values of one exchange."""

from collections.abc import Callable
from typing import NamedTuple

from synthesis.checks.pivot import (
    BORDERLINE,
    BORDERLINE_PASS,
    CLEAR_FAIL,
    CLEAR_PASS,
    NAME,
    THRESHOLD,
    Facts,
)
from synthesis.checks.similarity import similarity_of
from synthesis.model import CaseResult, CheckResult
from synthesis.model.result import ERROR, FAIL, PASS
from synthesis.rules.reading import read_without_rules

OUTCOMES = {CLEAR_PASS: "pass", BORDERLINE_PASS: "pass (borderline)", CLEAR_FAIL: "fail"}


class Line(NamedTuple):
    """One line: the words of its condition, the condition, and what follows from it."""

    words: str
    holds: Callable[[Facts], bool]
    strength: str


LINES = (
    Line(
        f"It turns away, and similarity is below {THRESHOLD:.2f} (even if it acknowledges)",
        lambda facts: facts.pivots and facts.similarity < THRESHOLD,
        CLEAR_FAIL,
    ),
    Line("It acknowledges and follows up", lambda facts: facts.acknowledged and facts.followed_up, CLEAR_PASS),
    Line(f"Similarity is {THRESHOLD:.2f} or more", lambda facts: facts.similarity >= THRESHOLD, CLEAR_PASS),
    Line(
        f"It acknowledges, does not turn away, and similarity is {BORDERLINE:.2f} or more",
        lambda facts: facts.acknowledged and not facts.pivots and facts.similarity >= BORDERLINE,
        BORDERLINE_PASS,
    ),
    Line("None of these", lambda _: True, CLEAR_FAIL),
)


class Row(NamedTuple):
    """A line as it is shown: taken, passed over before, or not reached."""

    words: str
    outcome: str
    passes: bool
    taken: bool
    reached: bool


class Decision(NamedTuple):
    """The facts of one exchange, and the table with the line that decided; no facts where the check does not apply."""

    rows: list[Row]
    facts: Facts | None
    turn: int


def taken_line(facts: Facts) -> int:
    """The first line whose condition holds."""
    return next(number for number, line in enumerate(LINES) if line.holds(facts))


def decision_of(result: CaseResult, exchanges: list[tuple[str, str]]) -> Decision | None:
    """The table for the turn that decided the check; None where it was not asked for or has no verdict."""
    check = result.checks.get(NAME)
    if check is None or check.outcome == ERROR or "ack_present" not in check.evidence:
        return None
    turn = _deciding_turn(check)
    facts = _facts(check, result, *exchanges[turn]) if check.outcome in {PASS, FAIL} else None
    taken = taken_line(facts) if facts else -1
    rows = [
        Row(line.words, OUTCOMES[line.strength], line.strength != CLEAR_FAIL, number == taken, number <= taken)
        for number, line in enumerate(LINES)
    ]
    return Decision(rows, facts, turn)


def _deciding_turn(check: CheckResult) -> int:
    """A result over several turns carries the evidence of the one that decided."""
    return next((number for number, turn in enumerate(check.turns) if turn.evidence == check.evidence), 0)


def _facts(check: CheckResult, result: CaseResult, user: str, assistant: str) -> Facts:
    """The evidence shows a rounded similarity; the decision rests on the exact one."""
    user_language = result.languages.get("user_language", result.language)
    exact = similarity_of(read_without_rules(user, user_language), read_without_rules(assistant, result.language))
    evidence = check.evidence
    return Facts(evidence["ack_present"], bool(evidence["follow_up_hits"]), bool(evidence["pivot_hits"]), exact)
