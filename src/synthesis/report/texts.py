"""Texts for a report that was written without them, from the cases that it was made of."""

from collections.abc import Mapping

import msgspec

from synthesis.errors import InputError
from synthesis.model import Case
from synthesis.report.reading import Record, StoredReport
from synthesis.report.verdicts import exchanges, has_texts


def with_texts(report: StoredReport, cases: Mapping[str, Case]) -> StoredReport:
    """The report with the texts of these cases where it has none; InputError if they are not what was evaluated."""
    return report.changed(lambda result: _with_text(result, cases.get(result["id"])))


def _with_text(result: Record, case: Case | None) -> Record:
    if case is None or has_texts(result):
        return result
    if case.messages:
        filled = result | {"messages": msgspec.to_builtins(case.messages)}
    else:
        filled = result | {"user": case.user, "assistant": case.assistant}
    if not all(_fits(finding, exchanges(filled)) for finding in result["findings"]):
        raise InputError(
            f"the case {case.id} is not the one that was evaluated: its words differ from the report's evidence",
            hint="Give the case file that the report was made from.",
        )
    return filled


def _fits(finding: Record, turns: list[tuple[str, str]]) -> bool:
    if finding["turn"] >= len(turns):
        return False
    said: str = turns[finding["turn"]][0 if finding["where"] == "user" else 1]
    words: str = finding["text"]
    return said[finding["start"] : finding["end"]] == words
