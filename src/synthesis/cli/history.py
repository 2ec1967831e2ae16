"""`synthesis history`: runs that were saved."""

import re
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from synthesis.cli import exits
from synthesis.cli.history_view import found_in, run_fields, run_lines, table_lines
from synthesis.cli.saving import history_option, history_place, save_text_option
from synthesis.cli.terminal import columns, print_lines, safe
from synthesis.errors import OptionError
from synthesis.report.findings import count
from synthesis.settings import find_settings

if TYPE_CHECKING:
    from synthesis.history.store import History

_AGE = re.compile(r"([0-9]{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}


@click.group()
def history() -> None:
    """Runs that were saved with --save: list, show, tag, export, delete, prune.

    RUN is the id of a run, the beginning of one, or 'latest'.
    """


def _open(place: str | None, *, create: bool = False) -> "History":
    from synthesis.history import open_history

    return open_history(history_place(place, find_settings(Path.cwd()).values), create=create)


def _as_json(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def _echo_json(value: Any) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


@history.command("list")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="At most N runs.")
@click.option("--kind", type=click.Choice(["checks", "judge"]), help="Only runs of this half.")
@click.option("--tag", metavar="TAG", help="Only runs with this tag.")
@history_option
@_as_json
def list_(limit: int, kind: str | None, tag: str | None, history: str | None, as_json: bool) -> int:
    """List runs, the newest first."""
    with _open(history) as opened:
        found = opened.runs(limit=limit, kind=kind, tag=tag)
    if as_json:
        _echo_json([run_fields(run) for run in found])
        return exits.OK
    print_lines(table_lines(found, columns()))
    return exits.OK


@history.command()
@click.argument("run")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="At most N failures."
)
@history_option
@_as_json
def show(run: str, limit: int, history: str | None, as_json: bool) -> int:
    """Show one run: what was in force, the figures, and the failures that need a look with their evidence."""
    with _open(history) as opened:
        found = opened.run(run)
        trouble = found_in(opened, found, limit)
    if as_json:
        _echo_json(run_fields(found) | {"failures": trouble.items, "failures_in_all": trouble.total})
        return exits.OK
    print_lines(run_lines(found, trouble), hang=4)
    return exits.OK


@history.command()
@click.argument("run")
@click.argument("tags", nargs=-1, metavar="[TAG]...")
@click.option("--remove", multiple=True, metavar="TAG", help="Remove this tag; repeatable.")
@history_option
def tag(run: str, tags: tuple[str, ...], remove: tuple[str, ...], history: str | None) -> int:
    """Add tags to a run, or remove them."""
    if not tags and not remove:
        raise OptionError("no tag is named", hint="Write `synthesis history tag RUN TAG`.")
    with _open(history) as opened:
        changed = opened.tag(run, add=tags, remove=remove)
    click.echo(f"{changed.id}: {safe(', '.join(changed.tags)) or 'no tags'}")
    return exits.OK


@history.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@save_text_option
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Give the run this tag; repeatable.")
@history_option
def add(paths: tuple[str, ...], save_text: bool | None, tags: tuple[str, ...], history: str | None) -> int:
    """Save earlier runs: reports, folders of judged runs, or what `history export` wrote.

    A report holds no time, so the time of its file is used. An exported run is restored as it was.
    """
    from synthesis.history import Provenance

    with _open(history, create=True) as opened:
        for path in paths:
            run_id = opened.add(path, Provenance(with_text=bool(save_text), tags=tags))
            click.echo(f"Saved: run {run_id} from {safe(path)}")
    return exits.OK


@history.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@history_option
def delete(runs: tuple[str, ...], yes: bool, history: str | None) -> int:
    """Delete runs and everything that belongs to them."""
    with _open(history) as opened:
        found = list({run.id: run for run in map(opened.run, runs)}.values())
        print_lines(table_lines(found, columns()))
        if not yes:
            _ask(len(found))
        opened.delete(*(run.id for run in found))
    click.echo(f"Deleted: {count(len(found), 'run')}")
    return exits.OK


def _ask(number: int) -> None:
    if not sys.stdin.isatty():
        raise OptionError("nothing was deleted: there is no terminal to ask on", hint="Add --yes.")
    click.confirm(f"Delete {count(number, 'run')}?", abort=True)


@history.command()
@click.argument("run")
@click.option("--out", metavar="PATH", help="Where to write it. [default: standard output]")
@history_option
def export(run: str, out: str | None, history: str | None) -> int:
    """Write a run as JSON: a report as `synthesis eval` writes it, or a judged run with its samples.

    `synthesis history add` reads both.
    """
    from synthesis.report.formats import write_pieces

    with _open(history) as opened:
        pieces = opened.export(run)
        if out is not None:
            write_pieces(pieces, Path(out))
            click.echo(f"Written: {safe(out)}")
            return exits.OK
        for piece in pieces:
            click.echo(piece, nl=False)
    return exits.OK


@history.command()
@click.option("--older-than", required=True, metavar="AGE", help="Such as 30d; h, d and w are hours, days and weeks.")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@history_option
def prune(older_than: str, dry_run: bool, history: str | None) -> int:
    """Delete the runs that started longer ago than this, and print them."""
    age = _age(older_than)
    with _open(history) as opened:
        found = opened.older_than(age)
        print_lines(table_lines(found, columns()) if found else ())
        if not dry_run:
            opened.delete(*(run.id for run in found))
    click.echo(f"{'To be deleted' if dry_run else 'Deleted'}: {count(len(found), 'run')}")
    return exits.OK


def _age(text: str) -> timedelta:
    match = _AGE.fullmatch(text.strip())
    if match is None:
        raise OptionError(f"'{text}' is not an age", hint="Write it as 12h, 30d or 8w.")
    return timedelta(hours=int(match[1]) * _HOURS[match[2]])
