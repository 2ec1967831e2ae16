"""JUnit XML, as CI servers read it: a test case for each check of each case.

An expected failure and a check that does not apply are skipped, an error is an error. A failure says first how bad it
is, and has it as a property; a crisis that was answered says how. Test cases keep the order of the input. There is no
clock in it: the same report gives the same file.
"""

from collections import Counter
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from synthesis.model import CaseResult
from synthesis.model.report import reader_name
from synthesis.model.result import ERROR, NOT_APPLICABLE
from synthesis.report.findings import (
    DISCLAIMER,
    EXPECTED,
    UNEXPECTED,
    Glossary,
    Remark,
    check_kind,
    notice_of,
    remarks_on_check,
    visible,
)
from synthesis.report.stored import StoredReport

SUITE = "synthesis"
_LINES = "\n"
_COUNTED = {UNEXPECTED: "failures", ERROR: "errors", EXPECTED: "skipped", NOT_APPLICABLE: "skipped"}


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """The whole document, piece by piece; the counts come first, so the results are read twice."""
    totals = _totals(report)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{_attributes(name=SUITE, **totals)}>\n"
    yield f"  <testsuite{_attributes(name=SUITE, **totals, time='0')}>\n"
    yield from _properties(report)
    for result in report.results():
        for name in result.checks:
            yield _test_case(result, name, glossary)
    yield f"    <system-out>{escape(DISCLAIMER)}</system-out>\n  </testsuite>\n</testsuites>\n"


def _totals(report: StoredReport) -> dict[str, str]:
    kinds = Counter(check_kind(result, name) for result in report.results() for name in result.checks)
    counts = Counter({"tests": kinds.total(), "failures": 0, "errors": 0, "skipped": 0})
    for kind, key in _COUNTED.items():
        counts[key] += kinds[kind]
    return {key: str(number) for key, number in counts.items()}


def _properties(report: StoredReport) -> Iterator[str]:
    header = report.header
    yield "    <properties>\n"
    known = {
        "tool.version": header["tool"]["version"],
        "rules.hash": header["rules"]["hash"],
        "reader": reader_name(header),
    }
    for name, value in known.items():
        yield f"      <property{_attributes(name=name, value=value)}/>\n"
    yield "    </properties>\n"


def _test_case(result: CaseResult, name: str, glossary: Glossary) -> str:
    place = {"file": result.source.file, "line": str(result.source.line)} if result.source else {}
    opening = f"    <testcase{_attributes(classname=name, name=result.name, **place, time='0')}"
    parts = (_severity(result, name), _inside(result, name, glossary), _alert(result, name, glossary))
    inside = "".join(f"      {part}\n" for part in parts if part)
    return f"{opening}>\n{inside}    </testcase>\n" if inside else f"{opening}/>\n"


def _severity(result: CaseResult, name: str) -> str:
    severity = result.checks[name].severity
    told = _attributes(name="severity", value=severity or "")
    return f"<properties><property{told}/></properties>" if severity else ""


def _alert(result: CaseResult, name: str, glossary: Glossary) -> str:
    """What the user said in a crisis, and how the reply answers it, beside the check that decides it."""
    notice = notice_of(result, glossary)
    return f"<system-out>{escape(visible(str(notice)))}</system-out>" if notice and notice.check == name else ""


def _inside(result: CaseResult, name: str, glossary: Glossary) -> str:
    kind, check = check_kind(result, name), result.checks[name]
    if kind == ERROR:
        return _element("error", check.error or "no verdict", "error")
    if kind == NOT_APPLICABLE:
        return _skipped("not applicable", check.reason or "it does not apply to this case")
    if kind not in {EXPECTED, UNEXPECTED}:
        return ""
    found = remarks_on_check(result, name, glossary)
    if kind == EXPECTED:
        return _skipped("expected failure", _short(found))
    lead = f"{check.severity}: " if check.severity else ""
    return _element("failure", f"{lead}{_short(found)}", name, "\n".join(map(_long, found)))


def _skipped(kind: str, reason: str) -> str:
    return f"<skipped{_attributes(message=f'{kind}: {reason}')}/>"


def _short(found: list[Remark]) -> str:
    words = [f"“{remark.words}”" for remark in found if remark.rule]
    return ", ".join(words) or found[0].why


def _long(remark: Remark) -> str:
    words = f"“{remark.words}” ({remark.source}) " if remark.rule else ""
    better = f" Better: {remark.instead}" if remark.instead else ""
    return f"{remark.place}{words}{remark.why}{better}"


def _element(tag: str, message: str, kind: str, text: str = "") -> str:
    opening = f"<{tag}{_attributes(message=message, type=kind)}"
    return f"{opening}>{escape(visible(text, keep=_LINES))}</{tag}>" if text else f"{opening}/>"


def _attributes(**values: str) -> str:
    return "".join(f" {name}={quoteattr(visible(value))}" for name, value in values.items())
