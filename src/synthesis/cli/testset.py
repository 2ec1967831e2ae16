"""`synthesis testset`: list query logs, build test sets from them, join answers with contexts."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from synthesis.cli import ExitCode, terminal
from synthesis.cli.options import (
    Group,
    answers_option,
    contexts_option,
    json_option,
    limit_option,
    map_option,
    max_line_option,
    out_option,
    print_json,
)
from synthesis.errors import OptionError, shorten
from synthesis.io import require_writable
from synthesis.judge import querylog
from synthesis.judge import testset as library
from synthesis.printable import safe
from synthesis.read.mapping import parse_map

EXCERPT_WIDTH = 60
_LEAST = 20  # columns of a question on the line of its row
LISTED = 20
HEADER = ("ID", "CREATED", "STATUS", "MODEL", "ANSWER", "CONTEXT", "QUESTION")


@click.group(cls=Group)
def testset() -> None:
    """Build test sets for the judge from query logs.

    FILE is a log in JSON Lines (.jsonl, .ndjson), JSON (.json), CSV (.csv, .tsv) or Parquet (.parquet), or a
    database URL such as sqlite:///FILE or postgresql://USER@HOST/DATABASE with --table.
    """


def _selecting(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose rows, the same for every command that reads querylog."""
    options = [
        click.argument("source", metavar="FILE|URL"),
        click.option("--table", metavar="NAME", help="Table of the logs, with a database URL (NAME or SCHEMA.NAME)."),
        map_option("question=prompt,answer=steps.write.text"),
        max_line_option,
        click.option("--id", "ids", multiple=True, metavar="ID", help="Only the one with this id; repeatable."),
        click.option("--status", "statuses", multiple=True, metavar="S", help="Only rows of this status; repeatable."),
        click.option("--from", "since", metavar="DATE", help="Only rows from this date or time on (UTC)."),
        click.option("--until", metavar="DATE", help="Only rows up to this date, the day included, or time."),
        click.option("--sample", type=click.IntRange(min=1), metavar="N", help="A random sample of N rows."),
        click.option("--seed", type=int, default=0, metavar="S", help="Seed of the sample. [default: 0]"),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@testset.command("list")
@_selecting
@limit_option(f"rows, the newest. [default: {LISTED}]", default=LISTED)
@json_option
def list_logs(
    source: str, table: str | None, columns: tuple[str, ...], max_line: int, as_json: bool, **chosen: Any
) -> int:
    """List recent query logs, newest first, with a short excerpt of each question."""
    selection = _selection(**chosen)
    mapping = parse_map(columns, querylog.NAMES)
    unusable = library.Problems(source, hint="")
    found = querylog.read_log(
        source, selection.wants, table=table, mapping=mapping, most_line=max_line, unusable=unusable
    )
    rows = querylog.pick(found, selection)
    if unusable.total:
        click.echo(f"note: rows that cannot be read: {unusable.total} ({safe(unusable.first)})", err=True)
    newest = querylog.newest_first(rows, len(rows))
    if as_json:
        keys = [name.lower() for name in HEADER]
        print_json([dict(zip(keys, _cells(row), strict=True)) for row in newest])
    elif not rows:
        click.echo("No row matches.", err=True)
    else:
        _print_table([HEADER, *map(_cells, newest)])
    return ExitCode.OK


@testset.command()
@_selecting
@limit_option("rows, the newest, before sampling.")
@out_option("the test set.", required=True)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@json_option
def build(
    source: str,
    table: str | None,
    columns: tuple[str, ...],
    max_line: int,
    out: str,
    force: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Write the chosen query logs as a test set."""
    require_writable(Path(out), overwrite=force)
    mapping = parse_map(columns, querylog.NAMES)
    built = querylog.build_test_set(source, _selection(**chosen), table=table, mapping=mapping, most_line=max_line)
    return _write(built.objects, built.notes, out, force=force, as_json=as_json)


@testset.command()
@click.argument("files", nargs=-1, metavar="[ANSWERS CONTEXTS]")
@answers_option
@contexts_option
@map_option("id=key,answer=output[0].text,context=chunks")
@max_line_option
@out_option("the test set.", required=True)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@json_option
def join(
    files: tuple[str, ...],
    answers: Path | None,
    contexts: Path | None,
    columns: tuple[str, ...],
    max_line: int,
    out: str,
    force: bool,
    as_json: bool,
) -> int:
    """Put an answer set and a context set together into one test set.

    ANSWERS and CONTEXTS are files; --answers and --contexts name them, too.
    """
    named = [path for path in (answers, contexts) if path is not None]
    if len(files) + len(named) != 2 or len(named) == 1:
        raise OptionError("give a file of answers and one of contexts", hint="Write `testset join ANSWERS CONTEXTS`.")
    answers, contexts = named or map(Path, files)
    require_writable(Path(out), overwrite=force)
    joined = library.join(answers, contexts, mapping=parse_map(columns, library.NAMES), most_line=max_line)
    return _write(joined.objects, joined.notes, out, force=force, as_json=as_json)


def _selection(
    ids: Sequence[str],
    statuses: Sequence[str],
    since: str | None,
    until: str | None,
    sample: int | None,
    seed: int,
    limit: int | None,
) -> querylog.Selection:
    start, end = querylog.period(since, until)
    return querylog.Selection(frozenset(ids), frozenset(statuses), start, end, limit, sample, seed)


def _write(objects: Sequence[dict[str, Any]], notes: Sequence[str], out: str, *, force: bool, as_json: bool) -> int:
    library.write_test_set(objects, out, force=force)
    for note in notes:
        click.echo(f"note: {safe(note)}", err=True)
    if as_json:
        print_json({"written": out, "cases": len(objects)})
        return ExitCode.OK
    noun = "case" if len(objects) == 1 else "cases"
    click.echo(f"Wrote {len(objects)} {noun} to {safe(out)}")
    return ExitCode.OK


def _cells(row: querylog.LogRow) -> tuple[str, ...]:
    created = row.created_at.strftime("%Y-%m-%d %H:%M") if row.created_at else "-"
    context = str(len(row.context)) if isinstance(row.context, list) else "-"
    model = row.details.get("llmModel") or "-"
    answer = f"{len(row.answer)} chars" if row.answer else "-"
    cells = (row.id, created, row.status or "-", str(model), answer, context)
    return (*(safe(cell) for cell in cells), safe(shorten(row.question or "-", EXCERPT_WIDTH)))


def _print_table(lines: Sequence[tuple[str, ...]]) -> None:
    """The question, which comes last, gets what room a terminal leaves, or a line of its own."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    width = terminal.columns() or sys.maxsize
    room = width - sum(widths[:-1]) - 2 * len(widths[:-1])
    for *cells, question in lines:
        padded = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False))
        if room >= _LEAST:
            click.echo(f"{padded}  {shorten(question, room)}".rstrip())
        else:
            click.echo(f"{padded.rstrip()}\n    {shorten(question, width - 4)}")
