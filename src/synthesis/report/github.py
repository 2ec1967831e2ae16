"""GitHub workflow commands: an annotation on the line of each case that needs a look. Printed, not stored.

GitHub shows ten errors, ten warnings and ten notices of a step, so the worst comes first.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from synthesis.errors import ALIKE, listed
from synthesis.model import CaseResult
from synthesis.model.result import ERROR, FAIL, MINOR
from synthesis.report.findings import (
    EXPECTED,
    MISSED,
    Glossary,
    Remark,
    error_of,
    kind_of,
    notice_of,
    reading_order,
    remarks_on,
    visible,
)
from synthesis.report.stored import StoredReport

_LINES = "\n"
SHOWN = 10  # more would fill the log of the job, and GitHub leaves them out of its page


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """Failures by severity, then errors, negative examples that were not caught, crises that were answered, warnings.

    The texts are held until all are known: the worst may be in the last line.
    """
    found = [*_annotations(report.results(), glossary)]
    ranked = [text for _, text in sorted((one for one in found if one[1]), key=lambda one: one[0])]
    yield from ranked[:SHOWN]
    if len(ranked) > SHOWN:
        left = len(ranked) - SHOWN
        yield _command("notice", {"title": "Synthesis"}, f"{left:,} more are in the report.")
    for warning in report.header.get("warnings", ()):
        yield _command("warning", {"title": "Synthesis"}, warning)


def _annotations(results: Iterable[CaseResult], glossary: Glossary) -> Iterator[tuple[tuple[int, int], str]]:
    """The annotation of each case; many errors in the same words are one, at the first of them."""
    errors: dict[str, list[CaseResult]] = {}
    counts: Counter[str] = Counter()
    for result in results:
        if result.outcome != ERROR:
            yield reading_order(result), _annotation(result, glossary)
            continue
        reason = error_of(result)
        counts[reason] += 1
        if counts[reason] <= ALIKE:
            errors.setdefault(reason, []).append(result)
    for reason, first in errors.items():
        if counts[reason] > ALIKE:
            names = listed((result.name for result in first), counts[reason])
            yield reading_order(first[0]), _no_verdict(first[0], names)
        else:
            yield from ((reading_order(result), _annotation(result, glossary)) for result in first)


def _no_verdict(result: CaseResult, names: str) -> str:
    return _command("error", _place(result) | {"title": f"{names}: no verdict"}, error_of(result))


def _place(result: CaseResult) -> dict[str, str]:
    return {"file": result.source.file, "line": str(result.source.line)} if result.source else {}


def _annotation(result: CaseResult, glossary: Glossary) -> str:
    """The annotation of one case; empty where nothing needs a look."""
    kind, notice = kind_of(result), notice_of(result, glossary)
    if kind == EXPECTED:
        return ""
    place = _place(result)
    if kind == MISSED:
        text = "A negative example that no check fails: the reply should be caught, and is not."
        return _command("warning", place | {"title": f"{result.name}: not caught"}, text)
    if kind == ERROR:
        return _no_verdict(result, result.name)
    told = [visible(str(notice))] if notice else []
    if result.outcome != FAIL:
        return _command("notice", place | {"title": f"{result.name}: a crisis"}, told[0]) if told else ""
    lines = [*told, *dict.fromkeys(map(_line, remarks_on(result, glossary)))]
    severity = f"{result.severity}: " if result.severity else ""
    title = f"{result.name}: {severity}{', '.join(result.failed_checks)}"
    return _command("warning" if result.severity == MINOR else "error", place | {"title": title}, "\n".join(lines))


def _line(remark: Remark) -> str:
    words = f"“{visible(remark.words)}” ({visible(remark.source)}) " if remark.rule else ""
    better = f" Better: {visible(remark.instead)}" if remark.instead else ""
    return f"{remark.place}{words}{visible(remark.why)}{better}"


def _command(name: str, properties: dict[str, str], message: str) -> str:
    settings = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {settings}::{_data(visible(message, keep=_LINES))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")
