"""`synthesis report`, and `--format F[=PATH]`: documents made from a stored report."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from synthesis.cli import ExitCode
from synthesis.cli.options import Group, format_and_path, format_option, out_option, rules_option
from synthesis.errors import OptionError
from synthesis.printable import safe
from synthesis.report.findings import Glossary
from synthesis.report.formats import STDOUT, get_format, write_pieces
from synthesis.report.stored import StoredReport, open_report

Taken = Mapping[str, Path | Sequence[Path]]  # what a file is -> its path


@click.group("report", cls=Group, alone="convert")
def report() -> None:
    """Convert a stored report to another format.

    `synthesis report FILE` is short for `report convert FILE`.
    """


@report.command("convert")
@click.argument("path", metavar="FILE")
@format_option("csv, github, html, json, junit, markdown or sarif", required=True)
@out_option("it, in place of =PATH; `-` is standard output. [default: next to the report]")
@click.option("--cases", multiple=True, metavar="PATH", help="Case file, for a report without texts; repeatable.")
@click.option("--redact", is_flag=True, help="Replace all texts and matched words with their lengths.")
@rules_option
def convert(
    path: str,
    formats: tuple[str, ...],
    out: str | None,
    cases: tuple[str, ...],
    redact: bool,
    folders: tuple[str, ...],
) -> int:
    """Convert FILE, the JSON report that a run wrote, to another format.

    Explanations come from the current rules; the report itself does not change.
    """
    from synthesis.report.stored import redacted

    if out is not None and (len(formats) > 1 or "=" in formats[0]):
        raise OptionError("--out says where one document goes", hint="Write --format F=PATH for each.")
    texts = formats if out is None else [f"{formats[0]}={out}"]
    taken: Taken = {"the report": Path(path), "--cases": [Path(case) for case in cases]}
    stored = open_report(path)
    outputs = apart([Output.of(text, Path(path)) for text in texts], taken)
    if cases:
        stored = _with_cases(stored, cases)
    if redact:
        stored = redacted(stored)
    write_outputs(outputs, stored, _glossary(stored, folders))
    for output in outputs:
        if not output.is_printed:
            click.echo(f"Written: {safe(output.path)}", err=True)
    return ExitCode.OK


def _with_cases(stored: StoredReport, paths: tuple[str, ...]) -> StoredReport:
    from synthesis.checks.registry import checks
    from synthesis.read.cases import CaseValidator, load_cases
    from synthesis.report.stored import with_texts

    validator = CaseValidator(checks())
    loaded = [case for path in paths for case in load_cases(Path(path), validator)]
    return with_texts(stored, {case.id: case for case in loaded})


def _glossary(stored: StoredReport, folders: tuple[str, ...]) -> Glossary:
    """The current rules, less those that were disabled for the run and still exist."""
    from synthesis.checks.registry import rules_in_force
    from synthesis.glossary import glossary_of
    from synthesis.report.compare import reader_of
    from synthesis.settings import find_settings

    configured = find_settings(Path.cwd()).values.get("rules", ())
    reader = reader_of(stored.header)
    every = rules_in_force((*configured, *folders), reader=reader)
    options: Any = stored.header.get("options")
    switched_off = options.get("disable", ()) if isinstance(options, dict) else ()
    known = {rule.id for rule in every.rules} & {str(rule) for rule in switched_off}
    return glossary_of(rules_in_force((*configured, *folders), known, reader) if known else every)


class Output(msgspec.Struct, frozen=True):
    """One document: its format, and where it goes."""

    format: str
    path: str

    @classmethod
    def of(cls, text: str, report: Path) -> "Output":
        """`html` or `html=PATH`; without a path the document is written next to the report."""
        name, path = format_and_path(text)
        form = get_format(name)
        return cls(form.name, path or form.beside(report))

    @property
    def is_printed(self) -> bool:
        return self.path == STDOUT

    def require_apart_from(self, taken: Taken) -> None:
        """A document never replaces a folder, a file that is read, or another document."""
        if not self.is_printed and Path(self.path).is_dir():
            raise OptionError(f"the {self.format} document cannot be written: {self.path} is a folder")
        for what, paths in taken.items():
            for path in [paths] if isinstance(paths, Path) else paths:
                if not self.is_printed and _same(Path(self.path), path):
                    raise OptionError(
                        f"the {self.format} document and {what} are the same file ({self.path})",
                        hint="Choose another path.",
                    )


def parse_outputs(texts: Iterable[str], report: Path, taken: Taken) -> tuple[Output, ...]:
    """All requested documents; OptionError before the run if two of them collide."""
    outputs = [Output.of(text, report) for text in texts]
    if any(output.format == "json" for output in outputs):
        raise OptionError("--format json is the report itself", hint="Say where it goes with --out.")
    return apart(outputs, {**taken, "the JSON report": report})


def apart(outputs: Sequence[Output], taken: Taken) -> tuple[Output, ...]:
    """The same documents; OptionError if one would replace what is read, or another one."""
    for number, output in enumerate(outputs):
        earlier = {
            f"the {other.format} document": Path(other.path) for other in outputs[:number] if not other.is_printed
        }
        output.require_apart_from({**taken, **earlier})
    return tuple(outputs)


def write_outputs(
    outputs: Iterable[Output], report: StoredReport, glossary: Glossary, *, to_stderr: bool = False
) -> None:
    """Write each document; printed ones go to standard output, or to standard error where that is taken."""
    for output in outputs:
        pieces = get_format(output.format).render(report, glossary)
        if output.is_printed:
            for piece in pieces:
                click.echo(piece, nl=False, file=sys.stderr if to_stderr else sys.stdout)
        else:
            write_pieces(pieces, Path(output.path))


def _same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()
