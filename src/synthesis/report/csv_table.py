"""CSV (RFC 4180) for spreadsheets: a row for each check of each case, in the order of the input."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from synthesis.model import CaseResult
from synthesis.report.findings import EXPECTED, Glossary, check_kind, notice_of, remarks_on_check, visible
from synthesis.report.stored import StoredReport

COLUMNS = (
    *("id", "check", "outcome", "expected_failure", "label", "label_matches", "language", "tags"),
    *("rules", "words", "why", "better", "note", "file", "line", "alert", "severity"),
)
# A cell that begins with one of these is a formula to a spreadsheet; the full-width forms are read alike.
_FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """The header and the rows; a cell that a spreadsheet would run as a formula gets an apostrophe in front."""
    yield _line(COLUMNS)
    for result in report.results():
        alert = str(notice_of(result, glossary) or "")
        for name in result.checks:
            row = _row(result, name, glossary) | {"alert": alert}
            yield _line(tuple(row.get(column, "") for column in COLUMNS))


def _row(result: CaseResult, name: str, glossary: Glossary) -> dict[str, Any]:
    check, label = result.checks[name], result.label_comparison.get(name)
    row = {
        "id": result.name,
        "check": name,
        "outcome": check.outcome,
        "severity": check.severity or "",
        "expected_failure": _yes_no(check_kind(result, name) == EXPECTED),
        "language": result.language,
        "tags": " ".join(result.tags),
        "note": check.error or check.reason or "",
        "file": result.source.file if result.source else "",
        "line": str(result.source.line) if result.source else "",
    }
    if label:
        row |= {"label": "pass" if label.expected else "fail", "label_matches": _yes_no(label.match)}
    return row | _why(result, name, glossary)


def _why(result: CaseResult, name: str, glossary: Glossary) -> dict[str, str]:
    found = remarks_on_check(result, name, glossary)
    return {
        "rules": " ".join(dict.fromkeys(remark.rule for remark in found if remark.words)),
        "words": " | ".join(remark.words for remark in found if remark.words),
        "why": " ".join(dict.fromkeys(remark.why for remark in found)),
        "better": " ".join(dict.fromkeys(remark.instead for remark in found if remark.instead)),
    }


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"


def _line(cells: tuple[str, ...]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerow(map(_cell, cells))
    return text.getvalue()


def _cell(text: str) -> str:
    return f"'{visible(text)}" if text.startswith(_FORMULA_STARTS) else visible(text)
