"""`synthesis audit`: one document about many conversations; `audit verify` checks it against the logs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from synthesis.cli import ExitCode
from synthesis.cli.evaluate import engine_address, spec_options
from synthesis.cli.history import history_option, history_place
from synthesis.cli.options import (
    STDIN,
    Group,
    json_option,
    out_option,
    print_json,
    quiet_option,
    standard_input,
    workers_option,
)
from synthesis.cli.terminal import print_lines
from synthesis.errors import OptionError
from synthesis.printable import safe
from synthesis.run.engines import LOCAL
from synthesis.run.spec import known_reader
from synthesis.settings import LEARNED, RULES

if TYPE_CHECKING:
    from synthesis.audit.counting import AuditOptions
    from synthesis.audit.making import Audit, EngineOptions, ReadOptions

VERIFY, MAKE = "verify", "make"
DEFAULT_OUT = "audit"


class AuditCommands(Group):
    """`audit FILE` is short for `audit make FILE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (VERIFY, MAKE, "-h", "--help"):
            args = [MAKE, *args]
        return super().parse_args(ctx, args)


@click.group("audit", cls=AuditCommands)
def audit() -> None:
    """Audit many conversations in one document: counts and rates, no texts.

    `synthesis audit FILE...` writes it (short for `audit make FILE...`; `audit make --help` lists the options).
    `synthesis audit verify` computes it again and compares.
    """


@audit.command(MAKE)
@click.argument("logs", nargs=-1, metavar="FILE...")
@out_option("the documents: a folder. [default: audit]", default=DEFAULT_OUT)
@click.option("--by", multiple=True, metavar="COLUMN", help="Also give rates by this column of the log; repeatable.")
@click.option(
    "--notice",
    "notices",
    multiple=True,
    metavar="REGEX",
    help="Pattern of your own notice of talking to an AI, in addition to the bundled ones; repeatable.",
)
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="A random sample of N conversations, to label.")
@click.option(
    "--labels", metavar="ID", help="Saved run of a labelled sample: also estimate true rates from its labels."
)
@click.option("--seed", type=int, default=0, metavar="S", help="Seed of the sample. [default: 0]")
@click.option("--cover", metavar="FILE", help="TOML file of the cover, the actions and the people who sign.")
@click.option("--since", metavar="AUDIT_JSON", help="Earlier audit to compare with: what changed since then.")
@click.option("--all-cells", is_flag=True, help="Also show counts below five.")
@click.option("--with-ids", is_flag=True, help="Also show the ids of cases.")
@click.option("--with-excerpts", is_flag=True, help="Also show redacted text around findings.")
@click.option("--run", "run_id", metavar="ID", help="Audit a saved run instead of FILE.")
@history_option
@spec_options("columns", "sort", "checks", "profile", "reader", "language", "rules", "disabled", "engine", "workers")
@json_option
@quiet_option
def make(**options: Any) -> int:
    """Write audit.json, audit.html and audit.md.

    FILE is a file or a folder of conversations, a report, a file of results or a table of verdicts; `-` is standard
    input.

    Exit codes: 0 written, 1 could not run, 3 written but some rows could not be read, 130 interrupted.
    """
    from synthesis.audit.making import require_folder, write_audit
    from synthesis.audit.stored import sample_report

    require_folder(Path(options["out"]))
    with standard_input(options["logs"]) as logs:
        made = _made({**options, "logs": logs})
    written = write_audit(made.document, Path(options["out"]), sample_report(made.counts))
    copy = next((path for path, given in zip(logs, options["logs"], strict=True) if given == STDIN), STDIN)
    for row in made.counts.tally.unread:
        click.echo(safe(str(row).replace(copy, STDIN)), err=True)
    paths = [str(path) for path in written]
    if options["as_json"]:
        print_json({"written": paths, "read": made.document["read"], "remarks": _remarks(made.document)})
    elif not options["quiet"]:
        _print_summary(made.document, paths)
    return ExitCode.INCOMPLETE if made.document["read"]["errors"] else ExitCode.OK


@audit.command(VERIFY)
@click.argument("document", metavar="AUDIT_JSON")
@click.argument("logs", nargs=-1, required=True, metavar="FILE...")
@workers_option("available cores")
@json_option
def verify(document: str, logs: tuple[str, ...], workers: int | None, as_json: bool) -> int:
    """Read each FILE again as AUDIT_JSON says, and compare every figure.

    Exit codes: 0 all figures match, 1 could not run, 2 some differ.
    """
    from synthesis.audit.counting import AuditOptions
    from synthesis.audit.making import (
        MOST,
        EngineOptions,
        ReadOptions,
        audit,
        changed_since_made,
        differences,
        load_audit,
    )

    stored = load_audit(Path(document))
    reading, options = (_asked(stored, kind, document) for kind in (ReadOptions, AuditOptions))
    with standard_input(logs) as paths:
        made = audit([Path(path) for path in paths], reading, options, EngineOptions(workers=workers or 0)).document
    changed = changed_since_made(stored)
    stored.pop("own_labels", None)  # labels are in no log
    if "files" not in stored["input"]:  # made of a saved run, which knows one hash for all of them
        del made["input"]["files"]
        made["remarks"] = stored["remarks"]  # they say what a saved run lacks
    found = [*changed, *differences(stored, msgspec.to_builtins(made))]
    if as_json:
        print_json({"same": not found, "differences": found})
    else:
        more = [f"... and {len(found) - MOST:,} more"] if len(found) > MOST else []
        conclusion = "The documents differ." if found else "All figures match."
        print_lines([*map(safe, found[:MOST]), *more, conclusion])
    return ExitCode.UNMET if found else ExitCode.OK


def _asked(stored: dict[str, Any], kind: Any, name: str) -> Any:
    given = {"reader": RULES, **stored["options"]}  # a document from before there was a choice was read by rules alone
    fields = {key: value for key, value in given.items() if key in kind.__struct_fields__}
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise OptionError(f"{name}: its options cannot be read: {error}", hint="Was the file changed?") from None


def _made(options: dict[str, Any]) -> "Audit":
    from synthesis.audit.making import audit, audit_saved

    asked = _audit_options(options)
    if (options["run_id"] is None) is not bool(options["logs"]):
        raise OptionError("give a FILE, or --run ID of a saved run", hint="One of the two: synthesis audit chats.jsonl")
    if options["run_id"] is not None:
        from synthesis.history import open_history
        from synthesis.settings import find_settings

        with open_history(history_place(options["history"], find_settings(Path.cwd()).values)) as history:
            if not history.run(options["run_id"]).with_text:  # then the findings behind a pass were not kept
                raise OptionError(
                    f"the run {options['run_id']} was saved without texts, so answered cues are unknown",
                    hint="Save it with --save-text, or audit the logs or the report.",
                )
            return audit_saved(history.report(options["run_id"]), _read_options(options), asked)
    from synthesis.cli.running import progress

    with progress("conversations", enabled=not options["quiet"]) as note:
        logs = [Path(log) for log in options["logs"]]
        return audit(logs, _read_options(options), asked, _engine_options(options), note, _own_labels(options))


def _own_labels(options: dict[str, Any]) -> dict[str, Any] | None:
    """The labels of the sample that an earlier audit drew."""
    if options["labels"] is None:
        return None
    from synthesis.audit.stored import own_labels
    from synthesis.history import open_history
    from synthesis.settings import find_settings

    with open_history(history_place(options["history"], find_settings(Path.cwd()).values)) as history:
        return own_labels(history, options["labels"])


def _audit_options(options: dict[str, Any]) -> "AuditOptions":
    from synthesis.audit.counting import AuditOptions
    from synthesis.audit.handover import Cover, load_cover
    from synthesis.audit.making import load_earlier

    names = ("all_cells", "with_ids", "with_excerpts", "notices", "sample", "seed")
    return AuditOptions(
        by=tuple(dict.fromkeys(options["by"])),
        cover=load_cover(Path(options["cover"])) if options["cover"] else Cover(),
        since=load_earlier(Path(options["since"]), all_cells=options["all_cells"]) if options["since"] else None,
        **{name: options[name] for name in names},
    )


def _read_options(options: dict[str, Any]) -> "ReadOptions":
    from synthesis.audit.making import ReadOptions
    from synthesis.checks.registry import load_tables, named_checks
    from synthesis.read.mapping import parse_case_map

    load_tables(options["rules"])  # before names of checks are read
    return ReadOptions(
        checks=named_checks(options["checks"] or ""),
        map=parse_case_map(options["columns"]),
        sort=bool(options["sort"]),
        profile=options["profile"],
        reader=known_reader(options["reader"] or LEARNED),
        language=options["language"],
        rules=options["rules"],
        disable=options["disabled"],
    )


def _engine_options(options: dict[str, Any]) -> "EngineOptions":
    from synthesis.audit.making import EngineOptions

    return EngineOptions(
        engine=options["engine"] or LOCAL, address=engine_address(options), workers=options["workers"] or 0
    )


def _print_summary(document: dict[str, Any], written: list[str]) -> None:
    from synthesis.report.findings import count

    read = document["read"]
    click.echo(f"{count(read['conversations'], 'conversation')}, {count(read['turns'], 'turn')}")
    for remark in _remarks(document):
        click.echo(f"note: {safe(remark)}")
    click.echo(f"Written: {', '.join(safe(path) for path in written)}")


def _remarks(document: dict[str, Any]) -> list[str]:
    warning = document.get("own_labels", {}).get("warning")
    return [*document["remarks"], *([warning] if warning else ())]
