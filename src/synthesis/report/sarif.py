"""SARIF 2.1.0, as code scanning reads it: a result for each wording that fails a check, at the line of the case.

`why` is the message, `instead` the help; an expected failure is suppressed. The severity decides level and rank, and
what fails nothing is a note. A crisis that was answered is informational. Cases without a verdict are notifications of
the tool, since nothing is known about them.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

import msgspec

from synthesis.model import CaseResult
from synthesis.model.report import reader_name
from synthesis.model.result import CRITICAL, ERROR, FAIL, MINOR, SERIOUS
from synthesis.report.findings import (
    AlertNotice,
    Glossary,
    Remark,
    error_of,
    how_to_read,
    is_warning,
    notice_of,
    on_finding,
    remarks_on,
    visible,
)
from synthesis.report.stored import Record, StoredReport

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {CRITICAL: "error", SERIOUS: "error", MINOR: "warning"}
_RANKS = {CRITICAL: 100.0, SERIOUS: 60.0, MINOR: 20.0}  # of 100; viewers sort by it
_encode = msgspec.json.Encoder().encode


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """The whole log. Results come before the tool, so that its rules can be those that the results name."""
    rules: dict[str, Record] = {}
    yield f'{{"$schema":"{SCHEMA}","version":"2.1.0","runs":[{{"columnKind":"unicodeCodePoints","results":['
    yield from _joined(entry for result in report.results() for entry in _entries(result, glossary, rules))
    successful = "false" if report.summary["errors"] else "true"
    yield f'],"invocations":[{{"executionSuccessful":{successful},"toolExecutionNotifications":['
    yield from _joined(_notification(result) for result in report.results() if result.outcome == ERROR)
    yield f']}}],"tool":{_encode(_tool(report, rules)).decode()}}}]}}\n'


def _joined(entries: Iterable[Record]) -> Iterator[str]:
    separator = "\n"
    for entry in entries:
        yield separator + _encode(entry).decode()
        separator = ",\n"


def _entries(result: CaseResult, glossary: Glossary, rules: dict[str, Record]) -> Iterator[Record]:
    notice = notice_of(result, glossary)
    if result.outcome != ERROR:
        for remark in remarks_on(result, glossary):
            entry = _entry(result, remark, "error", rules, glossary) | _weight(result, remark, notice)
            yield entry | ({"suppressions": [_suppression()]} if result.is_negative_example else {})
    if notice and result.alert and result.alert.outcome != FAIL:
        told = Remark(notice.check, str(notice))
        yield _entry(result, told, "none", rules, glossary) | {"kind": "informational"}
    for finding in filter(is_warning, result.findings):
        remark = on_finding("", finding, result.language_of(finding.where), glossary)
        yield _entry(result, remark, "note", rules, glossary)


def _weight(result: CaseResult, remark: Remark, notice: AlertNotice | None) -> Record:
    """How bad a failure is; earlier reports do not say it. A crisis brings the user's words with it."""
    check = remark.check
    severity = result.checks[check].severity
    if severity is None:
        return {}
    alert = {"alert": visible(str(notice))} if notice and notice.check == check else {}
    return {
        "level": _LEVELS[severity],
        "rank": _RANKS[severity],
        "properties": {"check": check, "severity": severity, **alert, **_learned(remark)},
    }


def _learned(remark: Remark) -> Record:
    return {"reader": remark.reader, "share": remark.share} if remark.reader else {}


def _entry(result: CaseResult, remark: Remark, level: str, rules: dict[str, Record], glossary: Glossary) -> Record:
    """One result; what is missing in a reply is filed under its check, which has no rule for it."""
    name = remark.rule or remark.check
    rules.setdefault(name, _rule(remark, len(rules), glossary))
    words = f"“{visible(remark.words)}”: " if remark.rule else ""
    parts = (remark.words,) if remark.rule else (remark.why,)
    return {
        "ruleId": name,
        "ruleIndex": rules[name]["index"],
        "level": level,
        "message": {"text": _literal(f"{result.name}: {remark.place}{words}{remark.why or name}")},
        "locations": [_location(result)],
        "partialFingerprints": {"caseRuleWords/v1": _fingerprint(result.name, name, *parts)},
        **({"properties": _learned(remark)} if remark.reader else {}),
    }


def _fingerprint(*parts: str) -> str:
    """The same for the same words in the same case, wherever its line has moved to."""
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _rule(remark: Remark, index: int, glossary: Glossary) -> Record:
    if not remark.rule:
        title = glossary.checks.get(remark.check) or remark.check
        return {"id": remark.check, "index": index, "shortDescription": {"text": title}}
    rule: dict[str, Any] = {"id": remark.rule, "index": index, "shortDescription": {"text": remark.why or remark.rule}}
    read = f"More: {command}" if (command := how_to_read(remark.rule)) else ""
    told = " ".join(filter(None, (remark.instead, read)))
    return rule | ({"help": {"text": told}} if told else {})


def _location(result: CaseResult) -> Record:
    logical = {"logicalLocations": [{"name": result.name, "kind": "case"}]}
    if result.source is None:
        return logical
    place = {"artifactLocation": {"uri": _uri(result.source.file)}}
    return {"physicalLocation": place | {"region": {"startLine": result.source.line}}} | logical


def _uri(file: str) -> str:
    """A path as a reference: relative where it is, so that a viewer can find it in its own checkout."""
    if PureWindowsPath(file).drive and "\\" in file:
        return PureWindowsPath(file).as_uri()
    if file.startswith("/"):
        return PurePosixPath(file).as_uri()
    return quote(visible(file), safe="/:" if file.startswith("bundled:") else "/")


def _suppression() -> Record:
    return {"kind": "inSource", "status": "accepted", "justification": "A negative example: this reply should fail."}


def _notification(result: CaseResult) -> Record:
    text = _literal(f"{result.name}: {visible(error_of(result))}")
    return {"level": "error", "message": {"text": text}, "locations": [_location(result)]}


def _tool(report: StoredReport, rules: dict[str, Record]) -> Record:
    tool = report.header["tool"]
    descriptors = [{key: value for key, value in rule.items() if key != "index"} for rule in rules.values()]
    conditions = {"profile": report.header.get("profile", ""), "reader": reader_name(report.header)}
    driver = {"name": tool["name"], "version": tool["version"], "rules": descriptors, "properties": conditions}
    return {"driver": driver}


def _literal(text: str) -> str:
    """Braces mean placeholders in a SARIF message, and `[a](b)` a link; here they are plain text."""
    if "](" in text:
        text = text.replace("[", "\\[").replace("]", "\\]")
    return text.replace("{", "{{").replace("}", "}}")
