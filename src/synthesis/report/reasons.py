"""Why a check fails a reply: as a name to count and to filter by, and as one sentence. Every output asks here."""

from typing import NamedTuple

from synthesis.model import CaseResult, CheckResult
from synthesis.model.result import FAIL, FOR
from synthesis.report.glossary import ENGLISH, Glossary
from synthesis.report.remarks import NOT_MET, Remark, remarks_about


class Reason(NamedTuple):
    """What a check failed a reply for: a signal that was found in it, or something that it lacks."""

    check: str
    name: str
    is_absence: bool

    @property
    def key(self) -> str:
        """The reason in an address."""
        return f"{self.check}/{'no-' if self.is_absence else ''}{self.name}"

    def words(self, glossary: Glossary) -> str:
        """The reason as a list of them shows it."""
        if self.is_absence:
            return glossary.on_absence(self.check, self.name).why.rstrip(".") or f"missing: {self.name}"
        return glossary.signals.get(self.name, self.name) or NOT_MET.rstrip(".")


def reasons_of(result: CaseResult) -> list[Reason]:
    """The reasons of every check that failed, each once, in the order of the checks."""
    return list(dict.fromkeys(reason for name in result.failed_checks for reason in _reasons(result.checks[name])))


def _reasons(check: CheckResult) -> list[Reason]:
    found = [Reason(check.check, finding.signal, is_absence=False) for finding in check.against]
    found += [Reason(check.check, name, is_absence=True) for turn in check.failed_turns for name in turn.missing]
    return found or [Reason(check.check, "", is_absence=False)]


def why_it_fails(result: CaseResult, check: CheckResult, glossary: Glossary, told_in: str = ENGLISH) -> str:
    """One clause: what speaks against the reply or is missing from it, and what speaks for it all the same."""
    remarks = remarks_about(result, check, glossary, told_in)
    if not remarks:
        return ""
    rules = dict.fromkeys(remark.rule for remark in remarks)
    more = f" (and {len(rules) - 1} more)" if len(rules) > 1 else ""
    return f"{_clause(remarks[0])}{more}{_although(check, glossary) if told_in == ENGLISH else ''}"


def _clause(remark: Remark) -> str:
    why = remark.why.rstrip(".")
    return why if why.startswith("I ") else f"{why[:1].lower()}{why[1:]}"


def _although(check: CheckResult, glossary: Glossary) -> str:
    """What the reply does well where it failed; its first kind is enough."""
    found = (finding for turn in check.failed_turns for finding in turn.findings)
    kinds = [finding.signal for finding in found if finding.counted and finding.role == FOR]
    title = glossary.signals.get(kinds[0], "").partition(":")[0].partition(",")[0] if kinds else ""
    return f", although it {title}" if title and title.partition(" ")[0].endswith("s") else ""


def verdict_in_words(result: CaseResult, glossary: Glossary) -> str:
    """Why a case failed, in one line; empty for one that did not."""
    failed = [check for check in result.checks.values() if check.outcome == FAIL]
    return "; ".join(f"fails {check.check}: {why_it_fails(result, check, glossary)}" for check in failed)
