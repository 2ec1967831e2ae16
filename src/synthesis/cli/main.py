"""The `synthesis` command: finds the sub-command, and turns every error into a message and an exit code."""

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from synthesis._version import __version__
from synthesis.cli import ExitCode
from synthesis.cli.options import Command, write_groups
from synthesis.cli.terminal import print_lines
from synthesis.errors import SynthesisError, did_you_mean
from synthesis.printable import safe

# Group of help -> name -> (where the command lives, one line of help). Imported only when called.
GROUPED = {
    "Check replies": {
        "eval": ("synthesis.cli.evaluate:evaluate", "Evaluate logs, tables or cases; also runs without a command."),
        "check": ("synthesis.cli.evaluate:check", "Check one exchange: a message and the reply."),
        "audit": ("synthesis.cli.audit:audit", "Audit many conversations in one document."),
        "judge": ("synthesis.cli.judge:judge", "Judge generated answers against their sources."),
        "testset": ("synthesis.cli.testset:testset", "Build test sets for the judge from query logs."),
    },
    "Look at results": {
        "compare": ("synthesis.cli.compare:compare", "Compare two reports."),
        "report": ("synthesis.cli.report:report", "Convert a stored report to another format."),
        "history": ("synthesis.cli.history:history", "List, show, tag, export, check and delete saved runs."),
    },
    "Set up and serve": {
        "checks": ("synthesis.cli.checks:checks", "Show how the checks decide."),
        "rules": ("synthesis.cli.rules:rules", "List, explain, test and lint the rules."),
        "reader": ("synthesis.cli.reader:reader", "Show the learned reader: what it finds, how often it errs."),
        "config": ("synthesis.cli.evaluate:config", "Show which settings hold, and where they come from."),
        "serve": ("synthesis.cli.serve:serve", "Serve the checks as an API and as pages."),
        "mcp": ("synthesis.cli.serve:mcp", "Serve the checks to an MCP client (stdio)."),
        "schema": ("synthesis.cli.main:schema", "Print the JSON Schema of a case, a check, a report or an audit."),
        "completion": ("synthesis.cli.main:completion", "Print a completion script for your shell."),
    },
}
COMMANDS = {name: command for group in GROUPED.values() for name, command in group.items()}
EXAMPLES = {
    "synthesis eval chats.jsonl": "check every reply of a log",
    'synthesis check "I feel awful." "Cheer up!"': "check one reply",
    "synthesis audit logs/": "one document about them",
}
OWN_OPTIONS = ("--help", "-h", "--version")


class Commands(click.Group):
    """Imports a sub-command when it is called; all other arguments go to `eval`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        bare = not args and not ctx.resilient_parsing  # which is how a shell asks for completions
        is_file = bool(args) and args[0] not in COMMANDS and os.path.isfile(args[0])
        if bare or is_file or (args and args[0].startswith("-") and args[0] not in OWN_OPTIONS):
            args = ["eval", *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            hint = did_you_mean(args[0], COMMANDS).partition(" Known:")[0]
            near = f" {hint}" if hint.startswith("Did") else ""
            raise click.UsageError(f"There is no command and no file '{args[0]}'.{near}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        evaluate = self.get_command(ctx, "eval")
        if incomplete.startswith("-") and evaluate is not None:
            own = {item.value: item for item in evaluate.shell_complete(click.Context(evaluate), incomplete)}
            return list({**own, **{item.value: item for item in super().shell_complete(ctx, incomplete)}}.values())
        return super().shell_complete(ctx, incomplete)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "COMMAND [OPTIONS] [FILE]...")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_dl(list(EXAMPLES.items()), col_max=max(map(len, EXAMPLES)))
        lines = {group: [(name, line) for name, (_, line) in found.items()] for group, found in GROUPED.items()}
        write_groups(formatter, lines)


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """The version, and which reader is in use: a missing compiler shows nowhere else."""
    if wanted and not ctx.resilient_parsing:
        from synthesis.rules.native.library import why_not

        reason = why_not()
        click.echo(f"synthesis, version {__version__}")
        click.echo(f"reader: Python, no compiled reader ({reason})" if reason else "reader: compiled")
        if reason:
            click.echo("  Verdicts are the same, more slowly. With cargo at hand, pip install builds the compiled one.")
        click.echo(f"learned reader: {_learned()}")
        ctx.exit()


def _learned() -> str:
    """The learned reader and what it runs on."""
    from synthesis.checks.learned import learned_reader

    found = learned_reader()
    if found is None:
        return "none in this package"
    slow = ", which is slow (pip install numpy)" if found.engine.name == "python" else ""
    return f"{safe(found.name)} on {found.engine.name}{slow}"


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Options: 'synthesis COMMAND --help'; without a command those of eval hold. Their defaults can be set in "
    "synthesis.toml, or under [tool.synthesis] in pyproject.toml.\n\n"
    "Exit codes: 0 met, 1 could not run, 2 not met, 3 incomplete, 130 interrupted.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Does an assistant treat people well, and does it tell them the truth?

    A pass means that no marker was found, not that a reply is safe or kind.
    """


@click.command("schema", cls=Command)
@click.argument("kind", type=click.Choice(["audit", "case", "check", "report"]))
def schema(kind: str) -> None:
    """Print the JSON Schema of a case (with the names of the known checks), a check, a report or an audit."""
    import json

    from synthesis.checks.registry import checks
    from synthesis.io import AUDIT_SCHEMA, CASE_SCHEMA, CHECK_SCHEMA, REPORT_SCHEMA
    from synthesis.read.cases import read_schema, with_check_names

    files = {"audit": AUDIT_SCHEMA, "case": CASE_SCHEMA, "check": CHECK_SCHEMA, "report": REPORT_SCHEMA}
    content = read_schema(files[kind])
    click.echo(json.dumps(with_check_names(content, checks()) if kind == "case" else content, indent=2))


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell.

    Add to your shell's start-up file:  eval "$(synthesis completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(main, {}, "synthesis", "_SYNTHESIS_COMPLETE").source())


def run(args: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code."""
    code = call(sys.argv[1:] if args is None else args)
    _flush_or_hush()
    gc.freeze()  # what is left goes with the process: to search it for cycles takes a tenth of a short run
    sys.exit(code)


def call(args: Sequence[str]) -> int:
    """Run the command line and return its exit code; no traceback for anything a user can cause."""
    try:
        result: Any = main.main(list(args), prog_name="synthesis", standalone_mode=False)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return ExitCode.INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return ExitCode.FATAL
    except click.UsageError as error:
        return _usage(error)
    except click.ClickException as error:
        return _fatal(error.format_message())
    except SynthesisError as error:
        return _fatal(str(error))
    except SystemExit as exit_:  # how click ends when its reader closes the pipe (`| head`), which is not an error
        return ExitCode.OK if isinstance(exit_.__context__, BrokenPipeError) else ExitCode.FATAL
    return result if isinstance(result, int) else ExitCode.OK


def _usage(error: click.UsageError) -> int:
    where = f" See '{error.ctx.command_path} --help'." if error.ctx else ""
    return _fatal(f"{' '.join(error.format_message().split())}{where}")


def _fatal(message: str) -> int:
    print_lines([click.style("error: ", fg="red", bold=True) + safe(message, keep_lines=True)], err=True)
    return ExitCode.FATAL


def _flush_or_hush() -> None:
    """A pipe that was closed early is not an error for what is still in the buffer either."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
