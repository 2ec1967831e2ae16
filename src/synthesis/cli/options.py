"""What all commands share: one vocabulary of options, shown in groups, and JSON in place of text."""

import dataclasses
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from synthesis.errors import OptionError, SynthesisError, did_you_mean
from synthesis.lazy import regex

# Group of help -> the options that `--help` shows, and those that only `--help-all` does. An option means the same in
# every command, so its group is a matter of its name alone.
GROUPS: dict[str, tuple[str, str]] = {
    "Input": (
        "--cases --map --lang --id --limit --table --status --from --until",
        "--answers --contexts --tag --sample --seed --sort --on-bad-row --max-line --schema",
    ),
    "Checks": ("--checks", "--only-check --profile --reader --rules --disable --notice"),
    "Judge": (
        "--judge-provider --judge-model --escalate --rubric --iterations",
        "--detail --system-prompt-version --on-change --replace-judge --base-url --api-key-env --judge-seed "
        "--temperature --reasoning-effort --max-output-tokens --header --extra-body --price-file",
    ),
    "Output": (
        "--out --output-dir --format --by --cover --since --with-excerpts --json",
        "--quiet --force --no-report --no-text --results --failures-only --out-table --keep --fresh --all-cells "
        "--with-ids --labels --root",
    ),
    "Gate": (
        "--fail-on --fail-under --allow-untold --baseline --max-cost",
        "--fail-on-drift --min-label-accuracy --strict",
    ),
    "Access": ("--host --port --token --people", "--add-person --allow-host --access-log"),
    "Speed": (
        "--workers --concurrency",
        "--engine --ray-address --master --timeout --grace --max-body --max-upload",
    ),
    "History": ("--save --history", "--save-text --run-name --release --run"),
}
# Names that options had; each still works where the command has the new one, with a hint.
FORMER = {"--check": "--only-check", "--ids": "--id", "--seed": "--judge-seed", "--since": "--from"}
FEW = 8  # options that need no groups
EVERY = "synthesis.help.every"  # in the context: help shows every option
_RANGE = regex(r"  \[(?:x>=|1<=x<=)[0-9.]+\]$|; x>=1(?=\])")  # which nobody has to be told
_COLUMN = 28  # columns of an option's name in help


class Command(click.Command):
    """Shows its options in groups, rarely used ones with `--help-all` alone, and knows what options were called."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        rare = self._has_many and any(map(_is_rare, _visible(self.params)))
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                hidden=not rare,
                callback=_show_every,
                help="Show all options and exit.",
            )
        )

    @property
    def _has_many(self) -> bool:
        return len(_visible(self.params)) > FEW

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(self._renamed(args)))

    def _renamed(self, args: Sequence[str]) -> Iterator[str]:
        """The arguments with today's names of options, and a hint for each that has another."""
        known = {name for option in self.params for name in option.opts}
        for place, arg in enumerate(args):
            if arg == "--":
                yield from args[place:]
                return
            name, equals, value = arg.partition("=")
            today = FORMER.get(name)
            if today in known and name not in known:
                click.echo(f"hint: {name} is called {today} now", err=True)
                arg = f"{today}{equals}{value}"
            yield arg

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = {_name(option): option.get_help_record(ctx) for option in _visible(self.get_params(ctx))}
        rows = {name: (record[0], _RANGE.sub("", record[1])) for name, record in records.items() if record}
        if not self._has_many:
            return write_groups(formatter, {"Options": list(rows.values())})
        every = EVERY in ctx.meta
        groups: dict[str, list[tuple[str, str]]] = {}
        for group, (often, seldom) in GROUPS.items():
            names = [*often.split(), *(seldom.split() if every else ())]
            groups[group] = [rows[name] for name in names if name in rows]
        groups["Help"] = [rows[name] for name in ("--help", "--help-all") if name in rows]
        return write_groups(formatter, groups)


