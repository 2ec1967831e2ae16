"""The formats of a report, by name. JSON is the report itself; all others are made from it."""

import importlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import cast

import msgspec

from synthesis.errors import OptionError, did_you_mean
from synthesis.io import replaced
from synthesis.report.findings import Glossary
from synthesis.report.stored import StoredReport

Render = Callable[[StoredReport, Glossary], Iterator[str]]
STDOUT = "-"


class Format(msgspec.Struct, frozen=True):
    """A form: the module that draws it, and the ending of its files; without one it is meant to be printed."""

    name: str
    module: str
    suffix: str | None

    def render(self, report: StoredReport, glossary: Glossary) -> Iterator[str]:
        """The document, piece by piece."""
        draw = cast(Render, importlib.import_module(f"synthesis.report.{self.module}").render)
        return draw(report, glossary)

    def beside(self, report: Path) -> str:
        """Where the document goes if nobody says: beside the report, or to standard output."""
        return STDOUT if self.suffix is None else str(report.with_suffix(self.suffix))


FORMATS = {
    form.name: form
    for form in (
        Format("csv", "csv_table", ".csv"),
        Format("github", "github", None),
        Format("html", "html", ".html"),
        Format("json", "stored", ".json"),
        Format("junit", "junit", ".junit.xml"),
        Format("markdown", "markdown", ".md"),
        Format("sarif", "sarif", ".sarif"),
    )
}


def get_format(name: str) -> Format:
    if name not in FORMATS:
        raise OptionError(f"there is no format '{name}'", hint=did_you_mean(name, FORMATS))
    return FORMATS[name]


def write_pieces(pieces: Iterable[str], path: Path) -> None:
    """Write a document as UTF-8, in one step; a lone surrogate in a text becomes visible instead of an error."""
    with replaced(path) as file:
        file.writelines(piece.encode("utf-8", "backslashreplace") for piece in pieces)
