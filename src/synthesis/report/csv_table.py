"""CSV (RFC 4180) for spreadsheets: a row for each check of each case."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from synthesis.report.glossary import Glossary
from synthesis.report.plain import visible
from synthesis.report.reading import Record, StoredReport
from synthesis.report.verdicts import EXPECTED, UNEXPECTED, check_kind, check_outcome, reasons

COLUMNS = (
    *("id", "check", "outcome", "expected_failure", "label", "label_matches", "language", "tags"),
    *("rules", "words", "why", "better", "note", "file", "line"),
)
# A cell that begins with one of these is a formula to a spreadsheet; the full-width forms are read alike.
_FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """The header and the rows; a cell that a spreadsheet would run as a formula gets an apostrophe in front."""
    yield _line(COLUMNS)
    for result in report.results():
        for name in result["checks"]:
            row = _row(result, name, glossary)
            yield _line(tuple(row.get(column, "") for column in COLUMNS))


def _row(result: Record, name: str, glossary: Glossary) -> dict[str, Any]:
    check, kind = result["checks"][name], check_kind(result, name)
    label, source = result.get("label_comparison", {}).get(name), result.get("source", {})
    row = {
        "id": result["id"],
        "check": name,
        "outcome": check_outcome(check),
        "expected_failure": _yes_no(kind == EXPECTED),
        "language": result["language"],
        "tags": " ".join(result.get("tags", ())),
        "note": check.get("error") or check.get("reason") or "",
        "file": source.get("file", ""),
        "line": str(source.get("line", "")),
    }
    if label:
        row |= {"label": "pass" if label["expected"] else "fail", "label_matches": _yes_no(label["match"])}
    return row | (_why(result, name, glossary) if kind in {EXPECTED, UNEXPECTED} else {})


def _why(result: Record, name: str, glossary: Glossary) -> dict[str, str]:
    found = reasons(result, name, glossary)
    return {
        "rules": " ".join(dict.fromkeys(reason.rule for reason in found if reason.words)),
        "words": " | ".join(reason.words for reason in found if reason.words),
        "why": " ".join(dict.fromkeys(reason.why for reason in found)),
        "better": " ".join(dict.fromkeys(reason.instead for reason in found if reason.instead)),
    }


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"


def _line(cells: tuple[str, ...]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerow(map(_cell, cells))
    return text.getvalue()


def _cell(text: str) -> str:
    return f"'{visible(text)}" if text.startswith(_FORMULA_STARTS) else visible(text)
