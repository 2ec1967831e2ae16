"""`synthesis compare`: what changed from one report to another."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synthesis.cli import exits
from synthesis.cli.drift import change_lines
from synthesis.cli.judge_output import SHOWN, compare_judged, names
from synthesis.cli.terminal import safe

if TYPE_CHECKING:
    from synthesis.report.compare import Change, Comparison, PassRate


@click.command("compare")
@click.argument("old")
@click.argument("new")
@click.option("--fail-on-regression", is_flag=True, help="Exit with 2 if there are new unexpected failures.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(old: str, new: str, fail_on_regression: bool, as_json: bool) -> int:
    """Compare two reports, or the folders of two judged runs: newly failing, newly passing, what else changed.

    "Better" or "worse" is said only where the exact McNemar test and the interval of the paired bootstrap agree that
    the difference is more than chance.
    """
    import msgspec

    judged = Path(old).is_dir() and Path(new).is_dir()
    comparison, lines = compare_judged(Path(old), Path(new)) if judged else _compare_reports(old, new)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(comparison), indent=2).decode())
    else:
        for line in lines:
            click.echo(line)
    return exits.UNMET if fail_on_regression and comparison.newly_failing else exits.OK


def _compare_reports(old: str, new: str) -> "tuple[Comparison, Iterator[str]]":
    from synthesis.report.compare import compare_reports
    from synthesis.report.reading import open_report

    comparison = compare_reports(open_report(old), open_report(new))
    return comparison, _lines(comparison)


def _lines(comparison: "Comparison") -> Iterator[str]:
    yield f"{_count(comparison.in_both)} in both reports"
    for name, (before, after) in comparison.conditions.items():
        yield f"  {name} changed: {safe(str(before))} -> {safe(str(after))}"
    yield from _listed("newly failing", map(_told, comparison.newly_failing), "red")
    yield from _listed("newly passing", map(_told, comparison.newly_passing), "green")
    yield from names("negative examples no longer caught", comparison.no_longer_caught, "red")
    yield from _listed("other changes", map(_kinds, comparison.other_changes), "yellow")
    yield from names("same verdict on other evidence", comparison.changed_evidence)
    yield from names("only in the old report", comparison.only_before)
    yield from names("only in the new report", comparison.only_after)
    yield ""
    yield from _rate(comparison.pass_rate)
    yield from change_lines(comparison.drift)


def _listed(title: str, entries: Iterable[str], colour: str | None) -> Iterator[str]:
    found = list(entries)
    if not found:
        return
    yield click.style(f"{title}: {len(found)}", fg=colour, bold=True)
    yield from (f"  {entry}" for entry in found[:SHOWN])
    if len(found) > SHOWN:
        yield f"  ... and {len(found) - SHOWN} more (--json lists them all)"


def _told(change: "Change") -> str:
    why = {True: ", the texts are the same", False: ", the texts changed", None: ""}[change.same_texts]
    new = " (a new case)" if change.before is None else ""
    return f"{safe(change.id)}: {', '.join(map(safe, change.checks))}{why}{new}"


def _kinds(change: "Change") -> str:
    from synthesis.report.verdicts import KINDS

    return f"{safe(change.id)}: {KINDS.get(change.before or '', '')} -> {KINDS.get(change.after or '', '')}"


def _rate(rate: "PassRate | None") -> Iterator[str]:
    if rate is None:
        yield "No case was assessed in both reports, so pass rates cannot be compared."
        return
    before, after = 100 * rate.passed_before / rate.cases, 100 * rate.passed_after / rate.cases
    yield f"pass rate of {_count(rate.cases)} assessed in both, negative examples apart:"
    yield f"  {before:.1f} % -> {after:.1f} % ({rate.newly_failing} lost, {rate.newly_passing} gained)"
    low, high = (100 * bound for bound in rate.interval)
    yield f"  change {100 * rate.change:+.1f} points, 95 % interval {low:+.1f} to {high:+.1f}; p = {rate.p_value:.2g}"
    colour = {"better": "green", "worse": "red"}.get(rate.verdict)
    yield click.style(f"  {rate.verdict}", fg=colour, bold=True)


def _count(number: int) -> str:
    return f"{number} case" if number == 1 else f"{number} cases"