def _show_every(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[EVERY] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def _visible(params: Sequence[click.Parameter]) -> list[click.Option]:
    return [option for option in params if isinstance(option, click.Option) and not option.hidden]


def _name(option: click.Option) -> str:
    """The name that tables use: the long one."""
    return next(name for name in (*option.opts, *option.secondary_opts) if name.startswith("--"))


def _is_rare(option: click.Option) -> bool:
    return any(_name(option) in seldom.split() for _, seldom in GROUPS.values())


def write_groups(formatter: click.HelpFormatter, groups: dict[str, list[tuple[str, str]]]) -> None:
    """Groups of rows whose texts begin in the same column."""
    names = [name for rows in groups.values() for name, _ in rows]
    width = max((len(name) for name in names if len(name) <= _COLUMN), default=0)
    for group, rows in groups.items():
        if rows:
            with formatter.section(group):
                formatter.write_dl([(f"{name:<{width}}", text) for name, text in rows], col_max=_COLUMN)


class Group(click.Group):
    """Its commands are listed as they were added, each with a whole sentence.

    `alone` is the command that a file in place of a command is for.
    """

    command_class = Command

    def __init__(self, *args: Any, alone: str | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._alone = alone

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self._alone and args and args[0] not in self.commands and Path(args[0]).is_file():
            args = [self._alone, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """No options but `--help`, which whoever reads this knows."""
        write_groups(formatter, {"Commands": [(name, _sentence(command)) for name, command in self.commands.items()]})


def _sentence(command: click.Command) -> str:
    """The first sentence of a command's help."""
    return re.split(r"(?<=[.])\s", " ".join((command.help or "").split()), maxsplit=1)[0]


# Options that several commands take.

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON in place of text.")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
rules_option = click.option(
    "--rules", "folders", multiple=True, metavar="DIR", help="Folder with extra rule packs; repeatable."
)
max_line_option = click.option(
    "--max-line",
    type=click.IntRange(min=1000),
    default=16 << 20,
    metavar="BYTES",
    help="Longer lines are errors and are not read. [default: 16 MB]",
)
answers_option = click.option(
    "--answers", type=click.Path(path_type=Path), metavar="FILE", help="Answers by id, with --contexts."
)
contexts_option = click.option(
    "--contexts", type=click.Path(path_type=Path), metavar="FILE", help="Contexts by id, with --answers."
)


def map_option(example: str) -> Callable[..., Any]:
    return click.option(
        "--map", "columns", multiple=True, metavar="FIELD=NAME,..", help=f"Where the input has its fields: {example}."
    )


def out_option(what: str, **settings: Any) -> Callable[..., Any]:
    return click.option("--out", metavar="PATH", help=f"Where to write {what}", **settings)


def limit_option(what: str, **settings: Any) -> Callable[..., Any]:
    return click.option("--limit", type=click.IntRange(min=1), metavar="N", help=f"At most N {what}", **settings)


def workers_option(otherwise: str, most: int | None = None, **settings: Any) -> Callable[..., Any]:
    return click.option(
        "--workers",
        type=click.IntRange(min=1, max=most),
        metavar="N",
        help=f"Threads, or processes of an engine. [default: {otherwise}]",
        **settings,
    )


STDIN = "-"


@contextmanager
def standard_input(paths: Sequence[str]) -> Iterator[list[str]]:
    """The paths with a file in place of `-`, which holds what standard input has: a run looks at its input twice."""
    if STDIN not in paths:
        yield [*paths]
        return
    if paths.count(STDIN) > 1:
        raise OptionError("standard input (-) can be read only once", hint="Name it once.")
    if sys.stdin.isatty():
        click.echo("Reading standard input; Ctrl-D ends it.", err=True)
    with TemporaryDirectory(prefix="synthesis-") as folder:
        file = Path(folder) / "stdin"
        with file.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        file = file.rename(file.with_suffix(_ending(file)))
        try:
            yield [str(file) if path == STDIN else path for path in paths]
        except SynthesisError as error:
            if error.place is not None and error.place.file == str(file):
                error.place = dataclasses.replace(error.place, file=STDIN)
            raise


def _ending(file: Path) -> str:
    """What the name of a file without a name would end in, by its first line; readers look at that."""
    with file.open("rb") as content:
        first = content.readline(1 << 20).lstrip(b"\xef\xbb\xbf").strip()
    if first.startswith(b"PAR1"):
        return ".parquet"
    if first.startswith(b"[") or first == b"{":
        return ".json"
    if first.startswith(b"{") or not first:
        return ".jsonl"
    return ".tsv" if b"\t" in first else ".csv"


def print_json(value: Any) -> None:
    """The one thing that a command with --json prints on standard output."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


# --format F[=PATH]: a document beside what is printed, or in its place


def format_option(formats: str, **settings: Any) -> Callable[..., Any]:
    return click.option(
        "--format", "formats", multiple=True, metavar="F[=PATH]", help=f"Write it as {formats}; repeatable.", **settings
    )


def format_and_path(text: str) -> tuple[str, str | None]:
    """`html` or `html=PATH`."""
    name, _, path = text.partition("=")
    return name, path or None


def formats_and_paths(texts: Sequence[str], known: Collection[str]) -> list[tuple[str, str | None]]:
    """The wanted documents of a command that draws only these formats."""
    found = [format_and_path(text) for text in texts]
    for name, _ in found:
        if name not in known:
            raise OptionError(f"--format {name}: there is no such format", hint=did_you_mean(name, known))
    return found
