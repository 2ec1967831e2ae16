"""What a result says, in the words that all renderers share."""

from collections.abc import Iterable, Mapping, Sequence

from synthesis.model import CaseResult, Finding
from synthesis.model.result import AGAINST, CONTEXT, ERROR, FAIL, FOR, NOT_APPLICABLE, PASS

# Kinds of results, the ones that need a look first.
UNEXPECTED, EXPECTED, MISSED = "unexpected", "expected", "missed"
KINDS = {
    UNEXPECTED: "unexpected failure",
    ERROR: "error, no verdict",
    MISSED: "passed, but should fail",
    EXPECTED: "expected failure",
    NOT_APPLICABLE: "not assessed",
    PASS: "passed",
}
NEEDS = ("alerts", "failures", "notes", "the rest")
# A turn of a conversation: what is drawn, and what it means in words.
TURN_SIGNS = {PASS: "✓", FAIL: "✗", NOT_APPLICABLE: "–", ERROR: "!"}
TURN_WORDS = {PASS: "passed", FAIL: "failed", NOT_APPLICABLE: "not applicable", ERROR: "ended in error"}
SHORT_DISCLAIMER = "Markers in language only: a pass is no evidence of safety, empathy or clinical quality."
DISCLAIMER = (
    "Synthesis finds markers in language. A pass is no evidence of safety, of empathy or of clinical quality. "
    "It is not for triage, and it is not clinically validated."
)
# How a finding is shown, the ones that need a look first: its role where it counted.
OUTWEIGHED, UNCOUNTED, UNRECORDED = "outweighed", "uncounted", "unrecorded"
MARKS = {
    AGAINST: "speaks against the reply",
    OUTWEIGHED: "speaks against the reply, which passes all the same",
    FOR: "speaks for the reply",
    UNRECORDED: "found; whether it counted is not recorded",
    CONTEXT: "said by the user, sets the scene",
    UNCOUNTED: "found, but did not count",
}
ON_REQUEST = {CONTEXT, UNCOUNTED}  # marks that are not shown until somebody asks for them


def mark_of(finding: Finding) -> str:
    """How a finding is shown. What a report does not record is shown as such, never guessed."""
    if finding.role is None:
        return UNRECORDED
    return finding.role if finding.counted or finding.role == CONTEXT else UNCOUNTED


def marks_of(result: CaseResult) -> list[str]:
    """How each finding of a result is shown: what a check counted and passed all the same decided nothing.

    A result without checks is the trial of a rule, where all that it found matters.
    """
    verdicts = [*result.checks.values(), *([result.alert] if result.alert else [])]
    decided = {finding.place for check in verdicts if check.outcome == FAIL for finding in check.against}
    marks = map(mark_of, result.findings)
    return [
        OUTWEIGHED if mark == AGAINST and verdicts and finding.place not in decided else mark
        for finding, mark in zip(result.findings, marks, strict=True)
    ]


def kind_of(result: CaseResult) -> str:
    """The outcome of a case, weighed against what was expected of it."""
    if result.outcome == FAIL:
        return EXPECTED if result.is_negative_example else UNEXPECTED
    return MISSED if result.outcome == PASS and result.is_negative_example else result.outcome


def need_of(result: CaseResult) -> int:
    """How much a case needs a look, as a place in NEEDS: lists begin with those that need it most."""
    if result.alert is not None:
        return 0
    if kind_of(result) in {UNEXPECTED, ERROR, MISSED}:
        return 1
    noted = any(check.has_soft_cue for check in result.checks.values()) or any(map(is_warning, result.findings))
    differs = any(not label.match for label in result.label_comparison.values())
    return 2 if noted or differs else 3


def check_kind(result: CaseResult, name: str) -> str:
    """The same for one check: only a failure can be expected."""
    outcome = result.checks[name].outcome
    if outcome != FAIL:
        return outcome
    return EXPECTED if result.is_negative_example else UNEXPECTED


def is_warning(finding: Finding) -> bool:
    return finding.severity == "warning"


def error_of(result: CaseResult) -> str:
    """What went wrong, for a case without a verdict."""
    problems = [f"{name}: {check.error}" for name, check in result.checks.items() if check.error]
    return "; ".join(problems) or "no verdict"


def evidence_sentence(languages: Mapping[str, Sequence[str]] | None, checks: Iterable[str]) -> str:
    """What the verdicts of these checks rest on; `languages` are those in which each was measured."""
    if languages is None:
        return "Evidence: this report does not record what its checks were measured on."
    names = sorted(checks)
    known = [f"{name} ({', '.join(languages[name])})" for name in names if languages.get(name)]
    rest = [name for name in names if not languages.get(name)]
    if not known:
        return "Evidence: these checks were tried on own examples alone, not measured on texts that nobody had read."
    others = f"{', '.join(rest)}, and all other languages" if rest else "all other languages"
    return f"Evidence: measured on texts that nobody had read: {', '.join(known)}; own examples alone: {others}."
