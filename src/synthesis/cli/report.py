"""`synthesis report`: draw a stored report in another form."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synthesis.cli import exits

if TYPE_CHECKING:
    from synthesis.report.glossary import Glossary
    from synthesis.report.reading import StoredReport


@click.group("report")
def report() -> None:
    """Draw a stored report in another form."""


@report.command("convert")
@click.argument("path", metavar="REPORT")
@click.option(
    "--format", "name", required=True, metavar="FORMAT", help="csv, github, html, json, junit, markdown, sarif."
)
@click.option("--out", metavar="PATH", help="Where to; `-` is standard output. [default: beside the report]")
@click.option("--cases", multiple=True, metavar="PATH", help="Case file, for a report without texts; repeatable.")
@click.option("--redact", is_flag=True, help="Replace all texts and matched words by their lengths.")
@click.option("--rules", "folders", multiple=True, metavar="DIR", help="A folder with rule packs on top; repeatable.")
def convert(
    path: str, name: str, out: str | None, cases: tuple[str, ...], redact: bool, folders: tuple[str, ...]
) -> int:
    """Draw REPORT, the JSON that a run wrote, in another form.

    Explanations come from the rules in force now; the report itself is never changed.
    """
    from synthesis.cli.outputs import Output, write_outputs
    from synthesis.report.formats import get_format
    from synthesis.report.reading import open_report
    from synthesis.report.texts import redacted

    form = get_format(name)
    stored = open_report(path)
    output = Output(form.name, out or form.beside(Path(path)))
    output.require_apart_from({"the report": Path(path), "--cases": [Path(case) for case in cases]})
    if cases:
        stored = _with_cases(stored, cases)
    if redact:
        stored = redacted(stored)
    write_outputs([output], stored, _glossary(stored, folders))
    if not output.is_printed:
        click.echo(f"Written: {output.path}", err=True)
    return exits.OK


def _with_cases(stored: "StoredReport", paths: tuple[str, ...]) -> "StoredReport":
    from synthesis.cases.jsonl import load_cases
    from synthesis.cases.schema import CaseValidator
    from synthesis.checks.registry import checks
    from synthesis.report.texts import with_texts

    validator = CaseValidator(checks())
    loaded = [case for path in paths for case in load_cases(Path(path), validator)]
    return with_texts(stored, {case.id: case for case in loaded})


def _glossary(stored: "StoredReport", folders: tuple[str, ...]) -> "Glossary":
    """The rules of today, less those that were switched off for the run and still exist."""
    from synthesis.checks.registry import rules_in_force
    from synthesis.glossary import glossary_of
    from synthesis.settings import find_settings

    configured = find_settings(Path.cwd()).values.get("rules", ())
    every = rules_in_force((*configured, *folders))
    options: Any = stored.header.get("options")
    switched_off = options.get("disable", ()) if isinstance(options, dict) else ()
    known = {rule.id for rule in every.rules} & {str(rule) for rule in switched_off}
    return glossary_of(rules_in_force((*configured, *folders), known) if known else every)
