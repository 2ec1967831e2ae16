"""GitHub workflow commands: an annotation on the line of each case that needs a look. Printed, not stored.

GitHub shows ten errors and ten warnings of a step, so what counts most comes first.
"""

from collections.abc import Iterator

from synthesis.model import CaseResult
from synthesis.model.result import ERROR
from synthesis.report.findings import MISSED, UNEXPECTED, Glossary, Remark, error_of, kind_of, remarks_on, visible
from synthesis.report.stored import StoredReport

_LINES = "\n"


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """Unexpected failures, then errors, then negative examples that were not caught, then the run's own warnings."""
    for wanted in (UNEXPECTED, ERROR, MISSED):
        for result in report.results():
            if kind_of(result) == wanted:
                yield _annotation(result, wanted, glossary)
    for warning in report.header.get("warnings", ()):
        yield _command("warning", {"title": "Synthesis"}, warning)


def _annotation(result: CaseResult, kind: str, glossary: Glossary) -> str:
    place = {"file": result.source.file, "line": str(result.source.line)} if result.source else {}
    if kind == MISSED:
        text = "A negative example that no check fails: the reply should be caught, and is not."
        return _command("warning", place | {"title": f"{result.name}: not caught"}, text)
    if kind == ERROR:
        return _command("error", place | {"title": f"{result.name}: no verdict"}, error_of(result))
    lines = dict.fromkeys(map(_line, remarks_on(result, glossary)))
    return _command("error", place | {"title": f"{result.name}: {', '.join(result.failed_checks)}"}, "\n".join(lines))


def _line(remark: Remark) -> str:
    words = f"“{visible(remark.words)}” ({visible(remark.rule)}) " if remark.rule else ""
    better = f" Better: {visible(remark.instead)}" if remark.instead else ""
    return f"{words}{visible(remark.why)}{better}"


def _command(name: str, properties: dict[str, str], message: str) -> str:
    settings = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {settings}::{_data(visible(message, keep=_LINES))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")
