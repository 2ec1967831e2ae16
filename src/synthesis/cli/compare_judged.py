"""`synthesis compare` for the folders of two judged runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synthesis.cli.terminal import safe

if TYPE_CHECKING:
    from synthesis.report.judged.compare import JudgedComparison
    from synthesis.report.paired import Difference

SHOWN = 20


def compare_judged(old: Path, new: Path) -> "tuple[JudgedComparison, Iterator[str]]":
    """What changed between two judged runs, and how it is told."""
    from synthesis.judge.judged_runs import read_run
    from synthesis.report.judged.compare import compare_runs

    comparison = compare_runs(read_run(old), read_run(new))
    return comparison, _lines(comparison)


def _lines(comparison: "JudgedComparison") -> Iterator[str]:
    yield f"{comparison.in_both} samples judged in both runs"
    for name, (before, after) in comparison.conditions.items():
        yield f"  {name} changed: {safe(before)} -> {safe(after)}"
    yield from names("newly failing", comparison.newly_failing, "red")
    yield from names("newly passing", comparison.newly_passing, "green")
    yield from names("other scores", comparison.changed_scores)
    yield from names("only in the old run", comparison.only_before)
    yield from names("only in the new run", comparison.only_after)
    found = comparison.difference
    if found is None:
        yield "No sample was judged in both runs, so pass rates cannot be compared."
        return
    rates = [100 * passed / comparison.in_both for passed in (comparison.passed_before, comparison.passed_after)]
    yield f"pass rate {rates[0]:.1f} % -> {rates[1]:.1f} %, change {100 * found.change:+.1f} points"
    interval = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
    yield f"  95 % interval {interval}; p = {found.p_value:.2g} (exact McNemar test)"
    yield f"  {_verdict(found)}"


def _verdict(found: "Difference") -> str:
    """Better or worse only where test and interval agree."""
    if not found.is_shown:
        return "no clear difference"
    return (
        click.style("better", fg="green", bold=True) if found.change > 0 else click.style("worse", fg="red", bold=True)
    )


def names(title: str, found: Sequence[str], colour: str | None = None) -> Iterator[str]:
    """A line with the first names and how many there are; none for none."""
    if found:
        listed = ", ".join(map(safe, found[:SHOWN])) + (" ..." if len(found) > SHOWN else "")
        yield f"{click.style(f'{title}: {len(found)}', fg=colour, bold=True)} ({listed})"
