"""The report as JSON again, one record per line: to share a redacted one, or to bring results back into one file."""

from collections.abc import Iterable, Iterator

import msgspec

from synthesis.report.glossary import Glossary
from synthesis.report.reading import Record, StoredReport

_encode = msgspec.json.Encoder().encode


def render(report: StoredReport, _: Glossary) -> Iterator[str]:
    fields = {key: value for key, value in report.header.items() if key != "results_file"}
    head = msgspec.json.format(_encode(fields | {"summary": report.summary}), indent=2)
    yield head.decode().removesuffix("\n}")
    yield from _list("failures", report.failures())
    yield from _list("results", report.results())
    yield "\n}\n"


def _list(name: str, records: Iterable[Record]) -> Iterator[str]:
    yield f',\n  "{name}": ['
    separator = "\n    "
    for record in records:
        yield separator + _encode(record).decode()
        separator = ",\n    "
    yield "]" if separator == "\n    " else "\n  ]"
