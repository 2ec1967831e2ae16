"""`synthesis checks`: the checks and how each decides."""

from typing import TYPE_CHECKING

import click

from synthesis.cli.options import Group, json_option, print_json, rules_option
from synthesis.cli.terminal import print_lines
from synthesis.printable import safe

if TYPE_CHECKING:
    from synthesis.checks.explained import Part
    from synthesis.checks.registry import Check

_WIDTH = 24


@click.group("checks", cls=Group)
def checks() -> None:
    """List the checks, and show how each decides."""


@checks.command("list")
@rules_option
@json_option
def list_(folders: tuple[str, ...], as_json: bool) -> None:
    """List the checks and what each asks."""
    from synthesis.checks.registry import checks as known

    _load(folders)
    if as_json:
        print_json([{"name": check.name, "title": check.title, "own": _is_own(check)} for check in known().values()])
        return
    print_lines([f"{safe(check.name):<{_WIDTH}}  {safe(check.title)}" for check in known().values()], hang=_WIDTH + 2)


@checks.command("show")
@click.argument("name", metavar="NAME")
@rules_option
@json_option
def show(name: str, folders: tuple[str, ...], as_json: bool) -> None:
    """Show how a check decides: its signals, steps, reasons not to apply, and the numbers that it uses."""
    from synthesis.checks.explained import outline
    from synthesis.checks.registry import get_check, shared_table
    from synthesis.errors import OptionError

    _load(folders)
    check = get_check(name)
    if check.table is None:
        hint = "Its code says how it decides."
        raise OptionError(f"'{name}' is a function of a plugin and has no table", hint=hint)
    parts = outline(check.table, shared_table())
    if as_json:
        print_json({"name": check.name, "title": check.title, "file": check.table.file, "parts": parts})
        return
    print_lines([f"{click.style(safe(check.name), bold=True)}: {safe(check.title)}"])
    for part in parts:
        _print_part(part)
    print_lines(["", click.style(safe(check.table.file), dim=True)])


def _print_part(part: "Part") -> None:
    print_lines(["", click.style(safe(part.title), bold=True)])
    width = min(_WIDTH, max(len(left) for left, _ in part.lines))
    for left, right in part.lines:
        line = f"  {safe(left):<{width}}  {safe(right)}".rstrip()
        print_lines([line], hang=width + 4)


def _load(folders: tuple[str, ...]) -> None:
    from pathlib import Path

    from synthesis.checks.registry import load_tables
    from synthesis.settings import find_settings

    load_tables((*find_settings(Path.cwd()).values.get("rules", ()), *folders))


def _is_own(check: "Check") -> bool:
    return check.table is None or check.table.is_own
