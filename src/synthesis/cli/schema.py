"""`synthesis schema`: what a case or a report must look like."""

import json

import click


@click.command("schema")
@click.argument("kind", type=click.Choice(["case", "report"]))
def schema(kind: str) -> None:
    """Print the JSON Schema of a case (with the names of the known checks) or of a report."""
    from synthesis import bundled
    from synthesis.cases.schema import read_schema, with_check_names
    from synthesis.checks.registry import checks

    content = read_schema(bundled.REPORT_SCHEMA if kind == "report" else bundled.CASE_SCHEMA)
    click.echo(json.dumps(with_check_names(content, checks()) if kind == "case" else content, indent=2))
