"""GitHub workflow commands: an annotation on the line of each case that needs a look. Printed, not stored.

GitHub shows ten errors and ten warnings of a step, so what counts most comes first.
"""

from collections.abc import Iterator

from synthesis.model.result import ERROR
from synthesis.report.glossary import Glossary
from synthesis.report.plain import visible
from synthesis.report.reading import Record, StoredReport
from synthesis.report.verdicts import MISSED, UNEXPECTED, Reason, error_of, failed_checks, kind_of, reasons

_LINES = "\n"


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """Unexpected failures, then errors, then negative examples that were not caught, then the run's own warnings."""
    for wanted in (UNEXPECTED, ERROR, MISSED):
        for result in report.results():
            if kind_of(result) == wanted:
                yield _annotation(result, wanted, glossary)
    for warning in report.header.get("warnings", ()):
        yield _command("warning", {"title": "Synthesis"}, warning)


def _annotation(result: Record, kind: str, glossary: Glossary) -> str:
    source = result.get("source", {})
    place = {"file": source["file"], "line": str(source["line"])} if source else {}
    if kind == MISSED:
        text = "A negative example that no check fails: the reply should be caught, and is not."
        return _command("warning", place | {"title": f"{result['id']}: not caught"}, text)
    if kind == ERROR:
        return _command("error", place | {"title": f"{result['id']}: no verdict"}, error_of(result))
    failed = failed_checks(result)
    lines = dict.fromkeys(_line(reason) for name in failed for reason in reasons(result, name, glossary))
    return _command("error", place | {"title": f"{result['id']}: {', '.join(failed)}"}, "\n".join(lines))


def _line(reason: Reason) -> str:
    words = f"“{visible(reason.words)}” ({reason.rule}) " if reason.words else ""
    better = f" Better: {reason.instead}" if reason.instead else ""
    return f"{words}{reason.why}{better}"


def _command(name: str, properties: dict[str, str], message: str) -> str:
    settings = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {settings}::{_data(visible(message, keep=_LINES))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")
