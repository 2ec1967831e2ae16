"""`synthesis serve` and `synthesis mcp`: the checks for browsers, programs and MCP clients."""

from pathlib import Path
from typing import Any

import click

from synthesis.cli import ExitCode
from synthesis.cli.history import history_option, history_place
from synthesis.cli.options import Command, rules_option, workers_option
from synthesis.errors import MissingExtraError, OptionError
from synthesis.printable import safe
from synthesis.settings import LEARNED, READERS, find_settings


@click.command("serve", cls=Command)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    metavar="N",
    help="Port to listen on; 0 picks a free one. [default: 8765]",
)
@click.option(
    "--token", envvar="SYNTHESIS_TOKEN", metavar="TEXT", help="Token that clients must send. Prefer SYNTHESIS_TOKEN."
)
@click.option(
    "--people", metavar="FILE", help="People who may log in, each with their own token; labels carry their names."
)
@click.option("--add-person", metavar="NAME", help="Add someone to --people, print their token once, and exit.")
@click.option("--allow-host", "allowed_hosts", multiple=True, metavar="NAME", help="Host name to accept; repeatable.")
@history_option
@rules_option
@click.option("--disable", "disabled", multiple=True, metavar="RULE", help="Disable the rule with this id; repeatable.")
@click.option(
    "--reader",
    metavar="|".join(READERS),
    help=f"What finds signals: rules and the learned reader together, or rules alone. [default: {LEARNED}]",
)
@workers_option("1", most=64, default=1)
@click.option(
    "--max-body", type=click.IntRange(1000), default=1 << 20, metavar="BYTES", help="Largest request. [default: 1 MB]"
)
@click.option(
    "--max-upload",
    type=click.IntRange(1000),
    default=100 << 20,
    metavar="BYTES",
    help="Largest file. [default: 100 MB]",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Limit for receiving a request, for one evaluation, and for finishing requests on shutdown.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1),
    default=64,
    show_default=True,
    metavar="N",
    help="At most N evaluations at a time in a process; more get a 429.",
)
@click.option("--access-log", is_flag=True, help="Log a line per request: route, status, time; never texts or ids.")
def serve(people: str | None, add_person: str | None, **options: Any) -> int:
    """Serve the checks as an API and as pages.

    Listens on this machine only, unless --host says otherwise; that requires a token. Ctrl-C or SIGTERM finishes
    running requests, up to --timeout; a second one ends at once. Exit code: 130 after Ctrl-C, 0 after SIGTERM.
    """
    try:
        from synthesis.server.app import ServerEnded
        from synthesis.server.app import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("synthesis"):
            raise
        raise MissingExtraError("serve", "the server") from None
    from synthesis.run.spec import known_reader
    from synthesis.server.security import ServerSettings, load_people

    if add_person is not None:
        return _add_person(people, add_person)
    configured = find_settings(Path.cwd()).values
    options["token"] = options["token"] or None
    options["history"] = history_place(options["history"], configured)
    options["reader"] = known_reader(options["reader"] or configured.get("reader", LEARNED))
    options["folders"] = (*configured.get("rules", ()), *options["folders"])
    settings = ServerSettings(people=load_people(Path(people)) if people else (), **options)
    try:
        run(settings, lambda address: click.echo(f"Synthesis serves at {address} (Ctrl-C to stop)"))
    except ServerEnded:
        click.echo("Stopped.", err=True)
    return ExitCode.OK


def _add_person(file: str | None, name: str) -> int:
    from synthesis.server.security import add_person

    if file is None:
        raise OptionError("--add-person needs --people FILE", hint="FILE is created if it does not exist.")
    token = add_person(Path(file), name)
    click.echo(token)
    click.echo(f"The token of {safe(name)} is shown only once; {safe(file)} keeps only a hash of it.", err=True)
    return ExitCode.OK


@click.command("mcp", cls=Command)
@click.option(
    "--root",
    default=".",
    type=click.Path(),
    metavar="DIR",
    help="Folder that holds the files; no others can be read. [default: .]",
)
def mcp(root: str) -> None:
    """Serve the checks to a Model Context Protocol client (stdio).

    Tools: evaluate_reply, evaluate_case_file, explain_rule, list_checks, list_packs, judge_answer_offline.
    """
    from synthesis.mcp_server import build_server

    if not Path(root).is_dir():
        raise OptionError(f"--root {root} is not a folder", hint="Give the folder that holds your case files.")
    build_server(Path(root)).run("stdio")
